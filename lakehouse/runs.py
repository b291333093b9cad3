"""What each run of a job cost: CPU and wall time, rows. The report's second sentence is made of these.

A run notes itself when it starts, every second while it is at work, and when it ends. So one that is killed has a note
too, with all but its last second: at least once and SIGKILL cost what they cost.
"""

import json
import threading
import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import asdict, dataclass, field
from datetime import UTC, datetime, timedelta
from typing import Literal, Protocol

import psutil
from py4j.protocol import Py4JError
from pyspark.sql import SparkSession

from lakehouse.lake import Lake, write_json
from lakehouse.progress import Progress
from lakehouse.session import java_process

Job = Literal["ingest", "stream", "recompute", "legacy", "replay"]
Outcome = Literal["no end noted", "ended", "failed"]
NOTED_EVERY = timedelta(seconds=1)

_warmed_by: set[Job] = set()
"""The jobs that the JVM of this process has done."""


class Ended(Protocol):
    """What a loop of micro-batches tells of itself when it has ended."""

    @property
    def progress(self) -> Progress: ...

    @property
    def lengths(self) -> Iterable[float]: ...


@dataclass
class Run:
    """One run. The start of Spark is not in it: a long-running job pays that once."""

    job: Job
    results: list[str]
    """The results that it computed, each with its version (`door_counts@2`); none for what serves them all."""
    started_at: str
    outcome: Outcome = "ended"
    """Without an end it was killed, or is still at work."""
    whole: bool = True
    """Whether it was over everything that the log has, and not over an interval of it."""
    warmed_by: list[str] = field(default_factory=list)
    """The jobs that its process had done before: their classes were loaded and their code was compiled at their cost."""
    wall_seconds: float = 0.0
    cpu_seconds: float = 0.0
    rows_read: int = 0
    rows_written: int = 0
    batches: int = 0
    batch_seconds: list[float] = field(default_factory=list)
    """Of a run that went on for long, those of the last micro-batches of each query."""

    @property
    def favoured(self) -> bool:
        """Whether other jobs had warmed its process, and its own had not."""
        return bool(self.warmed_by) and self.job not in self.warmed_by

    def took(self, ended: "Ended") -> int:
        """Note the micro-batches of a query that has ended; returns how many rows came in with them."""
        self.batches += ended.progress.batches
        self.batch_seconds += ended.lengths
        return ended.progress.rows


@contextmanager
def measured(
    spark: SparkSession | None, lake: Lake, job: Job, results: list[str], *, whole: bool = True
) -> Iterator[Run]:
    """Measure what happens inside, and keep it in the lake however it ends."""
    now = datetime.now(UTC)
    run = Run(job, results, now.isoformat(), outcome="no end noted", whole=whole, warmed_by=sorted(_warmed_by))
    if spark is not None:
        _warmed_by.add(job)
    file = lake.path / "runs" / f"{now:%Y%m%dT%H%M%S%f}-{job}.json"
    wall, cpu = time.monotonic(), cpu_seconds(spark)

    def note() -> None:
        run.wall_seconds = round(time.monotonic() - wall, 3)
        run.cpu_seconds = round(cpu_seconds(spark) - cpu, 3)
        write_json(file, asdict(run))

    def note_if_possible() -> None:
        with suppress(
            OSError, Py4JError, psutil.Error
        ):  # a full disk or a dead JVM ends the run by itself, with a better reason
            note()

    try:
        with _often(note_if_possible):
            yield run
    except BaseException:
        run.outcome = "failed"
        note_if_possible()
        raise
    run.outcome = "ended"
    note()


def runs(lake: Lake) -> list[Run]:
    """The runs, oldest first, those without an end too."""
    return [Run(**json.loads(file.read_text())) for file in sorted((lake.path / "runs").glob("*.json"))]


def cpu_seconds(spark: SparkSession | None) -> float:
    """CPU time so far of this process and, if there is a session, of its JVM and what that has started.

    Spark's tasks in Python and the helpers that Hadoop starts for local files are processes of their own. Those that have
    ended are in the account of the process that waited for them.
    """
    java = [] if spark is None else _with_descendants(java_process(spark))
    return time.process_time() + sum(map(_cpu_seconds, java))


def _with_descendants(process: int) -> list[psutil.Process]:
    java = psutil.Process(process)
    return [java, *java.children(recursive=True)]


def _cpu_seconds(process: psutil.Process) -> float:
    try:
        times = process.cpu_times()
    except psutil.NoSuchProcess:
        return 0.0
    return float(times.user + times.system + times.children_user + times.children_system)


@contextmanager
def _often(do: Callable[[], None]) -> Iterator[None]:
    """Do it now, and again and again beside what happens inside."""
    over = threading.Event()

    def again() -> None:
        while not over.wait(NOTED_EVERY.total_seconds()):
            do()

    do()
    beside = threading.Thread(target=again, name="parity-runs", daemon=True)
    beside.start()
    try:
        yield
    finally:
        over.set()
        beside.join()
