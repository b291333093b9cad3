"""True sliding windows: one for each event, the stretch up to and including it. Spark has no operator for them.

What a row of such a result is also depends on the event before it, wherever that lies. So the stretch to read is only
known when that event has been found.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import timedelta
from typing import ClassVar

from pyspark.sql import DataFrame, Window
from pyspark.sql import functions as F

from .shape import Part, Revisions, Shape, bearing_where, earlier, lasts, later, of_the_same, touching

INSTANT = timedelta(milliseconds=1)
LOOKED_BACK = 60  # sizes, in which the event before is looked for where a difference is explained


@dataclass(frozen=True)
class Sliding(Shape):
    """`[t + 1 ms - size, t + 1 ms)` for an event at `t`: it ends with the event and does not reach a whole size back."""

    name: ClassVar[str] = "sliding window"
    called: ClassVar[dict[str, str]] = {
        "Spark": "none on a stream; a range frame in batch",
        "Flink": "OVER window",
        "Beam": "none; state and timers",
    }
    bounds: ClassVar[str] = "[event + 1 ms - size, event + 1 ms)"
    chained: ClassVar[bool] = True
    whole: ClassVar[bool] = True
    size: timedelta

    def in_place(self) -> str:
        return lasts(self.size)

    def finished(self, rows: DataFrame) -> DataFrame:
        end = later(F.col("event_time"), INSTANT)
        return rows.withColumns({"window_start": earlier(end, self.size), "window_end": end})

    def touched(self, rows: DataFrame, log: DataFrame, by: Sequence[str]) -> DataFrame:  # noqa: ARG002
        at = F.col("event_time")
        first, last = earlier(at, 4 * self.size), later(at, 4 * self.size)
        return rows.select(*by, at.alias("at"), first.alias("first"), last.alias("last")).distinct()

    def repaired(self, part: Part, touched: DataFrame, by: Sequence[str], revisions: Revisions) -> DataFrame:
        """The events less than a size after a touched moment, and the one that follows them."""
        order = Window.partitionBy(*by).orderBy("window_end", "event_id")
        end, before_end = F.col("window_end"), F.lag("window_end").over(order)
        rows = revisions(of_the_same(part.rows, touched, by))
        rows = touching(rows, touched, by, earlier(end, self.size), earlier(end, INSTANT)).withColumns(
            {
                "before_hit": F.coalesce(F.lag("hit").over(order), F.lit(False)),
                "cut_before": before_end.isNull() | (earlier(before_end, self.size) < F.lit(part.first)),
                "cut_after": F.lead("window_end").over(order).isNull(),
            }
        )
        return rows.where("hit or before_hit").drop("hit", "before_hit")

    def bearing(self, events: DataFrame, keys: DataFrame, by: Sequence[str]) -> DataFrame:
        earliest = earlier(F.col("key.window_start"), LOOKED_BACK * self.size)
        at = F.col("event.event_time")
        return bearing_where((at >= earliest) & (at < F.col("key.window_end")), events, keys, by)
