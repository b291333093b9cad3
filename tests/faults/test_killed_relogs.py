"""A requeue and a re-ingestion that are killed, and what else is done to the lake before they are run again

Each is one commit, or one a step, so there is nothing half written that would have to be finished by somebody: it has happened
or not, whoever comes next.
"""

import shutil
from dataclasses import replace
from datetime import timedelta
from pathlib import Path

import pytest
from deliveries import at, heartbeat, land, pop
from logged import assert_whole, event_ids, indexed, written
from observations import Observe
from one_run import SCORES
from processes import EMBEDDED
from proof import proven
from pyspark.sql import SparkSession
from struck import KILLED, PATIENCE, begun, ingested

from ingestion.ingest import ingest
from ingestion.reingest import reingest
from ingestion.requeue import Requeued, requeue
from lakehouse.lake import Lake, create_lake
from lakehouse.log import position
from lakehouse.settings import ClockTolerances, Settings
from speed_layer.stream import stream

BEFORE, AFTER = ("read", "written"), ("committed", "indexing")
WIDER = {"PARITY_CLOCK__FUTURE": "2 hours"}


def wider(settings: Settings) -> Settings:
    return settings.model_copy(update={"clock": ClockTolerances(future=timedelta(hours=2))})


@pytest.fixture
def requeueable(tmp_path: Path, settings: Settings) -> tuple[Lake, Path]:
    """A lake in whose quarantine an event waits, a copy of it, and a line that is none."""
    lake, landing = create_lake(tmp_path / "lake"), tmp_path / "landing"
    landing.mkdir()
    ahead = pop("ahead", 3600, received_at=at(20))
    land(landing, "0.jsonl", [pop("sound", 0), ahead, ahead, heartbeat("beat", 60), "nonsense"])
    ingest(None, lake, landing, settings)
    return lake, landing


@pytest.mark.parametrize("times", [1, 2], ids=["once", "twice in a row"])
@pytest.mark.parametrize("moment", [*BEFORE, *AFTER])
def test_a_killed_requeue_has_happened_or_not(
    requeueable: tuple[Lake, Path], tmp_path: Path, settings: Settings, moment: str, times: int, observe: Observe
) -> None:
    lake, _ = requeueable
    twin = replace(lake, path=Path(shutil.copytree(lake.path, tmp_path / "twin")))
    assert requeue(twin, wider(settings)) == Requeued(accepted=1, copies=1, waiting=1)
    for number in range(times):
        process = begun(lake, ("requeue", "--lake", lake.path), failpoint=f"ingest.{moment}:arrivals:0", **WIDER)
        if moment == "committed" and number:
            assert process.wait(PATIENCE) == 0, "all has happened, and nothing is left to be done"
        else:
            assert process.wait(PATIENCE) == KILLED, process.said
    assert position(lake).requeued == (0 if moment in BEFORE else 2)
    accepted = Requeued(accepted=1, copies=1, waiting=1) if moment in BEFORE else Requeued(0, 0, waiting=1)
    assert requeue(lake, wider(settings)) == accepted
    assert written(lake, but=()) == written(twin, but=())
    assert_whole(lake)
    said = "Nothing of it was there" if moment in BEFORE else "All of it was there"
    observe(f"a requeue, {moment}, {times} times", f"{said}; run again, each line is taken once.")


@pytest.mark.parametrize("times", [1, 2], ids=["once", "twice in a row"])
@pytest.mark.parametrize("moment", [*BEFORE, *AFTER])
def test_a_killed_reingestion_goes_on_though_the_first_log_has_grown(
    tmp_path: Path, settings: Settings, moment: str, times: int, observe: Observe
) -> None:
    lake, landing = ingested(tmp_path, settings)
    command = ("reingest", "--lake", lake.path, "--as-log", "2")
    for number in range(times):
        process = begun(lake, command, failpoint=f"ingest.{moment}:arrivals@2:*", **EMBEDDED)
        if moment == "committed" and number:
            assert process.wait(PATIENCE) == 0, "the one step was done"
        else:
            assert process.wait(PATIENCE) == KILLED, process.said
    second = replace(lake, log=2)
    assert position(second).batch == (-1 if moment in BEFORE else position(lake).batch)
    land(landing, "more.jsonl", [pop("more", 700), "no event either", pop("more", 700), heartbeat("more beat", 2000)])
    ingest(None, lake, landing, settings)
    reingest(lake, settings, as_log=2)
    assert written(second, but=()) == written(lake, but=())
    assert indexed(second) == indexed(lake)
    said = "Nothing of the step was there" if moment in BEFORE else "The step was there"
    observe(
        f"a re-ingestion, {moment}, {times} times, and files land before it is started again",
        f"{said}; it goes on, and the new log is row by row the first one.",
    )


@pytest.mark.parametrize("moment", BEFORE)
def test_a_requeue_may_come_before_the_retry_of_a_killed_micro_batch(
    spark: SparkSession, requeueable: tuple[Lake, Path], settings: Settings, moment: str, observe: Observe
) -> None:
    """The requeued line makes a copy of one in the micro-batch, which the killed attempt had taken for an event."""
    lake, landing = requeueable
    land(
        landing,
        "1.jsonl",
        [pop("ahead", 3600, received_at=at(3601)), pop("sound", 0), "nonsense", heartbeat("end", 9000)],
    )
    command = ("ingest", "--lake", lake.path, "--landing", landing)
    process = begun(lake, command, failpoint=f"ingest.{moment}:arrivals:1", **EMBEDDED)
    assert process.wait(PATIENCE) == KILLED, process.said
    assert requeue(lake, wider(settings)) == Requeued(accepted=1, copies=1, waiting=1)
    ingest(None, lake, landing, settings)
    assert event_ids(lake) == ["sound", "beat", "ahead", "end"]
    assert (position(lake).duplicates, position(lake).quarantined, position(lake).lines) == (3, 2, 9)
    stream(spark, lake, [SCORES], settings)
    proven(spark, lake, [SCORES], settings)
    observe(
        f"ingestion, killed ({moment}), and a requeue before it is started again",
        "The requeue takes its lines; the micro-batch is judged against the log that it finds. Each line is taken once.",
    )
