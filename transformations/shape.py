"""The shape of a result in event time: what a row of the log bears upon, when it is late, when a result is settled.

These are properties of the log, the same for every reader. `high_water` is the greatest event time among the rows that
arrived up to and including a row; ingestion writes it into the log. D is the allowed lateness. Spark's own rule, a
watermark that moves with the micro-batches, never decides.

A shape also says what a repair needs. `touched` names the results that some rows bear upon, each with the stretch of
event time `[first, last]` that it reaches: nothing outside it is read. `repaired` computes them from that stretch.
"""

from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from dataclasses import dataclass, fields
from datetime import datetime, timedelta
from typing import ClassVar, Literal

from pyspark.sql import Column, DataFrame, Window
from pyspark.sql import functions as F

from .durations import milliseconds, written

Revisions = Callable[[DataFrame], DataFrame]
"""The result over rows of the log, with a row for all that they touch, present or not."""


def earlier(moment: Column, by: timedelta) -> Column:
    """`moment - by`."""
    return F.timestamp_millis(F.unix_millis(moment) - F.lit(milliseconds(by)))


def later(moment: Column, by: timedelta) -> Column:
    """`moment + by`."""
    return earlier(moment, -by)


@dataclass(frozen=True)
class Part:
    """The placed rows of the log in `[first, last]`."""

    rows: DataFrame
    first: datetime
    last: datetime


@dataclass(frozen=True)
class Shape(ABC):
    """A shape and its durations, which are what the settings can change of a result.

    A shape that treats kinds differently has their names too, from the declaration of the result.
    """

    name: ClassVar[str]
    """What the books call it."""

    called: ClassVar[dict[str, str]]
    """What Spark, Flink and Beam call it."""

    bounds: ClassVar[str]
    """The stretch of event time of a row, as an interval."""

    mode: ClassVar[Literal["update", "append"]] = "update"
    """Whether the engine tells a result at every change, or once, when its watermark has passed it."""

    reopens: ClassVar[bool] = False
    """Whether a late row can touch a result that is not settled yet. Its repair is then repeated until it is."""

    takes_late: ClassVar[bool] = False
    """Whether the engine gets late rows too, as long as its state holds their window. What Spark drops is known exactly then:
    the rows of windows that ended at or before a bound, which the micro-batch finds in its checkpoint."""

    chained: ClassVar[bool] = False
    """Whether a result reaches as far as its rows lie close together, which only reading them can tell."""

    looks_ahead: ClassVar[bool] = False
    """Whether what a row touches depends on later rows of the log."""

    endless: ClassVar[bool] = False
    """Whether a result is never over: every later row of its key belongs to it."""

    whole: ClassVar[bool] = False
    """Whether a result may need any row of the log, however old."""

    def __post_init__(self) -> None:
        for name, duration in self.durations.items():
            if milliseconds(duration) <= 0:
                raise ValueError(f"a window needs a {name} above zero, not {duration}")

    @property
    def durations(self) -> dict[str, timedelta]:
        values = {each.name: getattr(self, each.name) for each in fields(self)}
        return {name: value for name, value in values.items() if isinstance(value, timedelta)}

    @property
    def parameters(self) -> dict[str, str]:
        return {name: written(value) for name, value in self.durations.items()}

    @property
    def reach(self) -> timedelta | None:
        """How far from its own time an event's results reach; none if that depends on the events around it."""
        return None

    @property
    def ends_by_itself(self) -> bool:
        """Whether the end of a window follows from its start; where it does not, it is compared like a value."""
        return True

    @property
    def times_counted(self) -> int | None:
        """In how many windows each event is; none if that differs from event to event."""
        return 1

    @abstractmethod
    def in_place(self) -> str:
        """Whether `window_start` and `window_end` of a row are where this shape puts them, as an SQL predicate."""

    def placed(self, events: DataFrame) -> DataFrame:
        """Rows of the log with the `window` they belong to, one row for each; without windows, as they are."""
        return events

    def finished(self, rows: DataFrame) -> DataFrame:
        """Computed rows with `window_start` and `window_end`."""
        return rows

    def deadline(self) -> Column:
        """The moment of event time that decides over a placed row: late once `high_water - D` has reached it."""
        return F.col("event_time")

    def late(self, allowed: timedelta) -> Column:
        """Whether a placed row came too late for the engine to own its result."""
        return self.deadline() <= earlier(F.col("high_water"), allowed)

    def ended(self, bound: datetime) -> Column:
        """Whether what a placed row belongs to had ended at or before the bound."""
        return self.deadline() <= F.lit(bound)

    @property
    def settles_after(self) -> timedelta:
        """How long after its end a row of the result can still change by rows that are not late."""
        return timedelta()

    def settles(self) -> Column:
        """The moment of event time that decides over a row of the result: settled once `high_water - D` has reached it."""
        end = F.col("window_end")
        return later(end, self.settles_after) if self.settles_after else end

    def settled(self, before: Column) -> Column:
        """Whether only late rows can still change a row of the result; `before` is `high_water - D`."""
        return self.settles() <= before

    @abstractmethod
    def touched(self, rows: DataFrame, log: DataFrame, by: Sequence[str]) -> DataFrame:
        """What `rows` of the log bear upon: the columns `by`, the window or the moment, and `first` and `last`.

        Both are placed, and `log` has what counts for the result and nothing else.
        """

    def touched_again(self, results: DataFrame, by: Sequence[str]) -> DataFrame:
        """The same for rows of the result; only for shapes that reopen."""
        raise NotImplementedError(f"a repair of a {self.name} result is settled at once")

    def reads(self, first: datetime, last: datetime) -> Column:
        """Whether a row of the log is in the stretch that is read; Delta skips files by it."""
        return F.col("event_time").between(F.lit(first), F.lit(last))

    @abstractmethod
    def repaired(self, part: Part, touched: DataFrame, by: Sequence[str], revisions: Revisions) -> DataFrame:
        """The touched results, from a part of the log.

        Chained shapes add `cut_before` and `cut_after`: whether the row could be another if the part were longer.
        """

    @abstractmethod
    def bearing(self, events: DataFrame, keys: DataFrame, by: Sequence[str]) -> DataFrame:
        """Each of `events` once for each of `keys` that it can bear upon, placed, with the key's column `about`.

        `keys` have `about`, the columns `by`, `window_start` and `window_end`. It may name too many events for a key,
        never too few.
        """


def lasts(length: timedelta) -> str:
    """Whether a window is so long, as an SQL predicate."""
    return f"timestampdiff(MICROSECOND, window_start, window_end) = {milliseconds(length) * 1000}"


def starts_every(step: timedelta) -> str:
    """Whether a window starts on a multiple of `step` since 1970-01-01T00:00Z, as an SQL predicate."""
    return f"pmod(unix_micros(window_start), {milliseconds(step) * 1000}) = 0"


def of_the_same(rows: DataFrame, touched: DataFrame, by: Sequence[str]) -> DataFrame:
    """The rows that share their columns `by` with one of `touched`."""
    if not by:
        return rows
    return rows.join(F.broadcast(touched.select(*by).distinct()), list(by), "left_semi")


def touching(rows: DataFrame, touched: DataFrame, by: Sequence[str], first: Column, last: Column) -> DataFrame:
    """The rows with `hit`: whether a touched moment of the same columns `by` lies in `[first, last]` of the row.

    Both are sorted together once. A join would compare each row with each moment: of a day of 20,000 events that took 8
    CPU seconds for a sliding window, four times what the result itself takes.
    """
    moments = touched.select(*by, F.col("at").alias("moment"))
    both = rows.withColumns({"hit_since": first, "sorted_at": last}).unionByName(
        moments.withColumn("sorted_at", F.col("moment")), allowMissingColumns=True
    )
    order = Window.partitionBy(*by).orderBy("sorted_at", F.col("moment").isNull())  # a moment at the end is within
    latest = F.max("moment").over(order.rowsBetween(Window.unboundedPreceding, Window.currentRow))
    hit = F.coalesce(latest >= F.col("hit_since"), F.lit(False))
    return both.withColumn("hit", hit).where("moment is null").drop("moment", "hit_since", "sorted_at")


def bearing_where(condition: Column, events: DataFrame, keys: DataFrame, by: Sequence[str]) -> DataFrame:
    """Each event (`event`) once for each of the keys (`key`) that it meets by the columns `by` and the condition."""
    for name in by:
        condition &= F.col(f"event.{name}") == F.col(f"key.{name}")
    return events.alias("event").join(F.broadcast(keys.alias("key")), condition).select("event.*", "key.about")
