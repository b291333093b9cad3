"""The order of arrival: which copy of an event came first, its place in the log, and the high-water mark at it.

Lateness is decided here, once, and written into the log. `place` is the file's place in the order of arrival, `line`
the line's in its file. What is decided does not depend on how they were cut into micro-batches.
"""

from datetime import datetime

from pyspark.sql import DataFrame, Window
from pyspark.sql import functions as F

from .kinds import fields

PLACE = ("place", "line")


def content() -> list[str]:
    """What makes two deliveries of one id honest copies: all but the times of sending and receiving, which a retry has anew."""
    return ["kind", "occurred_at", *fields()]


def with_first(events: DataFrame, known: DataFrame | None) -> DataFrame:
    """`events` with `copy`: null for a first arrival, else whether the content is that of the event the log has.

    `known` are the events of the log that share an id with these, if any. The first arrival wins, over any distance in
    time, and its event time with it: the stamps of another delivery may correct the clock by something else.
    """
    facts = F.struct(*content())
    so_far = Window.partitionBy("event_id").orderBy(*PLACE)
    within = F.when(F.row_number().over(so_far) > 1, F.first(facts).over(so_far))
    if known is None:
        original = within
    else:
        events = events.join(known.select("event_id", facts.alias("logged")), "event_id", "left")
        original = F.coalesce("logged", within)
    return events.withColumn("copy", F.when(original.isNotNull(), original.eqNullSafe(facts))).drop("logged")


def in_order(first: DataFrame, *, high_water: datetime | None, seq: int) -> DataFrame:
    """First arrivals as the log has them: `seq` counts on from `seq`, and `high_water` from the log's own mark.

    Running, not per batch: a backlog that is ingested in one go must not make everything in it late.
    """
    so_far = Window.orderBy(*PLACE).rowsBetween(Window.unboundedPreceding, 0)
    mark = F.max("event_time").over(so_far)
    start = F.lit(high_water).cast("timestamp")
    return first.withColumns(
        {
            "high_water": F.greatest(mark, start),
            "seq": (F.lit(seq) + F.row_number().over(Window.orderBy(*PLACE))).cast("long"),
        }
    )
