"""What each run of a job cost: CPU and wall time, rows. The report's second sentence is made of these."""

import json
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import asdict, dataclass, field
from datetime import UTC, datetime
from typing import Literal

from pyspark.sql import SparkSession

from lakehouse.lake import Lake, write_json
from lakehouse.queries import Watched

Job = Literal["ingest", "stream", "recompute", "legacy", "replay"]


@dataclass
class Run:
    """One finished run. The start of Spark is not in it: a long-running job pays that once."""

    job: Job
    results: list[str]
    started_at: str
    wall_seconds: float = 0.0
    cpu_seconds: float = 0.0
    rows_read: int = 0
    rows_written: int = 0
    batches: int = 0
    batch_seconds: list[float] = field(default_factory=list)
    """Of a run that went on for long, those of the last micro-batches of each query."""

    def took(self, ended: Watched) -> int:
        """Note the micro-batches of a query that has ended; returns how many rows came in with them."""
        self.batches += ended.progress.batches
        self.batch_seconds += ended.lengths
        return ended.progress.rows


@contextmanager
def measured(spark: SparkSession, lake: Lake, job: Job, results: list[str]) -> Iterator[Run]:
    """Measure what happens inside, and keep it in the lake if it ends well."""
    now = datetime.now(UTC)
    run = Run(job, results, now.isoformat())
    wall, cpu = time.monotonic(), cpu_seconds(spark)
    yield run
    run.wall_seconds = round(time.monotonic() - wall, 3)
    run.cpu_seconds = round(cpu_seconds(spark) - cpu, 3)
    write_json(lake.path / "runs" / f"{now:%Y%m%dT%H%M%S%f}-{job}.json", asdict(run))


def runs(lake: Lake) -> list[Run]:
    """The finished runs, oldest first."""
    return [Run(**json.loads(file.read_text())) for file in sorted((lake.path / "runs").glob("*.json"))]


def cpu_seconds(spark: SparkSession) -> float:
    """CPU time of this process and its JVM so far."""
    java = spark._jvm.java.lang.ProcessHandle.current().info().totalCpuDuration().get()  # type: ignore[union-attr]
    return time.process_time() + float(java.toMillis()) / 1000
