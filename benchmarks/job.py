"""Measured jobs in a process of their own, one after the other: what each cost, as a line of JSON.

    python -m benchmarks.job LAKE LANDING NAME [NAME ...]

The first pays for a cold JVM: classes, generated code, compilation.
"""

import json
import sys
from collections.abc import Callable
from pathlib import Path

from pyspark.sql import SparkSession

from batch_layer.recompute import recompute
from lakehouse.lake import Lake, create_lake
from lakehouse.log import position
from lakehouse.runs import runs
from lakehouse.session import java_process, spark_session
from lakehouse.settings import Settings, load_settings
from speed_layer.ingest import ingest
from speed_layer.stream import stream
from transformations.catalogue import catalogue

Work = Callable[[SparkSession, Lake, Settings, Path], None]


def _ingest(spark: SparkSession, lake: Lake, settings: Settings, landing: Path) -> None:
    ingest(spark, lake, landing, settings)


def _stream(spark: SparkSession, lake: Lake, settings: Settings, _: Path) -> None:
    """The whole log through the engine, from nothing: a new epoch."""
    stream(spark, lake, [catalogue()["team_scores"]], settings, rebuild=True)


def _batch(spark: SparkSession, lake: Lake, settings: Settings, _: Path) -> None:
    recompute(spark, lake, catalogue()["team_scores"], settings)


JOBS: dict[str, Work] = {"ingest": _ingest, "stream": _stream, "batch": _batch}


def peak_memory(process: int) -> float:
    """The most memory that the process has had resident so far, in GiB; Linux only."""
    status = Path(f"/proc/{process}/status").read_text()
    line = next(line for line in status.splitlines() if line.startswith("VmHWM"))
    return int(line.split()[1]) / 1024**2


def main(lake_path: str, landing: str, *names: str) -> None:
    lake, settings = create_lake(Path(lake_path)), load_settings()
    spark = spark_session(settings.spark, log_file=lake.log_file)
    for name in names:
        JOBS[name](spark, lake, settings, Path(landing))
        cost = runs(lake)[-1]
        found = {
            "wall": cost.wall_seconds,
            "cpu": cost.cpu_seconds,
            "batches": cost.batches,
            "rows": cost.rows_read,
            "memory": round(peak_memory(java_process(spark)), 2),
            "events": position(lake).seq,
        }
        sys.stdout.write(json.dumps(found) + "\n")


if __name__ == "__main__":
    main(*sys.argv[1:])
