"""The two architectures by what they cost: Lambda, a speed layer and a batch layer, against Kappa, a stream that repairs.

The speed layer of Lambda is the control, as such layers were built. Ingestion is in neither: both need it. Neither is the
merge of Lambda's two answers, which readers pay for. With a batch run every so often, over the time that the log covers,

    Lambda = speed layer + runs * one batch run        runs = time covered / interval, at least one
    Kappa  = stream with its repairs and restarts
    they cost the same where    interval = time covered * one batch run / (stream - speed layer)

All four are measured, by what the runs in the lake have noted of themselves. Where one is missing, that is said. So it is
where a job ran in a process that others had warmed: the order of a script would decide then which one is cheaper.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import timedelta

from pyspark.sql import SparkSession
from pyspark.sql import functions as F

from lakehouse.lake import Lake
from lakehouse.log import log_at
from lakehouse.runs import Job, Run, runs
from lakehouse.settings import Settings
from reconciliation.accounts import account, cost_of_a_batch_run, together
from reconciliation.words import count, listed
from transformations.result import Result

SAID: dict[Job, str] = {"stream": "the stream", "legacy": "the old speed layer", "recompute": "the batch layer"}


@dataclass(frozen=True)
class Bill:
    """What the architectures cost in CPU seconds, for `asked` and the results that cannot be told apart from them."""

    asked: tuple[str, ...]
    results: tuple[str, ...]
    covered: timedelta
    every: timedelta
    stream: float | None
    speed: float | None
    batch: float | None
    """One run of the batch layer over all the results."""
    whole: bool = True
    """Whether each batch run recomputed all that the log has."""
    unended: int = 0
    """Runs that noted no end: killed, or still at work."""
    missing: tuple[str, ...] = ()
    """What has to be known before anything can be compared."""

    @property
    def batch_runs(self) -> float:
        return max(1.0, self.covered / self.every)

    @property
    def batches(self) -> float | None:
        """The batch layer at its schedule, for as long as the log is."""
        return None if self.batch is None else self.batch_runs * self.batch

    @property
    def lambda_(self) -> float | None:
        return None if self.batches is None or self.speed is None else self.speed + self.batches

    @property
    def kappa(self) -> float | None:
        return None if self.missing else self.stream

    @property
    def cheaper(self) -> str | None:
        """`lambda`, `kappa`, or none where they cost the same or it is not known."""
        if self.kappa is None or self.batches is None:
            return None
        least = self.batches + (self.speed or 0.0)
        if self.kappa < least:
            return "kappa"  # also without the speed layer, if that was not measured
        return "lambda" if self.lambda_ is not None and self.lambda_ < self.kappa else None

    @property
    def same_at(self) -> timedelta | None:
        """The interval of the batch layer at which both cost the same; none where Lambda is dearer at any, or unknown."""
        if self.kappa is None or self.batch is None or self.speed is None or self.kappa <= self.speed:
            return None
        return self.covered * (self.batch / (self.kappa - self.speed))


def bill(spark: SparkSession, lake: Lake, results: Sequence[Result], settings: Settings, *, log_version: int) -> Bill:
    """What the lake's runs have cost up to now, over the time that the log covers at this version.

    That time is from the first mark to the last: one event from long ago does not make the log longer.
    """
    marks = log_at(spark, lake, log_version, whole=True).agg(F.min("high_water"), F.max("high_water"))
    [[first, last]] = marks.collect()
    covered = timedelta() if first is None else last - first
    return billed(runs(lake), [result.id for result in results], covered=covered, every=settings.batch.every)


def billed(noted: Sequence[Run], ids: Sequence[str], *, covered: timedelta, every: timedelta) -> Bill:
    """The bill for these results by the notes of the runs."""
    group = together(noted, ids)
    stream, speed = account(noted, "stream", group), account(noted, "legacy", [])
    batch, never = cost_of_a_batch_run(noted, group)
    streamed = {each for run in stream.runs for each in run.results}
    missing = []
    if unmeasured := sorted(group - streamed):
        missing.append(f"the stream has noted no run of {_named(unmeasured)}")
    if replayed := sorted({each for run in account(noted, "replay", group).runs for each in run.results}):
        missing.append(
            f"{_named(replayed)} was built by a replay, so the runs of its stream cover only a part of the log"
        )
    if never:
        missing.append(f"the batch layer has noted no run of {_named(never)} that ended")
    if not covered:
        missing.append("the log covers no time")
    recomputed = account(noted, "recompute", group)
    if favoured := _favoured(*stream.runs, *speed.runs, *recomputed.runs):
        missing.append(
            f"{favoured} ran in a process that other jobs had warmed, which paid for what it used; "
            "run each in a process of its own"
        )
    return Bill(
        asked=tuple(ids),
        results=tuple(sorted(group)),
        covered=covered,
        every=every,
        stream=stream.cpu_seconds,
        speed=speed.cpu_seconds,
        batch=batch,
        whole=all(run.whole for run in recomputed.runs),
        unended=stream.unended + speed.unended + recomputed.unended,
        missing=tuple(missing),
    )


def _favoured(*noted: Run) -> str:
    """The jobs that ran where others had loaded classes and compiled code for them."""
    jobs = {run.job for run in noted if run.favoured}
    return listed([said for job, said in SAID.items() if job in jobs])


def _named(ids: Sequence[str], most: int = 3) -> str:
    rest = len(ids) - most
    return listed([*ids[:most], *([count(rest, "other result")] if rest > 0 else [])])
