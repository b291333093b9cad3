"""The table `batch_<result>`: its columns, and which interval of it was computed at which version of the log.

Each commit of a recompute says the whole of that, not its own interval alone: Delta removes commits beyond the horizon,
and what they said of rows that are still there must not go with them.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from itertools import pairwise
from typing import Any

from pyspark.sql import Column, DataFrame, SparkSession
from pyspark.sql import functions as F
from pyspark.sql.types import LongType, StringType, StructField, StructType, TimestampType

from lakehouse.commits import commits
from lakehouse.errors import GoesBack, NothingToCompare, ParityError
from lakehouse.lake import Lake
from lakehouse.log import Position
from lakehouse.table_files import TableFiles, read_files, table_files
from transformations.durations import from_millis, iso, to_millis
from transformations.result import Result

NEVER = -1
"""Stands where a window has no log version at which it was computed."""
BATCH_STAMPS = ("log_version", "computed_at", "fingerprint")


def batch_name(result: Result) -> str:
    return f"batch_{result.id}"


def batch_schema(result: Result) -> StructType:
    types = (LongType(), TimestampType(), StringType())
    stamps = [StructField(name, type_) for name, type_ in zip(BATCH_STAMPS, types, strict=True)]
    return StructType([*result.schema.fields, *stamps])


@dataclass(frozen=True)
class Interval:
    """The rows whose window starts in `[first, end)`: closed at the start, open at the end, unbounded where none is given."""

    first: datetime | None = None
    end: datetime | None = None

    def __post_init__(self) -> None:
        if self.first is not None and self.end is not None and self.first >= self.end:
            raise ParityError(
                f"The interval ends before it starts: from {self.first.isoformat()} to {self.end.isoformat()}. "
                "Give --from a time before --to."
            )

    def of(self, result: Result) -> "Interval":
        """The interval as `result` knows it: what has no windows belongs to all of them, and is computed as a whole."""
        return Interval() if result.window.endless else self

    @property
    def first_millis(self) -> int | None:
        return None if self.first is None else to_millis(self.first)

    @property
    def end_millis(self) -> int | None:
        return None if self.end is None else to_millis(self.end)

    def needs(self, result: Result) -> Column:
        """Whether a row of the log can bear upon a row of `result` in the interval; Delta skips files by it."""
        return F.lit(True) if result.window.whole else self.reached(result)

    def reached(self, result: Result) -> Column:
        """Whether a row of the log is as near to the interval as one of the events of every row in it is."""
        reach = sum(result.window.durations.values(), timedelta())
        return Interval(self.first, None if self.end is None else self.end + reach).holds(F.col("event_time"))

    def holds(self, window_start: Column) -> Column:
        after = F.lit(True) if self.first is None else window_start >= F.lit(self.first)
        before = F.lit(True) if self.end is None else window_start < F.lit(self.end)
        return after & before

    def covers(self, first: datetime | None, end: datetime | None) -> bool:
        """Whether the interval holds the whole stretch from `first` to `end`."""
        after = self.first is None or (first is not None and self.first <= first)
        return after and (self.end is None or (end is not None and end <= self.end))

    def meets(self, other: "Interval") -> bool:
        """Whether a window can start in both."""
        before = self.first is None or other.end is None or self.first < other.end
        return before and (self.end is None or other.first is None or other.first < self.end)

    @property
    def said(self) -> str:
        """In words: from when until when, as one would type it."""
        first = None if self.first is None else f"from {iso(self.first)}"
        end = None if self.end is None else f"until {iso(self.end)}"
        return " ".join(each for each in (first, end) if each) or "all of it"

    @property
    def predicate(self) -> str:
        """The same as SQL, which is how Delta takes what an overwrite replaces."""
        bounds = []
        if self.first_millis is not None:
            bounds.append(f"window_start >= timestamp_millis({self.first_millis})")
        if self.end_millis is not None:
            bounds.append(f"window_start < timestamp_millis({self.end_millis})")
        return " and ".join(bounds) or "true"


@dataclass(frozen=True)
class Coverage:
    """An interval of a batch table, and where the log stood when it was computed: version, number of events, mark."""

    interval: Interval
    log_version: int
    seq: int
    high_water: datetime | None
    table_version: int = -1
    """The version of the table that was asked about; not that of the run."""

    def as_dict(self) -> dict[str, Any]:
        """As a commit says it."""
        mark = None if self.high_water is None else to_millis(self.high_water)
        bounds = {"from": self.interval.first_millis, "to": self.interval.end_millis}
        return {**bounds, "log_version": self.log_version, "seq": self.seq, "high_water": mark}


def run_at(interval: Interval, log: Position, version: int) -> Coverage:
    """A run over an interval at a version of the log, where the log stands at `log`."""
    return Coverage(interval, version, log.seq, log.high_water)


def coverage(lake: Lake, result: Result, *, until: int | None = None) -> list[Coverage]:
    """What the batch layer has computed, newest first; where two overlap, the newer one holds.

    With `until`, as it was when nothing in the table was of a later version of the log.
    """
    name = batch_name(result)
    for said in commits(lake, name) if lake.has(name) else ():
        if "covered" in said:
            runs = [_run(each, said["version"]) for each in said["covered"]]
            if until is None or all(run.log_version <= until for run in runs):
                return runs
    return []


def _run(said: dict[str, Any], table_version: int) -> Coverage:
    first, end, mark = (
        None if said[name] is None else from_millis(said[name]) for name in ("from", "to", "high_water")
    )
    return Coverage(Interval(first, end), said["log_version"], said["seq"], mark, table_version)


def stretches(runs: Sequence[Coverage]) -> list[tuple[Interval, Coverage | None]]:
    """All of time, cut at the ends of the intervals, in order: each stretch with the run that computed it last, if any."""
    edges = sorted({edge for run in runs for edge in (run.interval.first, run.interval.end) if edge is not None})
    cut = [Interval(first, end) for first, end in pairwise((None, *edges, None))]
    return [(each, next((run for run in runs if run.interval.covers(each.first, each.end)), None)) for each in cut]


def reached(runs: Sequence[Coverage]) -> datetime | None:
    """The latest event time up to which anything was computed: the end of an interval, or the mark of the log back then."""
    marks = [(stretch, run.high_water) for stretch, run in stretches(runs) if run is not None and run.high_water]
    return max(
        (min(stretch.end or mark, mark) for stretch, mark in marks if stretch.first is None or stretch.first < mark),
        default=None,
    )


def with_run(run: Coverage, before: Sequence[Coverage]) -> list[Coverage]:
    """What is covered after a run, newest first. A run whose rows are all replaced since is left out."""
    runs = [run, *before]
    seen = {id(held) for _, held in stretches(runs) if held is not None}
    return [each for each in runs if id(each) in seen]


def refuse_going_back(result: Result, run: Coverage, before: Sequence[Coverage]) -> None:
    """Refuse a run that would replace rows of a later version of the log by those of an earlier one."""
    later = [
        (stretch, held)
        for stretch, held in stretches(before)
        if held is not None and held.log_version > run.log_version and stretch.meets(run.interval)
    ]
    if later:
        newest = max(held.log_version for _, held in later)
        where = "; ".join(f"{stretch.said} at {held.log_version}" for stretch, held in later[:3])
        raise GoesBack(
            f"{batch_name(result)} was computed at a later version of the log than {run.log_version} ({where}"
            f"{', …' if len(later) > 3 else ''}): its rows would go back in time. Nothing was written. Compute at log version "
            f"{newest} or later, or say `parity recompute --go-back` if the earlier answer is what you want."
        )


def computed(lake: Lake, result: Result) -> list[Coverage]:
    """What the batch layer has computed, which has to be something."""
    covered = coverage(lake, result)
    if not covered:
        raise NothingToCompare(
            f"The batch layer has not computed {result.id} in {lake.path}. Run `parity recompute` first."
        )
    return covered


def batch_files(lake: Lake, result: Result, covered: Sequence[Coverage]) -> TableFiles:
    """The files of what `read_batch` reads."""
    return table_files(lake, batch_name(result), version=covered[0].table_version)


def read_batch(spark: SparkSession, lake: Lake, result: Result, covered: Sequence[Coverage]) -> DataFrame:
    """The batch layer's answer as the newest run in `covered` left it: a recompute that ends meanwhile does not show."""
    return read_files(spark, lake, batch_name(result), version=covered[0].table_version)


def computed_at(covered: Sequence[Coverage], window_start: Column) -> Column:
    """The log version at which the batch layer last computed a window, `NEVER` for one that it never did."""
    version = F.lit(NEVER)
    for each in reversed(covered):
        version = F.when(each.interval.holds(window_start), F.lit(each.log_version)).otherwise(version)
    return version.cast("long")
