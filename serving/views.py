"""What a reader is shown of a result, layer by layer.

Kappa is one table. Lambda is two and a cut-off: what the batch layer had settled when it last ran, and the speed layer
for everything after it. The merge is the price of the second layer, paid by every reader.
"""

from collections.abc import Sequence
from datetime import datetime
from itertools import pairwise
from typing import Literal

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F

from lakehouse.arrivals import arrivals_boundary, read_legacy
from lakehouse.batches import Coverage, coverage, read_batch
from lakehouse.changelogs import Boundary, boundary, mark, read_kappa, settled_before
from lakehouse.errors import NothingToCompare
from lakehouse.lake import Lake
from lakehouse.log import position
from lakehouse.settings import Settings
from lakehouse.terms import at_log
from transformations.result import Result

Layer = Literal["kappa", "batch", "legacy", "lambda"]


def view(
    spark: SparkSession, lake: Lake, result: Result, settings: Settings, *, layer: Layer, settled_only: bool = False
) -> DataFrame:
    """The rows of a layer in the order of their windows, with the columns that only the view has."""
    lake = at_log(lake, result)
    at: Boundary | None = None
    if layer == "kappa":
        at = boundary(lake, result)
        rows, version = read_kappa(spark, lake, result, at), at.log_version
    elif layer == "legacy":
        arrived = arrivals_boundary(lake)
        rows, version = read_legacy(spark, lake, result, arrived), arrived.log_version
    elif layer == "batch":
        covered = coverage(lake, result)
        rows, version = read_batch(spark, lake, result, covered), covered[0].log_version
    else:
        covered = coverage(lake, result)
        until = cut_off(lake, result, covered, settings)
        at = boundary(lake, result)
        rows, version = _merged(spark, lake, result, covered, at, until=until), at.log_version
    shown = result.shown(rows)
    if settled_only:
        before = settled_before(mark(lake, version), settings.lateness.allowed, at)
        shown = shown.where(result.settled(F.lit(before)))
    return shown.orderBy("window_start", *result.key)


def cut_off(lake: Lake, result: Result, runs: Sequence[Coverage], settings: Settings) -> datetime:
    """The end of what the batch layer has settled without a gap: behind it the speed layer answers.

    Each stretch between the ends of the intervals counts as it was computed last; the first that the batch layer has not
    computed, or not settled up to its end, is where the cut-off lies.
    """
    edges = sorted({edge for run in runs for edge in (run.interval.first, run.interval.end) if edge is not None})
    reached: datetime | None = None
    for first, end in pairwise((None, *edges, None)):
        run = next((run for run in runs if run.interval.covers(first, end)), None)
        mark_then = position(lake, run.log_version).high_water if run else None
        if mark_then is None:
            break
        settled_then = mark_then - settings.lateness.allowed
        if end is None or settled_then < end:
            reached = settled_then if reached is None else max(reached, settled_then)
            break
        reached = end
    if reached is None:
        raise NothingToCompare(
            f"The batch layer of {result.id} has no contiguous result yet. Run `parity recompute` without --from first."
        )
    return reached


def _merged(
    spark: SparkSession, lake: Lake, result: Result, covered: list[Coverage], at: Boundary, *, until: datetime
) -> DataFrame:
    # What has no end is never behind the cut-off.
    done = F.col("window_end").isNotNull() & result.settled(F.lit(until))
    batch = read_batch(spark, lake, result, covered).where(done).select(*result.columns)
    speed = read_kappa(spark, lake, result, at).where(~done)
    return batch.unionByName(speed.select(*result.columns))
