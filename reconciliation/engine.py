"""The stream's own part: what its engine settled without repairs, and whether every revision was written once.

A repair recomputes from the log, so it could hide a broken engine. Hence the engine's rows alone are compared with batch
over the rows that were not late.
"""

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F
from pyspark.sql.types import BooleanType, LongType, StructField, StructType

from lakehouse.batches import Interval
from lakehouse.changelogs import Boundary, mark, read_changelog, settled_before
from lakehouse.lake import Lake
from lakehouse.log import log_at
from lakehouse.settings import Settings
from reconciliation.comparison import compared
from reconciliation.pins import Pin
from transformations.changelog import ranking
from transformations.result import Result


def revised(spark: SparkSession, lake: Lake, result: Result, at: Pin) -> DataFrame:
    """For each key `repaired`, and `times`: how often its most repeated revision was written, null if each once."""
    if not isinstance(at.boundary, Boundary):
        identity = [field for field in result.schema if field.name in result.identity]
        stamps = [StructField("repaired", BooleanType()), StructField("times", LongType())]
        return spark.createDataFrame([], StructType([*identity, *stamps]))
    revisions = read_changelog(spark, lake, result, at.boundary).where(F.col("epoch") == at.boundary.epoch)
    written = revisions.groupBy(*result.identity, "log_version", "cause").agg(F.count(F.lit(1)).alias("times"))
    most = F.max("times")
    return written.groupBy(*result.identity).agg(
        F.bool_or(F.col("cause") != "on_time").alias("repaired"), F.when(most > 1, most).alias("times")
    )


def wrong_by_itself(
    spark: SparkSession, lake: Lake, result: Result, settings: Settings, at: Pin, interval: Interval
) -> int | None:
    """How many of the engine's own settled rows in the interval differ from batch over the rows on time."""
    if not isinstance(at.boundary, Boundary) or result.way != "engine":
        return None
    own = read_changelog(spark, lake, result, at.boundary).where("cause = 'on_time'")
    engine = ranking(own, result, epoch=at.boundary.epoch, log_version=at.log_version).where("not deleted")
    allowed = settings.lateness.allowed
    expected = result.on_time(log_at(spark, lake, at.log_version), allowed).where(result.present)
    done = result.settled(F.lit(at.settled_before(allowed)))
    if at.boundary.history is not None:
        done &= ~result.settled(F.lit(settled_before(mark(lake, at.boundary.history), allowed)))
    beyond = F.coalesce(F.col("window_end") <= F.lit(at.high_water - settings.retention.horizon), F.lit(False))
    both = compared(expected, engine, result, tolerance={})
    return both.where(done & ~beyond & interval.holds(F.col("window_start")) & (F.size("differing") > 0)).count()
