"""When a row is late for a result, and when a result is settled: properties of the log, the same for every reader.

`high_water` is the greatest event time among the rows that arrived up to and including a row; ingestion writes it into
the log. D is the allowed lateness. Spark's own rule, a watermark that moves with the micro-batches, never decides.
"""

from datetime import timedelta

from pyspark.sql import Column
from pyspark.sql import functions as F

from .windows import Tumbling, earlier


def late(window: Tumbling, allowed: timedelta) -> Column:
    """Whether a row of the log is late: its window ended at or before `high_water - D`."""
    return window.end(F.col("event_time")) <= earlier(F.col("high_water"), allowed)


def settled(window_end: Column, high_water: Column, allowed: timedelta) -> Column:
    """Whether only late rows can still change a result: its window ended at or before `high_water - D`."""
    return window_end <= earlier(high_water, allowed)
