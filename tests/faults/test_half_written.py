"""A micro-batch that is half written, and what else is done to the lake before it is finished

A SIGKILL between the appends leaves lines aside that the log does not speak of yet. Only the same lines, judged against the same
log, may finish it.
"""

from collections import Counter
from dataclasses import replace
from datetime import timedelta
from pathlib import Path

import pytest
from deliveries import at, heartbeat, land, pop
from observations import Observe
from one_run import SCORES, ids
from proof import lines, proven
from pyspark.sql import SparkSession
from struck import KILLED, PATIENCE, begun, ingested

from lakehouse.errors import ParityError
from lakehouse.lake import Lake, create_lake
from lakehouse.log import position
from lakehouse.settings import ClockTolerances, Settings
from lakehouse.tables import read_table
from speed_layer.ingest import ingest
from speed_layer.reingest import reingest
from speed_layer.requeue import Requeued, requeue
from speed_layer.stream import stream


def placed(spark: SparkSession, lake: Lake, log: int) -> Counter[tuple[int, str, int]]:
    """How often each landed line is in the tables of a log."""
    tables = (replace(lake, log=log).of_log(name) for name in ("events", "duplicates", "quarantine"))
    rows = (row for table in tables for row in read_table(spark, lake, table).select("batch", "file", "line").collect())
    return Counter((row.batch, row.file, row.line) for row in rows)


def test_a_killed_reingestion_ends_its_step_where_it_began_it_though_the_first_log_has_grown(
    spark: SparkSession, tmp_path: Path, settings: Settings, observe: Observe
) -> None:
    lake, landing = ingested(spark, tmp_path, settings)
    command = ("reingest", "--lake", lake.path, "--as-log", "2")
    process = begun(lake, command, failpoint="ingest.sidelined:events:*")
    assert process.wait(PATIENCE) == KILLED, process.said
    half = placed(spark, lake, 2)
    assert half and position(replace(lake, log=2)).batch == -1, "lines are aside, and the log has none"
    land(landing, "more.jsonl", [pop("more", 700), "no event either", pop("more", 700), heartbeat("more beat", 2000)])
    ingest(spark, lake, landing, settings)
    new = reingest(spark, lake, settings, as_log=2)
    old = position(lake)
    assert placed(spark, lake, 2) == placed(spark, lake, 1) and set(placed(spark, lake, 2).values()) == {1}
    assert (new.batch, new.seq, new.duplicates, new.quarantined) == (
        old.batch,
        old.seq,
        old.duplicates,
        old.quarantined,
    )
    observe(
        "a reingestion, killed between the appends of a step, and files land before it is started again",
        f"It ends the step where it began it and goes on from there: {len(half)} lines that were aside already are there once.",
    )


def test_a_requeue_waits_for_a_micro_batch_that_is_half_written(
    spark: SparkSession, tmp_path: Path, settings: Settings, observe: Observe
) -> None:
    """The requeued line would make a copy of one in the micro-batch, whose copies have been appended already."""
    lake, landing = create_lake(tmp_path / "lake"), tmp_path / "landing"
    landing.mkdir()
    land(landing, "0.jsonl", [pop("sound", 0), pop("twice", 3600, received_at=at(20)), heartbeat("beat", 60)])
    ingest(spark, lake, landing, settings)
    land(
        landing,
        "1.jsonl",
        [pop("twice", 3600, received_at=at(3601)), pop("sound", 0), "nonsense", heartbeat("end", 9000)],
    )
    command = ("ingest", "--lake", lake.path, "--landing", landing)
    process = begun(lake, command, failpoint="ingest.sidelined:events:1")
    assert process.wait(PATIENCE) == KILLED, process.said
    wider = settings.model_copy(update={"clock": ClockTolerances(future=timedelta(hours=2))})
    with pytest.raises(ParityError) as refused:
        requeue(spark, lake, wider)
    said = str(refused.value)
    assert "Micro-batch 1 of the ingestion was begun and not finished" in said
    assert said.endswith(f"`parity ingest --lake {lake.path} --landing {landing}`")
    ingest(spark, lake, landing, settings)
    assert requeue(spark, lake, wider) == Requeued(accepted=0, copies=1, waiting=1)
    assert ids(spark, lake, "events") == ["beat", "end", "sound", "twice"]
    assert set(lines(spark, lake).values()) == {1} and len(lines(spark, lake)) == 7
    stream(spark, lake, [SCORES], settings)
    proven(spark, lake, [SCORES], settings)
    observe(
        "ingestion, killed between the appends, and a requeue before it is started again",
        "The requeue is refused with the command that finishes the micro-batch; after that it takes each line once.",
    )
