"""Fingerprints: they change with the code and the window of a result, and with nothing else."""

import gc
import shutil
import threading
import time
from collections.abc import Iterator
from datetime import timedelta
from pathlib import Path

import pytest
from game import GAME

from lakehouse import fingerprint
from lakehouse.fingerprint import keep_code, parser_fingerprint, result_fingerprint
from lakehouse.lake import Lake, create_lake
from lakehouse.pipelines import pipeline_at
from pipelines.game.results.click_through import click_through
from pipelines.game.results.level_ups import level_ups
from pipelines.game.results.team_scores import team_scores
from transformations.pipeline import Pipeline
from transformations.result import Result


@pytest.fixture
def source(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A copy of the transformations and of the game that may be changed; fingerprints are of the copies."""
    shutil.copytree(fingerprint.SOURCE, tmp_path / "source" / "transformations")
    shutil.copytree(GAME.folder, tmp_path / "source" / "game")
    monkeypatch.setattr(fingerprint, "SOURCE", tmp_path / "source" / "transformations")
    return tmp_path / "source"


@pytest.fixture
def game(source: Path) -> Pipeline:
    """The copy of the game."""
    return pipeline_at(str(source / "game"))


@pytest.fixture
def lake(tmp_path: Path, game: Pipeline) -> Lake:
    return create_lake(tmp_path / "lake", game)


def of(result: Result, pipeline: Pipeline = GAME) -> str:
    return result_fingerprint(result, pipeline)


def change(file: Path, before: str, after: str) -> None:
    text = file.read_text()
    assert before in text
    file.write_text(text.replace(before, after))


def test_a_fingerprint_is_short_and_the_same_every_time() -> None:
    assert of(team_scores()) == of(team_scores())
    assert len(of(team_scores())) == 12


@pytest.fixture
def _others_run_when_garbage_is_collected() -> Iterator[None]:
    """As with Py4J, whose finalizers talk to the JVM and let other threads run meanwhile."""

    def let_others_run(*_: object) -> None:
        time.sleep(0)

    gc.callbacks.append(let_others_run)
    yield
    gc.callbacks.remove(let_others_run)


@pytest.mark.usefixtures("_others_run_when_garbage_is_collected")
def test_two_streams_may_ask_at_once() -> None:
    """CPython 3.11 builds syntax trees with a counter that all threads share: used by two at once, it is a SystemError."""
    errors: list[BaseException] = []

    def ask() -> None:
        try:
            for _ in range(20):
                fingerprint._parsed.cache_clear()  # each has to parse
                of(team_scores())
        except SystemError as error:
            errors.append(error)

    threads = [threading.Thread(target=ask) for _ in range(2)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert errors == []


def test_results_have_different_fingerprints() -> None:
    assert len({of(team_scores()), of(level_ups()), parser_fingerprint(GAME)}) == 3


def test_the_size_of_the_window_is_part_of_it() -> None:
    assert of(team_scores()) != of(team_scores(size=timedelta(minutes=2)))
    assert of(team_scores()) == of(team_scores(size=timedelta(seconds=60)))


def test_a_comment_or_a_line_break_changes_nothing(source: Path, game: Pipeline) -> None:
    before = of(team_scores(), game), parser_fingerprint(game)
    for file in source.rglob("*.py"):
        file.write_text("# a comment\n\n\n" + file.read_text() + "\n# another\n")
    assert (of(team_scores(), game), parser_fingerprint(game)) == before


def test_a_copy_elsewhere_has_the_same_fingerprints(game: Pipeline) -> None:
    assert (of(team_scores(), game), parser_fingerprint(game)) == (of(team_scores()), parser_fingerprint(GAME))


def test_a_change_of_the_code_changes_it(source: Path, game: Pipeline) -> None:
    before, other = of(team_scores(), game), of(level_ups(), game)
    change(source / "game" / "results" / "team_scores.py", 'F.sum("bubbles")', 'F.max("bubbles")')
    assert of(team_scores(), game) != before
    assert of(level_ups(), game) == other


@pytest.mark.parametrize(
    ("module", "before", "after"),
    [("windows", "F.pmod", "F.mod"), ("result", ".where(self.present)", ""), ("shape", "<= earlier", "< earlier")],
)
def test_a_change_of_what_a_result_imports_changes_it(
    source: Path, game: Pipeline, module: str, before: str, after: str
) -> None:
    was = of(team_scores(), game)
    change(source / "transformations" / f"{module}.py", before, after)
    assert of(team_scores(), game) != was


def test_a_change_of_a_result_that_another_imports_changes_both(source: Path, game: Pipeline) -> None:
    was, other = of(click_through(), game), of(team_scores(), game)
    change(source / "game" / "results" / "offer_outcomes.py", '"left_outer"', '"inner"')
    assert of(click_through(), game) != was
    assert of(team_scores(), game) == other


@pytest.mark.parametrize(
    ("module", "before", "after"),
    [
        ("transformations/lines/judge", "np.abs(error) >", "np.abs(error) >="),
        ("transformations/lines/sequence", "first & ~found[which]", "first"),
        ("transformations/lines/hashes", "sha256(key + event_id)", "sha256(event_id)"),
        ("game/kinds/league_changed", '"league"', '"liga"'),
    ],
)
def test_a_change_of_what_the_parser_imports_changes_the_parsers_alone(
    source: Path, game: Pipeline, module: str, before: str, after: str
) -> None:
    was, result = parser_fingerprint(game), of(team_scores(), game)
    change(source / f"{module}.py", before, after)
    assert parser_fingerprint(game) != was
    assert of(team_scores(), game) == result


def test_the_code_of_a_fingerprint_is_kept_once_and_never_changed(lake: Lake, source: Path) -> None:
    keep_code(lake, "abc")
    kept = lake.code("abc") / "pipeline" / "results" / "team_scores.py"
    was = kept.read_text()
    assert was == (source / "game" / "results" / "team_scores.py").read_text()
    change(source / "game" / "results" / "team_scores.py", 'F.sum("bubbles")', 'F.max("bubbles")')
    keep_code(lake, "abc")
    assert kept.read_text() == was
    assert [path.name for path in (lake.path / "code").iterdir()] == ["abc"]


def test_a_copy_that_was_interrupted_is_made_anew(lake: Lake, source: Path) -> None:
    half = lake.path / "code" / ".abc"
    half.mkdir()
    (half / "leftover.py").touch()
    keep_code(lake, "abc")
    kept = {str(path.relative_to(lake.code("abc"))) for path in lake.code("abc").rglob("*.py")}
    there = {str(path.relative_to(source)) for path in source.rglob("*.py")}
    assert kept == {path.replace("game/", "pipeline/", 1) if path.startswith("game/") else path for path in there}


def test_what_else_is_in_the_folder_of_a_pipeline_is_not_kept(lake: Lake, source: Path) -> None:
    (source / "game" / "lake" / "code").mkdir(parents=True)
    (source / "game" / "lake" / "code" / "old.py").touch()
    keep_code(lake, "abc")
    assert not list(lake.code("abc").rglob("old.py"))
