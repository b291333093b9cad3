"""The log delivered once more, with a stretch of it held back, as if what reads it were redeployed.

What would have been processed in `[start, until)` is processed at `until`, as a backlog that is read one partition after
another. The delay is behind the gateway that stamps `received_at`, so event times stay those of the log.
"""

from dataclasses import dataclass

from pyspark.sql import Column, DataFrame, Window
from pyspark.sql import functions as F

from lakehouse.control import processing_time

PARTITIONS = 4  # of the backlog
AS_RECEIVED, HELD_BACK = DELIVERIES = ("as_received", "held_back")


@dataclass(frozen=True)
class Hold:
    """`[start, until)` of processing time, in milliseconds, and the first and the last `seq` of what falls into it."""

    start: int
    until: int
    first: int
    last: int


def busiest(log: DataFrame, scored: Column, length: int) -> Hold | None:
    """The stretch of `length` with the most `scored` events, or none where there is no such event.

    Those that nobody stamped come second: they were processed at their ingestion, in a heap.
    """
    processed = F.unix_millis(processing_time())
    stretches = log.groupBy((processed - F.pmod(processed, F.lit(length))).alias("start")).agg(
        F.count_if(scored & F.col("received_at").isNotNull()).alias("stamped"),
        F.count_if(scored).alias("scored"),
        F.min("seq").alias("first"),
        F.max("seq").alias("last"),
    )
    row = stretches.where("scored > 0").orderBy(F.desc("stamped"), F.desc("scored"), "start").first()
    return None if row is None else Hold(row["start"], row["start"] + length, row["first"], row["last"])


def delivered(log: DataFrame, hold: Hold, shown: range, *, by: str) -> DataFrame:
    """The events that occurred or were processed in the time shown, once for each `delivery`: whether an event `waits`,
    when it is `processed`, and the `high_water` mark by then.

    As received, the mark is the log's own. What waits, partitioned `by` a column, moves behind the last that does, so the other
    mark is the log's own too, except from the first that waits to the last.
    """
    seq, processed = F.col("seq"), F.unix_millis(processing_time())
    waits = processed.between(hold.start, hold.until - 1)
    near = [time.between(shown.start, shown.stop - 1) for time in (processed, F.unix_millis("event_time"))]
    place = F.when(waits, hold.last).otherwise(seq)
    partition = F.when(waits, F.pmod(F.hash(by), F.lit(PARTITIONS)))
    so_far = Window.orderBy(place, partition, seq).rowsBetween(Window.unboundedPreceding, 0)
    known = F.when(seq.between(hold.first, hold.last), F.col("event_time")).otherwise(F.col("high_water"))
    marked = log.where(near[0] | near[1] | seq.between(hold.first - 1, hold.last)).withColumns(
        {"waits": waits, "processed": processed, "mark": F.max(known).over(so_far)}
    )
    both = marked.withColumn("delivery", F.explode(F.array(*map(F.lit, DELIVERIES))))
    held = F.col("delivery") == HELD_BACK
    return both.withColumns(
        {
            "processed": F.when(held & F.col("waits"), hold.until).otherwise(F.col("processed")),
            "high_water": F.when(held, F.col("mark")).otherwise(F.col("high_water")),
        }
    )
