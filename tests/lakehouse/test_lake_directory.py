"""The directory of a lake: made once, recognised again, and nothing else ever taken for one."""

import json
import os
import stat
from pathlib import Path

import pytest
from doors import door_pipeline

from lakehouse.errors import NoPipeline, NotALake, PipelineChanged
from lakehouse.lake import FORMAT, MARKER, create_lake, open_lake, write_json
from lakehouse.pipelines import pipeline_at


def content(directory: Path) -> dict[str, bytes | None]:
    return {
        str(path.relative_to(directory)): path.read_bytes() if path.is_file() else None for path in directory.rglob("*")
    }


def test_a_lake_that_was_made_can_be_opened(tmp_path: Path) -> None:
    made = create_lake(tmp_path / "new" / "lake")
    assert open_lake(tmp_path / "new" / "lake") == made
    assert made.path.is_absolute()


def test_an_empty_directory_becomes_a_lake(tmp_path: Path) -> None:
    assert create_lake(tmp_path) == open_lake(tmp_path)


def test_making_a_lake_again_changes_nothing(tmp_path: Path) -> None:
    create_lake(tmp_path / "lake")
    (tmp_path / "lake" / "results" / "kept.json").write_text("{}")
    before = content(tmp_path)
    create_lake(tmp_path / "lake")
    assert content(tmp_path) == before


def test_what_is_made_belongs_to_its_owner_alone(tmp_path: Path) -> None:
    previous = os.umask(0)
    try:
        create_lake(tmp_path / "lake")
    finally:
        os.umask(previous)
    directories = [tmp_path / "lake", *(path for path in (tmp_path / "lake").rglob("*") if path.is_dir())]
    assert len(directories) > 5
    for directory in directories:
        assert stat.S_IMODE(directory.stat().st_mode) == 0o700, directory


def test_there_is_no_lake_where_there_is_nothing(tmp_path: Path) -> None:
    with pytest.raises(NotALake, match="There is no lake at .*none.*parity ingest"):
        open_lake(tmp_path / "none")


def test_another_directory_is_refused_and_left_alone(tmp_path: Path) -> None:
    (tmp_path / "thesis.tex").write_text("mine")
    with pytest.raises(NotALake, match="not empty and not a lake, so nothing is written into it"):
        create_lake(tmp_path)
    with pytest.raises(NotALake, match=f"is not a lake: it has no {MARKER}"):
        open_lake(tmp_path)
    assert content(tmp_path) == {"thesis.tex": b"mine"}


def test_a_file_is_refused_and_left_alone(tmp_path: Path) -> None:
    file = tmp_path / "lake"
    file.write_text("mine")
    with pytest.raises(NotALake, match="is a file; a lake is a directory"):
        create_lake(file)
    with pytest.raises(NotALake, match="is not a lake"):
        open_lake(file)
    assert file.read_text() == "mine"


@pytest.mark.parametrize("found", [1, FORMAT - 1, FORMAT + 1, str(FORMAT), None])
def test_a_lake_of_another_format_is_refused(tmp_path: Path, found: object) -> None:
    create_lake(tmp_path / "lake")
    (tmp_path / "lake" / MARKER).write_text(json.dumps({"format": found}))
    for opened in (open_lake, create_lake):
        with pytest.raises(NotALake, match=f"format {found!r}; this Parity reads format {FORMAT}"):
            opened(tmp_path / "lake")


@pytest.mark.parametrize("marker", [b"", b"{", b"[]", b"{}", b"7", b"\xff"])
def test_a_marker_that_cannot_be_read_is_refused(tmp_path: Path, marker: bytes) -> None:
    create_lake(tmp_path / "lake")
    (tmp_path / "lake" / MARKER).write_bytes(marker)
    with pytest.raises(NotALake, match=f"its {MARKER} cannot be read"):
        open_lake(tmp_path / "lake")


def test_a_lake_whose_making_was_interrupted_can_be_made_again(tmp_path: Path) -> None:
    """The marker comes first: a crash behind it leaves a lake without some of its directories."""
    made = create_lake(tmp_path / "lake")
    for part in ("tables", "locks", "landings"):
        (made.path / part).rmdir()
    create_lake(tmp_path / "lake")
    assert all((made.path / part).is_dir() for part in ("tables", "locks", "landings"))


def test_a_file_is_written_as_a_whole_or_not_at_all(tmp_path: Path) -> None:
    file = tmp_path / "note.json"
    write_json(file, {"a": 1})
    with pytest.raises(TypeError):
        write_json(file, {"a": object()})
    assert json.loads(file.read_text()) == {"a": 1}
    write_json(file, {"a": 2})
    assert json.loads(file.read_text()) == {"a": 2}
    assert [path.name for path in tmp_path.iterdir()] == ["note.json"]


def test_a_table_is_there_once_it_has_a_commit(tmp_path: Path) -> None:
    lake = create_lake(tmp_path / "lake")
    for name in ("events", "half-made"):
        (Path(lake.table(name)) / "_delta_log").mkdir(parents=True)
    (Path(lake.table("events")) / "_delta_log" / "00000000000000000000.json").touch()
    assert lake.has("events")
    assert not lake.has("half-made")
    assert lake.tables() == ["events"]


def test_a_lake_notes_its_pipeline_and_keeps_it(tmp_path: Path) -> None:
    doors = pipeline_at(str(door_pipeline(tmp_path / "doors")))
    assert create_lake(tmp_path / "lake", doors).pipeline is doors
    assert open_lake(tmp_path / "lake").pipeline is doors
    assert create_lake(tmp_path / "lake").pipeline is doors
    with pytest.raises(
        PipelineChanged, match=r"is a lake of the pipeline .*doors, and game is named. Nothing was written"
    ):
        create_lake(tmp_path / "lake", pipeline_at("game"))


def test_a_lake_without_a_note_is_of_the_game(tmp_path: Path) -> None:
    create_lake(tmp_path / "lake")
    known = json.loads((tmp_path / "lake" / MARKER).read_text())
    assert known.pop("pipeline") == {"name": "game", "path": "game"}
    write_json(tmp_path / "lake" / MARKER, known)
    assert open_lake(tmp_path / "lake").pipeline.name == "game"


def test_a_pipeline_whose_folder_has_moved_is_followed_where_it_is_named_once(tmp_path: Path) -> None:
    lake = create_lake(tmp_path / "lake", pipeline_at(str(door_pipeline(tmp_path / "doors"))))
    (tmp_path / "doors").rename(tmp_path / "elsewhere")
    with pytest.raises(
        NoPipeline, match=r"is a lake of the pipeline doors, which is not in .*doors any more. Put it back"
    ):
        _ = open_lake(lake.path).pipeline
    with pytest.raises(NoPipeline):
        create_lake(lake.path, pipeline_at("game"))
    create_lake(lake.path, pipeline_at(str(tmp_path / "elsewhere")))
    assert open_lake(lake.path).pipeline.folder == tmp_path / "elsewhere"
