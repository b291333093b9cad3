"""The repair: results recomputed from the log as of the version that a micro-batch covers, with the shared function.

For a result of the engine's way these are what the late rows of the micro-batch touched, and earlier repairs that were
not settled yet; for one that is recomputed, what any of its rows touched. Only the stretch of event time that these
results reach is read.
"""

from dataclasses import dataclass
from datetime import datetime, timedelta

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F

from lakehouse.changelogs import boundaries, read_kappa
from lakehouse.identity import Epoch
from lakehouse.lake import Lake
from lakehouse.log import log_at, position
from lakehouse.settings import Settings
from lakehouse.tables import no_rows
from transformations.durations import from_millis
from transformations.result import Result
from transformations.shape import Part

WIDER = 8  # times what was read, where that did not reach far enough


@dataclass(frozen=True)
class Slice:
    """What a micro-batch covers: the log versions (previous, version]."""

    epoch: Epoch
    batch: int
    previous: int
    version: int
    high_water: datetime


def repaired(spark: SparkSession, lake: Lake, result: Result, settings: Settings, of: Slice) -> DataFrame | None:
    """The results to repair or recompute, persisted, or none.

    As of `of.version` and not of the newest: a repair that reads ahead of its batch gave wrong views in 13 % of a model's
    interleavings.
    """
    dropped_after = settings.lateness.dropped_after
    if of.previous == of.version or (dropped_after is not None and result.way == "engine"):
        return None  # no news: the engine runs such a micro-batch only to tell what its watermark has passed
    log = log_at(spark, lake, of.version)
    arrived = result.counted(log.where(F.col("seq") > position(lake, of.previous).seq), dropped_after)
    if result.way == "engine":
        arrived = arrived.where(result.late(settings.lateness.allowed))
    ahead = _ahead(log, arrived) if result.window.looks_ahead else log
    touched = result.touched(arrived, result.counted(ahead, dropped_after))
    if result.way == "engine" and result.window.reopens:
        touched = touched.unionByName(_unsettled(spark, lake, result, of)).distinct()
    # Asked several times below, and finding it is a scan of the slice. It is kept when it is asked first.
    touched = touched.localCheckpoint(eager=False)
    first, last = _range(touched, "first", "last")
    if first is None or last is None:
        return None
    while True:
        part = result.counted(log.where(result.window.reads(first, last)), dropped_after)
        rows = result.repaired(Part(part, first, last), touched).persist()
        if not result.window.chained:
            return rows
        wider = _wider(log, rows, first, last, of.high_water)
        if wider == (first, last):
            return rows.drop("cut_before", "cut_after")
        first, last = wider
        rows.unpersist()


def _ahead(log: DataFrame, arrived: DataFrame) -> DataFrame:
    """The log from the earliest of what arrived on; older rows cannot be touched by it."""
    since, _ = _range(arrived, "event_time", "event_time")
    return log if since is None else log.where(F.col("event_time") >= F.lit(since))


def _unsettled(spark: SparkSession, lake: Lake, result: Result, of: Slice) -> DataFrame:
    """What earlier repairs touched that was not settled then: rows that came since, in time, belong to it too."""
    before = next((each for each in boundaries(lake, result, of.epoch) if each.batch < of.batch), None)
    if before is None:
        return result.touched_again(no_rows(spark, result.schema))
    return result.touched_again(read_kappa(spark, lake, result, before).where("cause = 'late' and not settled"))


def _wider(
    log: DataFrame, rows: DataFrame, first: datetime, last: datetime, high_water: datetime
) -> tuple[datetime, datetime]:
    """The stretch to read instead of `[first, last]`, if a row may go on behind an end of it where the log has more."""
    cut = rows.agg(F.bool_or("cut_before").alias("before"), F.bool_or("cut_after").alias("after")).first()
    assert cut is not None
    length: timedelta = (WIDER - 1) * (last - first) / 2
    if cut["before"]:
        earliest, _ = _range(log, "event_time", "event_time")
        if earliest is not None and earliest < first:
            first -= length
    if cut["after"] and last < high_water:
        last += length
    return first, last


def _range(rows: DataFrame, first: str, last: str) -> tuple[datetime | None, datetime | None]:
    row = rows.agg(F.min(F.unix_millis(first)).alias("first"), F.max(F.unix_millis(last)).alias("last")).first()
    assert row is not None
    if row["first"] is None:
        return None, None
    return from_millis(row["first"]), from_millis(row["last"])
