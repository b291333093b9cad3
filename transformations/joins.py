"""Joins of two kinds of events within a bound of event time, and windows over what they give.

A join reaches beyond a row's own window, so a row is late by its own time: `event_time <= high_water - D`. The bound is
closed: a click exactly at its end still counts, so a result is settled once `high_water - D` is beyond the end.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import timedelta
from typing import ClassVar, Literal

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F

from .durations import milliseconds
from .shape import (
    Part,
    Revisions,
    Shape,
    bearing_where,
    earlier,
    lasts,
    later,
    of_the_same,
    starts_every,
    touching,
)

BEYOND = timedelta(milliseconds=1)  # the bound is closed, and event time has no finer step


@dataclass(frozen=True)
class Joined(Shape):
    """`[left, left + within]`: each row of the left kind with those of the right that follow it within the bound."""

    name: ClassVar[str] = "interval join"
    called: ClassVar[dict[str, str]] = {
        "Spark": "stream-stream join with a time range",
        "Flink": "interval join",
        "Beam": "CoGroupByKey with state and timers",
    }
    bounds: ClassVar[str] = "[left, left + within], both ends included"
    mode: ClassVar[Literal["update", "append"]] = "append"
    reopens: ClassVar[bool] = True
    within: timedelta

    def in_place(self) -> str:
        return lasts(self.within)

    @property
    def settles_after(self) -> timedelta:
        return BEYOND

    def touched(self, rows: DataFrame, log: DataFrame, by: Sequence[str]) -> DataFrame:  # noqa: ARG002
        return self._around(rows, F.col("event_time"), by)

    def touched_again(self, results: DataFrame, by: Sequence[str]) -> DataFrame:
        return self._around(results, F.col("window_start"), by)

    def _around(self, rows: DataFrame, at: Column, by: Sequence[str]) -> DataFrame:
        first, last = earlier(at, self.within), later(at, self.within)
        return rows.select(*by, at.alias("at"), first.alias("first"), last.alias("last")).distinct()

    def repaired(self, part: Part, touched: DataFrame, by: Sequence[str], revisions: Revisions) -> DataFrame:
        """A left row is touched by itself and by what follows it within the bound."""
        left = F.col("window_start")
        rows = revisions(of_the_same(part.rows, touched, by))
        return touching(rows, touched, by, left, later(left, self.within)).where("hit").drop("hit")

    def bearing(self, events: DataFrame, keys: DataFrame, by: Sequence[str]) -> DataFrame:
        inside = F.col("event.event_time").between(F.col("key.window_start"), F.col("key.window_end"))
        return bearing_where(inside, events, keys, by)


@dataclass(frozen=True)
class WindowedJoin(Shape):
    """Tumbling windows over the left rows of a join: `[start, start + size)`, complete once the bound is over too."""

    name: ClassVar[str] = "window after a join"
    called: ClassVar[dict[str, str]] = {
        "Spark": "chained stateful operators",
        "Flink": "window over an interval join",
        "Beam": "fixed window after CoGroupByKey",
    }
    bounds: ClassVar[str] = "[start, start + size), complete after another within"
    mode: ClassVar[Literal["update", "append"]] = "append"
    reopens: ClassVar[bool] = True
    size: timedelta
    within: timedelta

    def in_place(self) -> str:
        return f"{starts_every(self.size)} and {lasts(self.size)}"

    @property
    def settles_after(self) -> timedelta:
        return self.within + BEYOND

    def touched(self, rows: DataFrame, log: DataFrame, by: Sequence[str]) -> DataFrame:  # noqa: ARG002
        """The windows of every left row that the rows can follow within the bound."""
        size, at = milliseconds(self.size), F.unix_millis("event_time")
        earliest = at - milliseconds(self.within)
        starts = F.sequence(earliest - F.pmod(earliest, F.lit(size)), at - F.pmod(at, F.lit(size)), F.lit(size))
        windows = rows.select(*by, F.explode(starts).alias("start"))
        return self._reach(windows.withColumn("window_start", F.timestamp_millis("start")), by)

    def touched_again(self, results: DataFrame, by: Sequence[str]) -> DataFrame:
        return self._reach(results, by)

    def _reach(self, windows: DataFrame, by: Sequence[str]) -> DataFrame:
        start = F.col("window_start")
        last = later(start, self.size + self.within)
        return windows.select(*by, start, start.alias("first"), last.alias("last")).distinct()

    def repaired(self, part: Part, touched: DataFrame, by: Sequence[str], revisions: Revisions) -> DataFrame:
        windows = F.broadcast(touched.select(*by, "window_start"))
        return revisions(of_the_same(part.rows, touched, by)).join(windows, [*by, "window_start"], "left_semi")

    def bearing(self, events: DataFrame, keys: DataFrame, by: Sequence[str]) -> DataFrame:
        end = later(F.col("key.window_end"), self.within)
        return bearing_where(F.col("event.event_time").between(F.col("key.window_start"), end), events, keys, by)
