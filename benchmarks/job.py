"""Measured jobs in a process of their own, one after the other: what each cost, as a line of JSON.

    python -m benchmarks.job LAKE LANDING NAME [NAME ...]

The first pays for a cold JVM: classes, generated code, compilation.
"""

import json
import sys
import time
from collections.abc import Callable
from pathlib import Path

from pyspark.sql import SparkSession

from batch_layer.recompute import recompute
from ingestion.ingest import ingest
from lakehouse.identity import ReplayWay
from lakehouse.lake import Lake, create_lake
from lakehouse.log import position
from lakehouse.runs import cpu_seconds, runs
from lakehouse.session import java_process, spark_session
from lakehouse.settings import Settings, load_settings
from lakehouse.versions import remove, version_to_replay
from speed_layer.replay import replay
from transformations.catalogue import catalogue

Work = Callable[[SparkSession, Lake, Settings, Path], None]


def _ingest(spark: SparkSession, lake: Lake, settings: Settings, landing: Path) -> None:
    ingest(spark, lake, landing, settings)


def _batch(spark: SparkSession, lake: Lake, settings: Settings, _: Path) -> None:
    recompute(spark, lake, catalogue()["team_scores"], settings)


def _replay(spark: SparkSession, lake: Lake, settings: Settings, *, way: ReplayWay) -> None:
    """A new version from the whole log, which goes again."""
    new = version_to_replay(lake, catalogue()["team_scores"])
    replay(spark, lake, new, settings, way=way)
    remove(lake, new)


def _engine(spark: SparkSession, lake: Lake, settings: Settings, _: Path) -> None:
    _replay(spark, lake, settings, way="engine")


def _steps(spark: SparkSession, lake: Lake, settings: Settings, _: Path) -> None:
    _replay(spark, lake, settings, way="steps")


JOBS: dict[str, Work] = {"ingest": _ingest, "batch": _batch, "engine": _engine, "steps": _steps}


def peak_memory(process: int) -> float:
    """The most memory that the process has had resident so far, in GiB; Linux only."""
    status = Path(f"/proc/{process}/status").read_text()
    line = next(line for line in status.splitlines() if line.startswith("VmHWM"))
    return int(line.split()[1]) / 1024**2


def main(lake_path: str, landing: str, *names: str) -> None:
    lake, settings = create_lake(Path(lake_path)), load_settings()
    spark = spark_session(settings.spark, log_file=lake.log_file)
    for name in names:
        before, wall, cpu = len(runs(lake)), time.monotonic(), cpu_seconds(spark)
        JOBS[name](spark, lake, settings, Path(landing))
        new = runs(lake)[before:]
        found = {
            "wall": round(time.monotonic() - wall, 3),
            "cpu": round(cpu_seconds(spark) - cpu, 3),
            "batches": sum(run.batches for run in new),
            "rows": max(run.rows_read for run in new),
            "memory": round(peak_memory(java_process(spark)), 2),
            "events": position(lake).seq,
        }
        sys.stdout.write(json.dumps(found) + "\n")


if __name__ == "__main__":
    main(*sys.argv[1:])
