"""Which windows an event of the log belongs to, by other code than that of the results: a sum is checked by it.

Each shape is placed by the start of its window, because that is what an interval of the batch layer is of. What an event
far away decides (whether a session began before) is found within `before` and `after`.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import timedelta

from pyspark.sql import DataFrame, Window
from pyspark.sql import functions as F

from transformations.durations import milliseconds
from transformations.joins import Joined, WindowedJoin
from transformations.lifetime import BEGINNING, Lifetime
from transformations.sessions import Session
from transformations.shape import Shape
from transformations.windows import Hopping, Tumbling

Starts = Callable[[DataFrame, Sequence[str]], DataFrame]
"""Events with `window_start`, once for each window that they are in. The columns tell apart what has windows of its own."""


@dataclass(frozen=True)
class Placing:
    """How to find the windows that start in a stretch, from the events between `before` it and `after` it."""

    starts: Starts
    before: timedelta = timedelta()
    after: timedelta = timedelta()
    everywhere: bool = False
    """Whether any event may be in any window."""


def placing(shape: Shape) -> Placing | None:
    """How a shape is placed; none if nobody has said it here, and a sum cannot be checked then."""
    if isinstance(shape, Lifetime):
        return Placing(lambda events, _: events.withColumn("window_start", F.lit(BEGINNING)), everywhere=True)
    if isinstance(shape, Session):
        return Placing(lambda events, by: _chained(events, by, shape.gap), before=shape.gap, after=shape.gap)
    if isinstance(shape, Joined):
        return Placing(lambda events, _: events.withColumn("window_start", F.col("event_time")))
    if isinstance(shape, Hopping):
        return Placing(lambda events, _: _hopping(events, shape.size, shape.slide), after=shape.size)
    if isinstance(shape, Tumbling | WindowedJoin):
        return Placing(lambda events, _: _hopping(events, shape.size, shape.size), after=shape.size)
    return None


def _hopping(events: DataFrame, size: timedelta, slide: timedelta) -> DataFrame:
    """Every multiple of `slide` from which on a window of `size` holds the event, `[start, start + size)`."""
    at, step = F.unix_millis("event_time"), milliseconds(slide)
    last = at - F.pmod(at, F.lit(step))
    most = -(-milliseconds(size) // step)
    starts = F.explode(F.sequence(last - F.lit((most - 1) * step), last, F.lit(step)))
    return (
        events.withColumn("_start", starts)
        .where(F.col("_start") + milliseconds(size) > at)
        .withColumn("window_start", F.timestamp_millis("_start"))
    )


def _chained(events: DataFrame, by: Sequence[str], gap: timedelta) -> DataFrame:
    """The first event of the chain in which no two lie more than `gap` apart."""
    order = Window.partitionBy(*by).orderBy("event_time")
    apart = F.unix_millis("event_time") - F.unix_millis(F.lag("event_time").over(order))
    begins = F.when(apart.isNull() | (apart > milliseconds(gap)), F.col("event_time"))
    so_far = order.rowsBetween(Window.unboundedPreceding, 0)
    return events.withColumn("_begins", begins).withColumn(
        "window_start", F.last("_begins", ignorenulls=True).over(so_far)
    )
