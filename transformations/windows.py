"""Windows of one size, aligned to 1970-01-01T00:00Z: tumbling and hopping. They are half-open, `[start, end)`.

An event on the boundary belongs to the later window. A row is late for a window that ended at or before
`high_water - D`; of the hopping windows that hold a row it can be late for some and in time for others.

In micro-batch b Spark drops the rows of windows that ended at or before its watermark of micro-batch b - 1, and no others. So
late rows need not be kept from the engine: it counts them while it holds their window, and the rest is repaired.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import timedelta
from typing import ClassVar

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F

from .durations import milliseconds, written
from .shape import Part, Revisions, Shape, lasts, later, starts_every


@dataclass(frozen=True)
class Aligned(Shape):
    """What tumbling and hopping windows have in common."""

    takes_late: ClassVar[bool] = True
    size: timedelta

    @property
    def reach(self) -> timedelta | None:
        return self.size

    def window(self) -> Column:
        """The window of an event. It has to be Spark's own: the engine's watermark works on nothing else."""
        return F.window("event_time", written(self.size))

    def in_place(self) -> str:
        return f"{starts_every(self.size)} and {lasts(self.size)}"

    def placed(self, events: DataFrame) -> DataFrame:
        return events.withColumn("window", self.window())

    def finished(self, rows: DataFrame) -> DataFrame:
        return rows.withColumns({"window_start": F.col("window.start"), "window_end": F.col("window.end")})

    def deadline(self) -> Column:
        return F.col("window.end")

    def touched(self, rows: DataFrame, log: DataFrame, by: Sequence[str]) -> DataFrame:  # noqa: ARG002
        start, end = F.col("window.start"), F.col("window.end")
        return rows.select(*by, start.alias("window_start"), start.alias("first"), end.alias("last")).distinct()

    def repaired(self, part: Part, touched: DataFrame, by: Sequence[str], revisions: Revisions) -> DataFrame:
        windows = touched.select(*by, "window_start")
        mine = self._with_start(part.rows).join(F.broadcast(windows), [*by, "window_start"], "left_semi")
        return revisions(mine.drop("window_start"))

    def bearing(self, events: DataFrame, keys: DataFrame, by: Sequence[str]) -> DataFrame:
        windows = keys.select("about", *by, "window_start")
        placed = self._with_start(self.placed(events))
        return placed.join(F.broadcast(windows), [*by, "window_start"]).drop("window_start")

    def _with_start(self, placed: DataFrame) -> DataFrame:
        return placed.withColumn("window_start", F.col("window.start"))


@dataclass(frozen=True)
class Tumbling(Aligned):
    """Windows side by side: each event is in one."""

    name: ClassVar[str] = "tumbling window"
    called: ClassVar[dict[str, str]] = {"Spark": "tumbling", "Flink": "tumbling", "Beam": "fixed"}
    bounds: ClassVar[str] = "[start, start + size)"

    def start(self, event_time: Column) -> Column:
        """The start of the window that holds `event_time`, as plain arithmetic for rows that are not grouped."""
        size = F.lit(milliseconds(self.size))
        return F.timestamp_millis(F.unix_millis(event_time) - F.pmod(F.unix_millis(event_time), size))

    def end(self, event_time: Column) -> Column:
        """The end of the window that holds `event_time`; the window does not contain it."""
        return later(self.start(event_time), self.size)


@dataclass(frozen=True)
class Hopping(Aligned):
    """Windows of one size that begin every `slide`: an event is in `size / slide` of them."""

    name: ClassVar[str] = "hopping window"
    called: ClassVar[dict[str, str]] = {"Spark": "sliding", "Flink": "hopping (SQL), sliding (API)", "Beam": "sliding"}
    bounds: ClassVar[str] = "[start, start + size), one every slide"
    slide: timedelta

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.slide > self.size:
            raise ValueError(f"windows of {self.size} that begin every {self.slide} would leave events out")

    @property
    def times_counted(self) -> int | None:
        count, rest = divmod(self.size, self.slide)
        return None if rest else count

    def in_place(self) -> str:
        return f"{starts_every(self.slide)} and {lasts(self.size)}"

    def window(self) -> Column:
        return F.window("event_time", written(self.size), written(self.slide))


@dataclass(frozen=True)
class CountWithin(Tumbling):
    """Windows of so many events, counted anew in each window of time: without that, one late event would move all."""

    name: ClassVar[str] = "count window"
    called: ClassVar[dict[str, str]] = {
        "Spark": "none on a stream",
        "Flink": "count window, by arrival",
        "Beam": "none; a trigger after a count",
    }
    bounds: ClassVar[str] = "every so many events within [start, start + size)"
