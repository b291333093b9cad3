"""The table `batch_<result>`: its columns, and which interval of it was computed at which version of the log."""

from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any

from pyspark.sql import Column, DataFrame, SparkSession
from pyspark.sql import functions as F
from pyspark.sql.types import LongType, StringType, StructField, StructType, TimestampType

from lakehouse.carrying import carried_on
from lakehouse.commits import commits
from lakehouse.errors import NothingToCompare, ParityError
from lakehouse.lake import Lake
from lakehouse.tables import read_table
from transformations.durations import from_millis, to_millis
from transformations.result import Result

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
    """An interval of a batch table, and the version of the log that it was computed at."""

    interval: Interval
    log_version: int
    table_version: int


def coverage(lake: Lake, result: Result) -> list[Coverage]:
    """What the batch layer has computed, newest first; where two overlap, the newer one holds."""
    name = batch_name(result)
    if not lake.has(name):
        return []
    return [
        Coverage(
            Interval(
                None if said["from"] is None else from_millis(said["from"]),
                None if said["to"] is None else from_millis(said["to"]),
            ),
            said["log_version"],
            said["version"],
        )
        for said in commits(lake, name)
    ]


def still_shown(lake: Lake, result: Result, interval: Interval) -> dict[str, Any]:
    """What a run that replaces `interval` has to carry on: the earlier runs of which it leaves anything to be seen.

    The rows of a run stay as long as no other replaces them, and that can be longer than Delta keeps its commit.
    """
    if not lake.has(batch_name(result)):
        return {}
    replaced, shown = [interval], []
    for each in coverage(lake, result):
        if not any(newer.covers(each.interval.first, each.interval.end) for newer in replaced):
            shown.append(each.table_version)
            replaced.append(each.interval)
    return carried_on(lake, batch_name(result), anchors=shown)


def computed(lake: Lake, result: Result) -> list[Coverage]:
    """What the batch layer has computed, which has to be something."""
    covered = coverage(lake, result)
    if not covered:
        raise NothingToCompare(
            f"The batch layer has not computed {result.id} in {lake.path}. Run `parity recompute` first."
        )
    return covered


def read_batch(spark: SparkSession, lake: Lake, result: Result, covered: list[Coverage]) -> DataFrame:
    """The batch layer's answer as the newest run in `covered` left it: a recompute that ends meanwhile does not show."""
    return read_table(spark, lake, batch_name(result), version=covered[0].table_version)


def computed_at(covered: list[Coverage], window_start: Column) -> Column:
    """The log version at which the batch layer last computed a window, -1 for one that it never did."""
    version = F.lit(-1)
    for each in reversed(covered):
        version = F.when(each.interval.holds(window_start), F.lit(each.log_version)).otherwise(version)
    return version.cast("long")
