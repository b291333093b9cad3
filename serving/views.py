"""What a reader is shown of a result, layer by layer, with Spark: the second engine, by which tests judge the first.

Readers have no Spark: queries.py. The versions that an answer is of, and the cut-off of the Lambda view, are decided in
pins.py for both, and which rows are settled and which of them the batch layer answers for in stretches.py.
"""

from pyspark.sql import Column, DataFrame, SparkSession
from pyspark.sql import functions as F

from lakehouse.batches import read_batch
from lakehouse.changelogs import read_kappa
from lakehouse.control import control_boundary, read_legacy
from lakehouse.lake import Lake
from lakehouse.settings import Settings
from lakehouse.terms import at_log
from serving.pins import Layer, Pinned, pinned
from serving.stretches import settled_when_computed, taken_from_batch
from transformations.changelog import outermost
from transformations.result import Result


def view(
    spark: SparkSession, lake: Lake, result: Result, settings: Settings, *, layer: Layer, settled_only: bool = False
) -> DataFrame:
    """The rows of a layer in the order of their windows, with the columns that only the view has."""
    lake = at_log(lake, result)
    at = pinned(lake, result, settings, layer=layer, computes=True)
    shown = result.shown(_rows(spark, lake, result, at))
    if settled_only:
        shown = shown.where(_settled(result, at))
    return shown.orderBy("window_start", *result.key)


def merged(batch: DataFrame, speed: DataFrame, result: Result, at: Pinned) -> DataFrame:
    """The Lambda view: what the batch layer answers for, and of the speed layer all else.

    A late event can join a session that the batch layer has settled to one that is open. The speed layer shows both as one,
    so the part is hidden.
    """
    done = F.expr(taken_from_batch(result, at.stretches))
    both = batch.where(done).select(*result.columns).unionByName(speed.where(~done).select(*result.columns))
    return outermost(both, result)


def _rows(spark: SparkSession, lake: Lake, result: Result, at: Pinned) -> DataFrame:
    if at.layer == "legacy":
        return read_legacy(spark, lake, result, control_boundary(lake))
    if at.boundary is None:
        # A session that has grown back into the interval of a later run leaves its old self where it started before.
        return outermost(read_batch(spark, lake, result, list(at.covered)), result)
    speed = read_kappa(spark, lake, result, at.boundary)
    return speed if at.cut_off is None else merged(read_batch(spark, lake, result, list(at.covered)), speed, result, at)


def _settled(result: Result, at: Pinned) -> Column:
    """Whether only late events can still change a row that is shown."""
    if at.layer == "batch":
        return F.expr(settled_when_computed(result, at.stretches))
    settled = result.settled(F.lit(at.settled_before))
    return settled if at.cut_off is None else settled | F.expr(taken_from_batch(result, at.stretches))
