"""The repair: results recomputed from the log as of the version that a micro-batch covers, with the shared function.

For a result of the engine's way these are what those rows of the micro-batch touched that the engine has not counted: the late
ones or, where it gets these too, the ones that it drops; and earlier repairs that were not settled yet. For a result that is
recomputed they are what any of its rows touched. Only the stretch of event time that these
results reach is read. Where the commits of the log say that there is nothing to repair, nothing is read.
"""

from dataclasses import dataclass
from datetime import datetime, timedelta

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F

from lakehouse.changelogs import Boundary, boundaries, read_kappa
from lakehouse.identity import Epoch
from lakehouse.lake import Lake
from lakehouse.log_files import LogFiles
from lakehouse.log_summary import LogSummary, log_summary
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
    bound: datetime | None = None
    """Where the engine gets late rows too: it has not counted those of windows that ended at or before this."""

    @property
    def has_news(self) -> bool:
        """Whether it covers any commit: the engine also runs micro-batches that only tell what its watermark has passed."""
        return self.previous != self.version


def repaired(spark: SparkSession, log: LogFiles, result: Result, settings: Settings, of: Slice) -> DataFrame | None:
    """The results to repair or recompute, or none.

    As of `of.version` and not of the newest: a repair that reads ahead of its batch gave wrong views in 13 % of a model's
    interleavings.
    """
    allowed, dropped_after = settings.lateness.allowed, settings.lateness.dropped_after
    engine = result.way == "engine"
    if not of.has_news or (engine and (dropped_after is not None or result.window.endless)):
        return None
    told = log_summary(log.lake, of.previous, of.version)
    again = engine and result.window.reopens and open_repairs_before(log.lake, result, of) != 0
    if told is not None and not again and not _may_touch(result, told, of, allowed):
        return None
    if not engine and log.begins_after(of.previous):
        # It touches everything, so nothing is searched: the batch layer's computation.
        return result.computed(result.counted(log.read(spark, of.version), dropped_after))
    arrived = result.counted(log.read(spark, of.version, after=of.previous), dropped_after)
    if engine:
        arrived = arrived.where(result.late(allowed) if of.bound is None else result.window.ended(of.bound))
    ended = (of.bound or of.high_water - allowed) if engine else None
    stretch = None if told is None else _stretch(result, told, ended)
    if stretch is not None:
        part = result.counted(log.read(spark, of.version, first=stretch[0], last=stretch[1]), dropped_after)
        return result.repaired(Part(part, *stretch), result.touched(arrived, arrived))
    return _searched(spark, log, result, of, arrived, dropped_after, again=again)


def _may_touch(result: Result, told: LogSummary, of: Slice, allowed: timedelta) -> bool:
    """Whether a slice can have a row that touches anything, by what its commits say."""
    if result.way == "recompute":
        return told.events > 0
    return told.may_have_late(allowed) if of.bound is None else told.may_have_ended(of.bound)


def _stretch(result: Result, told: LogSummary, ended: datetime | None) -> tuple[datetime, datetime] | None:
    """The stretch of event time to read, if it follows from when the events of a slice were; `ended` is what late ones touch."""
    reach = result.window.reach
    if reach is None or told.least is None or told.greatest is None:
        return None
    last = told.greatest + reach
    return told.least - reach, last if ended is None else min(last, ended)


def _searched(
    spark: SparkSession,
    log: LogFiles,
    result: Result,
    of: Slice,
    arrived: DataFrame,
    dropped_after: timedelta | None,
    *,
    again: bool,
) -> DataFrame | None:
    """The same where only the rows can tell what they touch, and how far it reaches."""
    ahead = _ahead(spark, log, of, arrived) if result.window.looks_ahead else arrived
    touched = result.touched(arrived, result.counted(ahead, dropped_after))
    if again:
        touched = touched.unionByName(_unsettled(spark, log.lake, result, of)).distinct()
    # Asked several times below, and finding it is a scan of the slice. It is kept when it is asked first.
    touched = touched.localCheckpoint(eager=False)
    first, last = _range(touched, "first", "last")
    if first is None or last is None:
        return None
    while True:
        read = log.read(spark, of.version, first=None if result.window.whole else first, last=last)
        part = result.counted(read.where(result.window.reads(first, last)), dropped_after)
        rows = result.repaired(Part(part, first, last), touched)
        if not result.window.chained:
            return rows
        rows = rows.persist()  # asked here whether it is cut, and then appended
        wider = _wider(spark, log, of, rows, first, last)
        if wider == (first, last):
            return rows.drop("cut_before", "cut_after")
        first, last = wider
        rows.unpersist()


def _ahead(spark: SparkSession, log: LogFiles, of: Slice, arrived: DataFrame) -> DataFrame:
    """The log from the earliest of what arrived on; older rows cannot be touched by it."""
    since, _ = _range(arrived, "event_time", "event_time")
    return log.read(spark, of.version, first=since)


def open_repairs_before(lake: Lake, result: Result, of: Slice) -> int | None:
    """How many repairs of what was not settled the micro-batch before has left open; none if that is not known.

    One with news repairs all of them again, so its own are all that there are.
    """
    before = _before(lake, result, of)
    return 0 if before is None else before.open_repairs


def _before(lake: Lake, result: Result, of: Slice) -> Boundary | None:
    return next((each for each in boundaries(lake, result, of.epoch) if each.batch < of.batch), None)


def _unsettled(spark: SparkSession, lake: Lake, result: Result, of: Slice) -> DataFrame:
    """What earlier repairs touched that was not settled then: rows that came since, in time, belong to it too."""
    before = _before(lake, result, of)
    if before is None:
        return result.touched_again(no_rows(spark, result.schema))
    return result.touched_again(read_kappa(spark, lake, result, before).where("cause = 'late' and not settled"))


def _wider(
    spark: SparkSession, log: LogFiles, of: Slice, rows: DataFrame, first: datetime, last: datetime
) -> tuple[datetime, datetime]:
    """The stretch to read instead of `[first, last]`, if a row may go on behind an end of it where the log has more."""
    cut = rows.agg(F.bool_or("cut_before").alias("before"), F.bool_or("cut_after").alias("after")).first()
    assert cut is not None
    length: timedelta = (WIDER - 1) * (last - first) / 2
    if cut["before"]:
        earliest, _ = _range(log.read(spark, of.version, last=first), "event_time", "event_time")
        if earliest is not None and earliest < first:
            first -= length
    if cut["after"] and last < of.high_water:
        last += length
    return first, last


def _range(rows: DataFrame, first: str, last: str) -> tuple[datetime | None, datetime | None]:
    row = rows.agg(F.min(F.unix_millis(first)).alias("first"), F.max(F.unix_millis(last)).alias("last")).first()
    assert row is not None
    if row["first"] is None:
        return None, None
    return from_millis(row["first"]), from_millis(row["last"])
