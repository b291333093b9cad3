"""How long a repair takes is told from what was measured, and not known where nothing was."""

from dataclasses import asdict, replace
from pathlib import Path

import pytest
from game import catalogue

from lakehouse.lake import Lake, create_lake, write_json
from lakehouse.lengths import lengths
from lakehouse.runs import Run

SCORES, LEVELS = catalogue()["team_scores"], catalogue()["level_ups"]
BATCH = Run("recompute", ["team_scores@1"], "2026-03-01T01", wall_seconds=4.25)
STREAM = Run("stream", ["team_scores@1", "level_ups@1"], "2026-03-01T02", wall_seconds=90, rows_read=2000)


@pytest.fixture
def lake(tmp_path: Path) -> Lake:
    return create_lake(tmp_path / "lake")


def noted(lake: Lake, *found: Run) -> None:
    for run in found:
        write_json(lake.path / "runs" / f"{run.started_at}.json", asdict(run))


def test_the_last_recompute_counts_and_one_without_an_end_does_not(lake: Lake) -> None:
    later = replace(BATCH, started_at="2026-03-02T01", wall_seconds=8.0, whole=False)
    killed = replace(BATCH, started_at="2026-03-03T01", wall_seconds=99, outcome="no end noted")
    noted(lake, BATCH)
    assert lengths(lake, [SCORES], arrivals=7)["recompute"] == "The last time it took 4.2 s, over the whole log."
    noted(lake, later, killed)
    assert (
        lengths(lake, [SCORES], arrivals=7)["recompute"] == "The last time it took 8.0 s, 1 of 1 over some days only."
    )


def test_of_the_stream_the_greatest_run_counts_once_for_all_of_its_results(lake: Lake) -> None:
    noted(lake, STREAM, replace(STREAM, started_at="2026-03-02T02", wall_seconds=3, rows_read=10))
    told = lengths(lake, [SCORES, LEVELS], arrivals=5000)["rebuild"]
    assert told == "The greatest run so far took 2 min for 1,000 arrivals; there are 5,000."


def test_a_replay_is_a_run_of_the_stream_and_hours_are_told_as_hours(lake: Lake) -> None:
    noted(lake, STREAM, replace(STREAM, job="replay", started_at="2026-03-02T02", wall_seconds=4000, rows_read=9000))
    assert "took 1 h 7 min for 4,500 arrivals" in lengths(lake, [SCORES], arrivals=5000)["rebuild"]


def test_what_was_never_measured_is_not_known(lake: Lake) -> None:
    noted(lake, BATCH)
    assert all("is not known" in told for told in lengths(lake, [SCORES, LEVELS], arrivals=1).values())
