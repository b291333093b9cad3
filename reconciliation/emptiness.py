"""A result without a row: whether that is the answer, or a sign that there is none."""

from pyspark.sql import SparkSession
from pyspark.sql import functions as F

from lakehouse.batches import Coverage, Interval, stretches
from lakehouse.lake import Lake
from lakehouse.log import log_at
from lakehouse.settings import Settings
from reconciliation.pins import Pin
from transformations.result import Result


def nothing_to_compute(
    spark: SparkSession,
    lake: Lake,
    result: Result,
    settings: Settings,
    at: Pin,
    covered: list[Coverage],
    interval: Interval,
) -> bool:
    """Whether the log gives the interval no row, so that having none is the right answer of both sides.

    Events alone do not make a row: none need be what the result counts. So it is computed what they make. What the batch
    layer never computed is not known to be empty.
    """
    if not all(run is not None for stretch, run in stretches(covered) if stretch.meets(interval)):
        return False
    rows = result.of(log_at(spark, lake, at.log_version, whole=True).where(interval.needs(result)))
    beyond = F.coalesce(F.col("window_end") <= F.lit(at.high_water - settings.retention.horizon), F.lit(False))
    return rows.where(interval.holds(F.col("window_start")) & ~beyond).isEmpty()
