"""What a run notes of itself: at its start, while it is at work, and however it ends. Without Spark: CPU is Python's."""

import os
import signal
import subprocess
import sys
from datetime import timedelta
from pathlib import Path
from typing import Any, cast

import pytest

from lakehouse import runs as module
from lakehouse.lake import Lake, create_lake
from lakehouse.runs import Job, measured, runs

NO_SPARK = cast(Any, None)
A_SESSION = cast(Any, object())
KILLED = """
import os, signal, sys, time
from datetime import timedelta
from pathlib import Path
from lakehouse import runs as module
from lakehouse.lake import Lake

module.cpu_seconds = lambda _: time.process_time()
module.NOTED_EVERY = timedelta(milliseconds=10)
with module.measured(None, Lake(Path(sys.argv[1])), "stream", ["team_scores@2", "level_ups@1"]) as run:
    run.rows_written = 7
    end = time.process_time() + 0.3
    while time.process_time() < end:
        pass
    while module.runs(Lake(Path(sys.argv[1])))[0].cpu_seconds < 0.3:
        pass
    os.kill(os.getpid(), signal.SIGKILL)
"""


@pytest.fixture
def lake(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Lake:
    spent = iter(range(0, 1000, 5))
    monkeypatch.setattr(module, "cpu_seconds", lambda _: float(next(spent)))
    monkeypatch.setattr(module, "NOTED_EVERY", timedelta(days=1))
    return create_lake(tmp_path / "lake")


def test_a_run_that_is_killed_leaves_what_it_had_cost(tmp_path: Path) -> None:
    made = create_lake(tmp_path / "lake")
    done = subprocess.run([sys.executable, "-c", KILLED, str(made.path)], env={**os.environ}, timeout=60)
    assert done.returncode == -signal.SIGKILL
    [found] = runs(made)
    assert (found.outcome, found.results) == ("no end noted", ["team_scores@2", "level_ups@1"])
    assert found.cpu_seconds >= 0.3 and found.wall_seconds >= 0.3 and found.rows_written == 7


def test_a_run_is_there_from_its_start(lake: Lake) -> None:
    with measured(NO_SPARK, lake, "recompute", ["team_scores@1"], whole=False):
        [found] = runs(lake)
        assert (found.outcome, found.whole) == ("no end noted", False)
    [ended] = runs(lake)
    assert (ended.outcome, ended.cpu_seconds) == ("ended", 10.0)


def test_a_run_that_fails_has_cost_something_too(lake: Lake) -> None:
    with pytest.raises(ValueError, match="the disk"), measured(NO_SPARK, lake, "legacy", []):
        raise ValueError("the disk is full")
    [found] = runs(lake)
    assert (found.outcome, found.cpu_seconds) == ("failed", 10.0)


def test_a_note_that_cannot_be_written_does_not_hide_why_the_run_failed(
    lake: Lake, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(*_: object) -> None:
        raise OSError("no space left on device")

    monkeypatch.setattr(module, "write_json", full)
    with pytest.raises(ValueError, match="the true reason"), measured(NO_SPARK, lake, "legacy", []):
        raise ValueError("the true reason")


def test_a_run_knows_which_jobs_had_warmed_its_process(lake: Lake, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "_warmed_by", set())
    jobs: tuple[Job, ...] = ("stream", "stream", "recompute", "recompute", "stream")
    for job in jobs:
        with measured(A_SESSION, lake, job, ["team_scores@1"]):
            pass
    assert [each.favoured for each in runs(lake)] == [False, False, True, False, False]
    assert runs(lake)[-1].warmed_by == ["recompute", "stream"]


def test_a_run_without_a_jvm_warms_none(lake: Lake, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "_warmed_by", set())
    for session in (NO_SPARK, A_SESSION):
        with measured(session, lake, "ingest" if session is None else "stream", []):
            pass
    assert not runs(lake)[-1].favoured
