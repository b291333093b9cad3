"""What a reader is shown of a result, layer by layer, with Spark: `parity show`. Without Spark: queries.py.

The versions that an answer is of, and the cut-off of the Lambda view, are decided in pins.py for both.
"""

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F

from lakehouse.arrivals import arrivals_boundary, read_legacy
from lakehouse.batches import read_batch
from lakehouse.changelogs import read_kappa
from lakehouse.lake import Lake
from lakehouse.settings import Settings
from lakehouse.terms import at_log
from serving.pins import Layer, Pinned, pinned
from transformations.result import Result


def view(
    spark: SparkSession, lake: Lake, result: Result, settings: Settings, *, layer: Layer, settled_only: bool = False
) -> DataFrame:
    """The rows of a layer in the order of their windows, with the columns that only the view has."""
    lake = at_log(lake, result)
    at = pinned(lake, result, settings, layer=layer, computes=True)
    shown = result.shown(_rows(spark, lake, result, at))
    if settled_only:
        shown = shown.where(result.settled(F.lit(at.settled_before)))
    return shown.orderBy("window_start", *result.key)


def _rows(spark: SparkSession, lake: Lake, result: Result, at: Pinned) -> DataFrame:
    if at.layer == "legacy":
        return read_legacy(spark, lake, result, arrivals_boundary(lake))
    if at.boundary is None:
        return read_batch(spark, lake, result, list(at.covered))
    speed = read_kappa(spark, lake, result, at.boundary)
    if at.cut_off is None:
        return speed
    # What has no end is never behind the cut-off.
    done = F.col("window_end").isNotNull() & result.settled(F.lit(at.cut_off))
    batch = read_batch(spark, lake, result, list(at.covered)).where(done).select(*result.columns)
    return batch.unionByName(speed.where(~done).select(*result.columns))
