"""Two instances of one writer

A writer holds a lock of the operating system, which a stopped process keeps and a dead one loses. Should somebody remove
the lock's file, so that two are at work, then transaction ids and epochs refuse the one that was overtaken.
"""

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from engines import Engine
from logged import assert_whole
from observations import Observe
from one_run import SCORES, cut_into
from proof import proven
from pyspark.sql import SparkSession
from struck import PATIENCE, REFUSED, SOON, begun, ingested, landed

from chaos.processes import Process
from ingestion.ingest import ingest
from lakehouse.arrivals import ARRIVALS
from lakehouse.changelogs import changelog_name
from lakehouse.commits import newest
from lakehouse.errors import AlreadyRunning
from lakehouse.lake import Lake, create_lake
from lakehouse.settings import Settings, load_settings
from speed_layer.stream import stream


@pytest.fixture
def settings() -> Settings:
    return cut_into(load_settings(), 1)


@contextmanager
def stopped(lake: Lake, command: list[str | Path], place: str, **more: str) -> Iterator[Process]:
    """The command, stopped in the middle of a micro-batch as by Ctrl-Z; ended with the block."""
    process = begun(lake, command, failpoint=f"stop@{place}", **more)
    try:
        while not process.is_stopped():
            assert process.code is None, process.said
            time.sleep(SOON)
        yield process
    finally:
        process.end()


@pytest.mark.parametrize("engine", ["embedded", pytest.param("spark", marks=pytest.mark.chaos)])
def test_a_second_ingestion_beside_a_paused_one_and_one_that_took_over(
    tmp_path: Path, settings: Settings, engine: Engine, observe: Observe, stopwatch: Callable[[], float]
) -> None:
    landing, lake = landed(tmp_path / "landing"), create_lake(tmp_path / "lake")
    command: list[str | Path] = ["ingest", "--lake", lake.path, "--landing", landing, "--files-per-batch", "1"]
    with stopped(lake, command, "ingest.written:arrivals:1", PARITY_INGESTION__ENGINE=engine) as first:
        with pytest.raises(AlreadyRunning, match="Another process is at work here"):
            ingest(None, lake, landing, settings, files_per_batch=1)
        assert newest(lake, ARRIVALS) == 1
        lake.lock_file("ingest").unlink()
        stopwatch()
        ingest(None, lake, landing, settings, files_per_batch=1)
        seconds = stopwatch()
        before = newest(lake, ARRIVALS)
        first.resume()
        assert first.wait(PATIENCE) == REFUSED, first.said
    assert newest(lake, ARRIVALS) == before
    assert "Traceback" not in first.said and "has gone on meanwhile" in first.said
    ingest(None, lake, landing, settings)
    assert_whole(lake)
    observe(
        f"a second ingestion beside one that is stopped (SIGSTOP), {engine}",
        "Refused: a stopped process keeps its lock. With the lock's file removed by hand the second one took over; the first, "
        "awake again, found at its commit that the log had gone on, was refused, and changed nothing.",
        seconds,
    )


@pytest.mark.parametrize("rebuild", [pytest.param(False, id="same-epoch", marks=pytest.mark.chaos), True], ids=None)
def test_a_second_stream_beside_a_paused_one_and_one_that_took_over(
    spark: SparkSession,
    tmp_path: Path,
    settings: Settings,
    rebuild: bool,
    observe: Observe,
    stopwatch: Callable[[], float],
) -> None:
    lake, _ = ingested(tmp_path, settings)
    table, command = changelog_name(SCORES), ["stream", "--lake", lake.path, "--result", SCORES.name]
    with stopped(lake, command, f"stream.computed:{SCORES.name}:1") as first:
        with pytest.raises(AlreadyRunning, match="Another process is at work here"):
            stream(spark, lake, [SCORES], settings)
        lake.lock_file(f"stream-{SCORES.id}").unlink()
        stopwatch()
        stream(spark, lake, [SCORES], settings, rebuild=rebuild)
        seconds = stopwatch()
        before = newest(lake, table)
        first.resume()
        assert first.wait(PATIENCE) == REFUSED, first.said
    assert newest(lake, table) == before
    assert "Traceback" not in first.said
    assert not rebuild or "has moved on to epoch 2; this process belongs to epoch 1" in first.said
    proven(spark, lake, [SCORES], settings)
    how = "with --rebuild" if rebuild else "in the same epoch"
    why = (
        "was refused as one of a stale epoch"
        if rebuild
        else "was skipped by its transaction id and failed on Spark's check"
    )
    observe(
        f"a second stream beside one that is stopped, which takes over {how}",
        f"Refused while the first has its lock. With the lock's file removed it took over; the first, awake again, {why}, and "
        "changed nothing.",
        seconds,
    )
