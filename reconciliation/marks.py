"""The high-water mark over the clock of arrival: when the log got where.

The clock is `received_at`, running forward in the order of arrival; a row without one came when those before it did. Only
a log that has none goes by `ingested_at`, which for a backlog is long after.

The mark is kept to a step of some seconds: as many entries as there are such steps in which it rose, at most one an
event. They are held in the driver, some 200 bytes each.
"""

from bisect import bisect_left
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from pyspark.sql import DataFrame
from pyspark.sql import functions as F

Clock = Literal["received_at", "ingested_at"]


@dataclass(frozen=True)
class Marks:
    """The marks in ascending order, each with the time on the clock when it was first reached, in milliseconds."""

    clock: Clock
    marks: Sequence[int]
    reached: Sequence[int]

    def when(self, moment: int) -> int | None:
        """The time on the clock when the mark reached `moment`, to the step; none if it has not."""
        index = bisect_left(self.marks, moment)
        return self.reached[index] if index < len(self.marks) else None


def marks(log: DataFrame, step: int) -> Marks:
    """The marks of the log. The mark never falls, so the rows of one lie together, and the clock runs over marks as it
    does over rows."""
    received = _running(log, "received_at", step)
    return received if received.marks else _running(log, "ingested_at", step)


def _running(log: DataFrame, clock: Clock, step: int) -> Marks:
    """Marks from before the clock is known are left out."""
    mark = (F.floor(F.unix_millis("high_water") / step) * step).alias("mark")
    at = F.unix_millis(clock)
    marked = log.groupBy(mark).agg(F.min_by(at, "seq").alias("first"), F.max(at).alias("last"))
    reached: dict[int, int] = {}
    now = -1
    for row in marked.orderBy("mark").collect():
        first = max(now, -1 if row["first"] is None else row["first"])
        if first >= 0:
            reached[row["mark"]] = first
        now = max(now, -1 if row["last"] is None else row["last"])
    return Marks(clock, list(reached), list(reached.values()))
