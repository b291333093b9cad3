"""The declaration of a result. Stream, repair, batch, views and reconciliation all follow from it."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F
from pyspark.sql.types import DataType, StringType, StructField, StructType, TimestampType

from .lateness import late
from .windows import Tumbling

Compute = Callable[[DataFrame, Tumbling, Sequence[str]], DataFrame]


@dataclass(frozen=True)
class Value:
    """One value column of a result."""

    name: str
    type: DataType
    meaning: str


@dataclass(frozen=True, kw_only=True)
class Result:
    """A result per key and window. `compute` serves a streaming and a static DataFrame alike.

    `compute(events, window, alongside)` groups by the key, the window and the columns `alongside` (the reconciliation
    puts a hypothesis there, to try many at once) and returns them with `window_start`, `window_end` and the values.
    `present` is a predicate over the values, for results that can vanish again; rows without it do not exist.
    """

    name: str
    meaning: str
    kinds: tuple[str, ...]
    key: tuple[str, ...]
    values: tuple[Value, ...]
    window: Tumbling
    compute: Compute
    present: str = "true"
    version: int = 1

    @property
    def id(self) -> str:
        """Name and version: what tables, checkpoints and transaction ids carry."""
        return f"{self.name}@{self.version}"

    @property
    def identity(self) -> tuple[str, ...]:
        """The columns that tell one row of the result from another."""
        return (*self.key, "window_start")

    @property
    def columns(self) -> tuple[str, ...]:
        return (*self.key, "window_start", "window_end", *self.value_names)

    @property
    def value_names(self) -> tuple[str, ...]:
        return tuple(value.name for value in self.values)

    @property
    def schema(self) -> StructType:
        keys = [StructField(name, StringType()) for name in self.key]
        window = [StructField("window_start", TimestampType()), StructField("window_end", TimestampType())]
        return StructType([*keys, *window, *(StructField(value.name, value.type) for value in self.values)])

    def of(self, events: DataFrame, alongside: Sequence[str] = ()) -> DataFrame:
        """The result over `events`, which are rows of the log of any kind, without what is not present."""
        return self.revisions(events, alongside).where(self.present)

    def revisions(self, events: DataFrame, alongside: Sequence[str] = ()) -> DataFrame:
        """The result over `events` with a row for every key and window they touch, present or not."""
        relevant = events.where(self.concerns())
        columns = (*alongside, *self.columns)
        return self.compute(relevant, self.window, alongside).select(*columns)

    def concerns(self) -> Column:
        """Whether a row of the log is of a kind that this result reads.

        The predicate mentions the event time so that Spark does not push it below `withWatermark`: the watermark then
        follows every kind, and a heartbeat moves it.
        """
        return F.when(F.col("event_time").isNotNull(), F.col("kind").isin(*self.kinds)).otherwise(False)

    def late(self, allowed: timedelta) -> Column:
        """Whether a row of the log came too late for the engine to own its result."""
        return late(self.window, allowed)

    def within(self, first: datetime, last: datetime) -> Column:
        """Whether a row of the log can bear upon a window that starts in `[first, last]`; Delta skips files by it."""
        return F.col("event_time").between(F.lit(first), F.lit(last + self.window.size))

    def touched(self, events: DataFrame) -> DataFrame:
        """The identities of the rows of this result that `events` bear upon."""
        start = self.window.start(F.col("event_time")).alias("window_start")
        return events.where(self.concerns()).select(*self.key, start).distinct()

    def bearing_on(self, events: DataFrame, identities: DataFrame) -> DataFrame:
        """Those of `events` that bear upon the rows named by `identities`: all that is needed to compute them."""
        placed = events.where(self.concerns()).withColumn("window_start", self.window.start(F.col("event_time")))
        return placed.join(F.broadcast(identities), list(self.identity), "left_semi").drop("window_start")
