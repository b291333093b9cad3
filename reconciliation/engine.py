"""The stream's own part: what its engine settled without repairs, and whether every revision was written once.

A repair recomputes from the log, so it could hide a broken engine. Hence the engine's rows alone are compared with batch
over the rows that it must have counted: those that were not late or, where it gets late ones too, those that it cannot have
dropped.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from itertools import chain, pairwise

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F
from pyspark.sql.types import BooleanType, LongType, StructField, StructType

from lakehouse.batches import Interval
from lakehouse.changelogs import Boundary, every_boundary, mark, read_changelog, settled_before
from lakehouse.errors import Forgotten
from lakehouse.lake import Lake
from lakehouse.log import log_at, position
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
    """How many of the engine's own settled rows in the interval differ from batch over the rows that it must have counted."""
    if not isinstance(at.boundary, Boundary) or result.way != "engine":
        return None
    own = read_changelog(spark, lake, result, at.boundary).where("cause = 'on_time'")
    engine = ranking(own, result, epoch=at.boundary.epoch, log_version=at.log_version).where("not deleted")
    allowed, hold = settings.lateness.allowed, settings.lateness.hold_of(result)
    log = log_at(spark, lake, at.log_version)
    done = result.settled(F.lit(at.settled_before(allowed)))
    if hold is None:
        counted = result.counted(log, allowed)
    else:
        slices = _slices(lake, result, at.boundary)
        counted = _not_dropped(spark, result.placed(log), result, slices, hold)
        done &= F.col("window_end") > F.lit(slices[0].bound)
    if at.boundary.history is not None:
        done &= ~result.settled(F.lit(settled_before(mark(lake, at.boundary.history), allowed)))
    beyond = F.coalesce(F.col("window_end") <= F.lit(at.high_water - settings.retention.horizon), F.lit(False))
    both = compared(result.computed(counted).where(result.present), engine, result, tolerance={})
    return both.where(done & ~beyond & interval.holds(F.col("window_start")) & (F.size("differing") > 0)).count()


@dataclass(frozen=True)
class EngineSlice:
    """The rows `(after, until]` of the log, by `seq`: in windows that ended at or before the bound the engine dropped them."""

    after: int
    until: int
    bound: datetime


def _slices(lake: Lake, result: Result, at: Boundary) -> list[EngineSlice]:
    """The micro-batches of the boundary's epoch, oldest first, as far back as all commits are known.

    A window that ended after the oldest bound was held all the time before: nothing of it was dropped there. So only windows
    that ended later are judged, and what lies before the oldest micro-batch counts as part of it.
    """
    own = (each for each in every_boundary(lake, result) if each.epoch == at.epoch and each.batch <= at.batch)
    found: list[EngineSlice] = []
    for each, before in pairwise(chain(own, [None])):
        assert each is not None and each.bound is not None, (
            "every commit of an engine that gets late rows has its bound"
        )
        after = None if before is None or before.batch != each.batch - 1 else _last_seq(lake, before.log_version)
        found.append(EngineSlice(after or 0, position(lake, each.log_version).seq, each.bound))
        if after is None:
            break
    return found[::-1]


def _last_seq(lake: Lake, version: int) -> int | None:
    """The last `seq` of the log at a version, none if that is forgotten."""
    try:
        return position(lake, version).seq
    except Forgotten:
        return None


def _not_dropped(
    spark: SparkSession, placed: DataFrame, result: Result, slices: Sequence[EngineSlice], hold: timedelta
) -> DataFrame:
    """The placed rows that the engine must have counted.

    Its bound is behind the mark of every row that it meets by the hold or more, so only rows that are late by that can have
    been dropped, and only these are held against the bounds.
    """
    late = result.late(hold)
    rows = [(each.after, each.until, each.bound) for each in slices]
    bounds = F.broadcast(spark.createDataFrame(rows, "after long, until long, bound timestamp"))
    dropped = (
        (F.col("seq") > F.col("after")) & (F.col("seq") <= F.col("until")) & (F.col("window.end") <= F.col("bound"))
    )
    return placed.where(~late).unionByName(placed.where(late).join(bounds, dropped, "left_anti"))
