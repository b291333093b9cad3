"""The stream's own part: whether what its engine told without repairs is right.

A repair recomputes from the log, so it could hide a broken engine. Hence the engine's rows alone are compared with batch
over the rows that it must have counted: those that were not late or, where it gets late ones too, those that it cannot have
dropped.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from itertools import chain, pairwise

import pyarrow as pa
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F

from lakehouse.batches import Interval
from lakehouse.changelogs import Boundary, every_boundary, mark, settled_before
from lakehouse.errors import Forgotten
from lakehouse.lake import Lake
from lakehouse.log import log_at, position
from lakehouse.settings import Settings
from reconciliation.keys import compared, moment, settled, view
from reconciliation.pins import Pin
from reconciliation.workspace import Workspace, unmarked
from transformations.result import Result


def wrong_by_itself(
    spark: SparkSession,
    lake: Lake,
    settings: Settings,
    at: Pin,
    interval: Interval,
    space: Workspace,
    revisions: str | None,
    *,
    tolerance: Mapping[str, float],
) -> int | None:
    """How many of the engine's own settled rows in the interval differ from batch over the rows that it must have counted.

    What is tolerated in the answer is tolerated here: otherwise a tolerance of the user's would never lead to an agreement.
    """
    result = space.result
    if not isinstance(at.boundary, Boundary) or revisions is None or result.way != "engine":
        return None
    own = f"select * from ({revisions}) where cause = 'on_time'"
    engine = view(result, own, epoch=at.boundary.epoch, log_version=at.log_version)
    allowed, hold = settings.lateness.allowed, settings.lateness.hold_of(result)
    log = log_at(spark, lake, at.log_version, whole=True)
    conditions = [settled(result, at.settled_before(allowed))]
    if hold is None:
        counted = result.counted(log, allowed)
    else:
        slices = _slices(lake, result, at.boundary)
        counted = _not_dropped(spark, result.placed(log), result, slices, hold)
        conditions.append(f"window_end > {moment(slices[0].bound)}")
    if at.boundary.history is not None:
        conditions.append(f"not {settled(result, settled_before(mark(lake, at.boundary.history), allowed))}")
    conditions.append(f"coalesce(window_end > {moment(at.high_water - settings.retention.horizon)}, true)")
    space.computed("expected", unmarked(result.computed(counted).where(result.present)))
    both = compared(result, "select * from expected", engine, tolerance=tolerance)
    wrong = " and ".join([*conditions, interval.predicate, "len(differing) > 0"])
    [(found,)] = space.database.sql(f"select count(*) from ({both}) where {wrong}").fetchall()
    return int(found)


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
    columns = {
        "after": pa.array([each.after for each in slices], pa.int64()),
        "until": pa.array([each.until for each in slices], pa.int64()),
        "bound": pa.array([each.bound for each in slices], pa.timestamp("us", "UTC")),
    }
    bounds = F.broadcast(spark.createDataFrame(pa.table(columns)))  # tuples would go through Python's workers
    dropped = (
        (F.col("seq") > F.col("after")) & (F.col("seq") <= F.col("until")) & (F.col("window.end") <= F.col("bound"))
    )
    return placed.where(~late).unionByName(placed.where(late).join(bounds, dropped, "left_anti"))
