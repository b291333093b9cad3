"""Measured jobs in a process of their own, one after the other: what each cost, as a line of JSON.

    python -m benchmarks.job LAKE LANDING JOB [JOB ...]      # ingest, engine:RESULT, steps:RESULT, batch:RESULT

The first pays for a cold JVM: classes, generated code, compilation. What is timed is the same for all: from the call of the
job to its return, its note and its table included. Making and removing the version that a replay fills is in no number.
"""

import json
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from pyspark.sql import SparkSession

from batch_layer.recompute import recompute
from ingestion.ingest import ingest
from lakehouse.identity import ReplayWay
from lakehouse.lake import Lake, create_lake
from lakehouse.log import position
from lakehouse.pipelines import default_pipeline
from lakehouse.runs import cpu_seconds, runs
from lakehouse.session import java_process, spark_session
from lakehouse.settings import Settings, load_settings
from lakehouse.versions import remove, version_to_replay
from speed_layer.replay import replay

WAYS: dict[str, ReplayWay] = {"engine": "engine", "steps": "steps"}


class Meter:
    """Wall and CPU seconds between its two calls."""

    def __init__(self, spark: SparkSession) -> None:
        self._spark = spark
        self.wall = self.cpu = 0.0

    @contextmanager
    def running(self) -> Iterator[None]:
        wall, cpu = time.monotonic(), cpu_seconds(self._spark)
        yield
        self.wall, self.cpu = time.monotonic() - wall, cpu_seconds(self._spark) - cpu


def done(spark: SparkSession, lake: Lake, settings: Settings, job: str, *, landing: Path) -> Meter:
    meter = Meter(spark)
    kind, _, name = job.partition(":")
    if kind == "ingest":
        with meter.running():
            ingest(spark, lake, landing, settings)
    elif kind == "batch":
        with meter.running():
            recompute(spark, lake, default_pipeline().catalogue()[name], settings)
    else:
        new = version_to_replay(lake, default_pipeline().catalogue()[name])
        with meter.running():
            replay(spark, lake, new, settings, way=WAYS[kind])
        remove(lake, new)
    return meter


def peak_memory(process: int) -> float:
    """The most memory that the process has had resident so far, in GiB; Linux only."""
    status = Path(f"/proc/{process}/status").read_text()
    line = next(line for line in status.splitlines() if line.startswith("VmHWM"))
    return int(line.split()[1]) / 1024**2


def main(lake_path: str, landing: str, *jobs: str) -> None:
    lake, settings = create_lake(Path(lake_path)), load_settings()
    spark = spark_session(settings.spark, log_file=lake.log_file)
    for job in jobs:
        before = len(runs(lake))
        meter = done(spark, lake, settings, job, landing=Path(landing))
        new = runs(lake)[before:]
        found = {
            "wall": round(meter.wall, 3),
            "cpu": round(meter.cpu, 3),
            "batches": sum(run.batches for run in new),
            "rows": max(run.rows_read for run in new),
            "memory": round(peak_memory(java_process(spark)), 2),
            "events": position(lake).seq,
        }
        sys.stdout.write(json.dumps(found) + "\n")


if __name__ == "__main__":
    main(*sys.argv[1:])
