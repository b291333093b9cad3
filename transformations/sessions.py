"""Session windows: the events of a key that lie at most a gap apart. They grow and merge, and never split.

Spark 4.2 gives wrong rows when one filters on the start or end of a `session_window`, so a session's start and end are
aggregated: the first event, and the last plus the gap.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import timedelta
from typing import ClassVar, Literal

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F

from .durations import milliseconds, written
from .shape import Part, Revisions, Shape, bearing_where, earlier, later, of_the_same, touching


@dataclass(frozen=True)
class Session(Shape):
    """`[first event, last event + gap]`: events exactly one gap apart belong together."""

    name: ClassVar[str] = "session window"
    called: ClassVar[dict[str, str]] = {"Spark": "session", "Flink": "session", "Beam": "session"}
    bounds: ClassVar[str] = "[first event, last event + gap], events one gap apart included"
    mode: ClassVar[Literal["update", "append"]] = "append"
    reopens: ClassVar[bool] = True
    chained: ClassVar[bool] = True
    whole: ClassVar[bool] = True
    gap: timedelta

    def in_place(self) -> str:
        return f"timestampdiff(MICROSECOND, window_start, window_end) >= {milliseconds(self.gap) * 1000}"

    @property
    def ends_by_itself(self) -> bool:
        return False

    def window(self) -> Column:
        """The session as a grouping key."""
        return F.session_window("event_time", written(self.gap)).alias("session")

    def finished(self, rows: DataFrame) -> DataFrame:
        """`rows` have been grouped by the session, with `first_at` and `last_at` among the aggregates."""
        return rows.withColumns({"window_start": F.col("first_at"), "window_end": later(F.col("last_at"), self.gap)})

    def touched(self, rows: DataFrame, log: DataFrame, by: Sequence[str]) -> DataFrame:  # noqa: ARG002
        return self._around(rows, F.col("event_time"), by)

    def touched_again(self, results: DataFrame, by: Sequence[str]) -> DataFrame:
        return self._around(results, F.col("window_start"), by)

    def _around(self, rows: DataFrame, at: Column, by: Sequence[str]) -> DataFrame:
        first, last = earlier(at, 4 * self.gap), later(at, 4 * self.gap)
        return rows.select(*by, at.alias("at"), first.alias("first"), last.alias("last")).distinct()

    def repaired(self, part: Part, touched: DataFrame, by: Sequence[str], revisions: Revisions) -> DataFrame:
        """The sessions that hold a touched moment. One that comes near the edge of the part may go on behind it."""
        sessions = revisions(of_the_same(part.rows, touched, by))
        held = touching(sessions, touched, by, F.col("window_start"), F.col("window_end")).where("hit").drop("hit")
        return held.withColumns(
            {
                "cut_before": earlier(F.col("window_start"), self.gap) < F.lit(part.first),
                "cut_after": F.col("window_end") > F.lit(part.last),
            }
        )

    def bearing(self, events: DataFrame, keys: DataFrame, by: Sequence[str]) -> DataFrame:
        """A row within a gap of the session on either side would have become part of it."""
        near = F.col("event.event_time").between(earlier(F.col("key.window_start"), self.gap), F.col("key.window_end"))
        return bearing_where(near, events, keys, by)
