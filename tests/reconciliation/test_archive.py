"""Kept code is asked what it would have computed: it is as it was then, whatever the pipeline and Parity say now."""

import sys
from pathlib import Path

from doors import door_pipeline

from lakehouse.fingerprint import keep_code
from lakehouse.lake import create_lake
from lakehouse.pipelines import pipeline_at
from reconciliation.archive import result_as_it_was


def test_the_code_that_was_kept_is_loaded_beside_that_of_today(tmp_path: Path) -> None:
    doors = pipeline_at(str(door_pipeline(tmp_path / "doors")))
    lake, today = create_lake(tmp_path / "lake", doors), doors.catalogue()["openings"]
    keep_code(lake, "abc")
    kept = lake.code("abc")
    for file, right, wrong in (
        (kept / "pipeline/results/openings.py", "How often", "How seldom"),
        (kept / "transformations/windows.py", '"tumbling window"', '"window of then"'),
    ):
        assert right in file.read_text()
        file.write_text(file.read_text().replace(right, wrong))
    was = result_as_it_was(lake, today, "abc")
    assert was is not None
    assert was.meaning == "How seldom a door was opened per window."
    assert (was.window.name, today.window.name) == ("window of then", "tumbling window")
    assert type(was).__module__ == "kept_abc.transformations.result"
    assert not list(kept.rglob("*.pyc"))


def test_a_module_may_be_imported_by_its_whole_name(tmp_path: Path) -> None:
    doors = door_pipeline(tmp_path / "doors")
    file = doors / "results" / "openings.py"
    text = file.read_text().replace("from transformations.windows import Tumbling", "import transformations.windows")
    file.write_text(text.replace("Tumbling(size)", "transformations.windows.Tumbling(size)"))
    pipeline = pipeline_at(str(doors))
    lake = create_lake(tmp_path / "lake", pipeline)
    keep_code(lake, "def")
    was = result_as_it_was(lake, pipeline.catalogue()["openings"], "def")
    assert was is not None and type(was.window).__module__ == "kept_def.transformations.windows"


def test_code_that_is_not_kept_says_nothing(tmp_path: Path) -> None:
    lake = create_lake(tmp_path / "lake")
    assert result_as_it_was(lake, lake.pipeline.catalogue()["team_scores"], "none") is None
    assert "kept_none" not in sys.modules
