"""Pipelines of somebody's own: found by a name or a folder, and refused with file and line where they say what cannot be."""

import shutil
from pathlib import Path

import pytest
from doors import door_pipeline

from lakehouse import pipelines
from lakehouse.errors import BadPipeline
from lakehouse.pipelines import pipeline_at

KIND, RESULT, STORY = "kinds/door_opened.py", "results/openings.py", "pipeline.py"


@pytest.fixture
def doors(tmp_path: Path) -> Path:
    return door_pipeline(tmp_path / "doors")


def test_a_pipeline_is_what_its_folder_declares(doors: Path) -> None:
    found = pipeline_at(str(doors))
    assert (found.name, found.path, found.folder) == ("doors", str(doors), doors)
    assert [kind.name for kind in found.kinds] == ["door_opened", "heartbeat"]
    assert list(found.fields()) == ["door_id", "badge"] and found.personal() == ("badge",)
    assert [result.meaning for result in found.catalogue().values()] == ["How often a door was opened per window."]


def test_two_folders_of_one_name_do_not_mix(tmp_path: Path) -> None:
    one, other = (door_pipeline(tmp_path / name / "doors") for name in ("one", "other"))
    file = other / RESULT
    file.write_text(file.read_text().replace("How often", "How seldom"))
    meanings = [pipeline_at(str(folder)).catalogue()["openings"].meaning for folder in (one, other)]
    assert meanings == ["How often a door was opened per window.", "How seldom a door was opened per window."]


def test_a_folder_of_the_project_is_named_by_its_name_or_its_path(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    shutil.copytree(pipelines.PIPELINES / "game", tmp_path / "game")  # here, a name still means that of the project
    monkeypatch.chdir(tmp_path)
    game = pipeline_at("game")
    assert game.folder == pipelines.PIPELINES / "game"
    assert pipeline_at(str(pipelines.PIPELINES / "game")) is game
    assert pipeline_at("./game").folder == tmp_path / "game"


def test_modules_may_import_each_other(doors: Path) -> None:
    (doors / "results" / "_names.py").write_text('TIMES = "times"\n')
    file = doors / RESULT
    text = file.read_text().replace(
        "from datetime", "from ._names import TIMES\nfrom ..kinds.door_opened import KIND\nfrom datetime"
    )
    file.write_text(
        text.replace('kinds=("door_opened",)', "kinds=(KIND.name,)").replace('Value("times"', "Value(TIMES")
    )
    assert pipeline_at(str(doors)).catalogue()["openings"].kinds == ("door_opened",)


MISTAKES = {
    "a kind of another name": (KIND, '"door_opened"', '"door_shut"', "is called 'door_shut', its module 'door_opened'"),
    "a word of Parity": (KIND, '"door_id"', '"event_time"', "the field 'event_time' is a word that Parity uses itself"),
    "a word of SQL": (KIND, '"door_id"', '"order"', "the field 'order' is a word of SQL"),
    "no name": (KIND, '"door_id"', '"Door id"', "the field 'Door id' is no name: write small letters and digits"),
    "a field twice": (KIND, '"badge"', '"door_id"', "the field 'door_id' is declared twice"),
    "an unknown kind": (
        RESULT, '("door_opened",)', '("door_closed",)',
        "reads the kind 'door_closed', which is not declared. There are: door_opened, heartbeat",
    ),
    "a key that is no field": (
        RESULT, 'key=("door_id",)', 'key=("house",)',
        "the key 'house' is no field of the kinds that openings reads. There are: door_id, badge",
    ),
    "a window of zero": (
        RESULT, "timedelta(minutes=1)", "timedelta()",
        "openings() cannot be declared: a window needs a size above zero",
    ),
    "no duration": (RESULT, "size=timedelta(minutes=1)", "size=60", "'size' is no duration"),
    "a result of another name": (RESULT, 'name="openings"', 'name="closings"', "is called 'closings'"),
    "a value like the key": (RESULT, 'Value("times"', 'Value("door_id"', "openings has two columns 'door_id'"),
    "a value like a stamp": (
        RESULT, 'Value("times"', 'Value("settled"',
        "the column 'settled' is a word that Parity uses itself",
    ),
    "a total of another kind": (
        RESULT, 'Total("door_opened")', 'Total("heartbeat")',
        "is of the kind 'heartbeat', which it does not read",
    ),
    "a total of no field": (
        RESULT, 'Total("door_opened")', 'Total("door_opened", "weight")',
        "adds up 'weight', which is no field",
    ),
    "a total of no number": (
        RESULT, 'Total("door_opened")', 'Total("door_opened", "badge")',
        "'times' adds up 'badge', which is a text and no number",
    ),
    "a control of no result": (
        STORY, '("openings",)', '("closings",)',
        "controlled names 'closings', which is no result. There are: openings",
    ),
    "a chart of no result": (
        STORY, 'Charted("openings"', 'Charted("closings"',
        "charted names 'closings', which is no result",
    ),
    "a chart of no number": (
        STORY, '"times"', '"door_id"',
        "'door_id' is charted, and no number of openings. There are: times",
    ),
    "no control": (STORY, '("openings",)', "()", "controlled is empty"),
}  # fmt: skip


@pytest.mark.parametrize("mistake", MISTAKES)
def test_what_cannot_be_is_refused_with_its_line(doors: Path, mistake: str) -> None:
    file, right, wrong, said = MISTAKES[mistake]
    text = (doors / file).read_text()
    line = text[: text.index(right)].count("\n") + 1
    (doors / file).write_text(text.replace(right, wrong, 1))
    with pytest.raises(BadPipeline) as refused:
        pipeline_at(str(doors))
    assert f"{doors / file}:{line}: " in str(refused.value)
    assert said in str(refused.value)


def test_every_mistake_is_told_at_once(doors: Path) -> None:
    for file, right, wrong, *_ in (MISTAKES["a word of SQL"], MISTAKES["no control"]):
        (doors / file).write_text((doors / file).read_text().replace(right, wrong, 1))
    with pytest.raises(BadPipeline) as refused:
        pipeline_at(str(doors))
    assert "a word of SQL" in str(refused.value) and "controlled is empty" in str(refused.value)


def test_two_kinds_that_mean_two_things_by_a_field_are_refused(doors: Path) -> None:
    other = 'from transformations.kind import Field, Kind\n\nKIND = Kind("door_shut", "", (Field("badge", "whole number"),))\n'
    (doors / "kinds" / "door_shut.py").write_text(other)
    with pytest.raises(BadPipeline) as refused:
        pipeline_at(str(doors))
    assert f"{doors}/kinds/door_shut.py:3: the field 'badge' is a text in kinds/door_opened.py" in str(refused.value)


def test_a_sum_that_can_exceed_its_type_is_refused(doors: Path) -> None:
    kind, result = doors / KIND, doors / RESULT
    more = 'Field("weight", Decimal(3)), Field("badge"'
    kind.write_text(kind.read_text().replace('Field("badge"', more).replace("import Field", "import Decimal, Field"))
    result.write_text(result.read_text().replace('Total("door_opened")', 'Total("door_opened", "weight")'))
    with pytest.raises(BadPipeline) as refused:
        pipeline_at(str(doors))
    assert "'times' adds up 'weight', a decimal of scale 3, as bigint: a sum could exceed that." in str(refused.value)
    assert "Declare it as sum_type(3) and compute it with exact_sum, of transformations.sums" in str(refused.value)


def test_a_key_of_another_type_has_to_say_so(doors: Path) -> None:
    (doors / KIND).write_text(
        (doors / KIND).read_text().replace('Field("door_id", "text")', 'Field("door_id", "whole number")')
    )
    with pytest.raises(BadPipeline, match=r"is a whole number: say so with key_types=\{\"door_id\": IntegerType\(\)\}"):
        pipeline_at(str(doors))


@pytest.mark.parametrize(
    ("file", "text", "line", "said"),
    [
        (KIND, "KIND = (\n", 1, "it is no Python: '(' was never closed"),
        (KIND, "import nowhere_at_all\n", 1, "it cannot be imported: ModuleNotFoundError: No module named 'nowhere_at_all'"),
        (KIND, "\n\nKIND = 1 / 0\n", 3, "it cannot be imported: ZeroDivisionError"),
        (KIND, "KINDS = ()\n", 1, "it declares no KIND, which is a Kind"),
        (RESULT, "opening = None\n", 1, "it declares no function openings, which gives the Result"),
        (STORY, "NAME = 'doors'\n", 1, "it declares no PIPELINE, which is a Story"),
        (STORY, "from transformations.pipeline import Story\n\nPIPELINE = Story(name='doors')\n", 3, "TypeError"),
    ],
)  # fmt: skip
def test_a_module_that_cannot_be_read_is_refused_with_its_line(
    doors: Path, file: str, text: str, line: int, said: str
) -> None:
    (doors / file).write_text(text)
    with pytest.raises(BadPipeline) as refused:
        pipeline_at(str(doors))
    assert f"{doors / file}:{line}: " in str(refused.value)
    assert said in str(refused.value)
