"""The raw lines that a lake keeps: each landed line is in one table of the log, with its bytes and where it came from.

A quarantined line that was accepted later stands in `quarantine` still, as evidence; `waiting` leaves it out.
"""

from functools import reduce

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F

from lakehouse.lake import Lake
from lakehouse.landings import manifests
from lakehouse.log import DUPLICATES, EVENTS, waiting
from lakehouse.tables import read_table


def raw_lines(spark: SparkSession, lake: Lake, *, first: int, last: int) -> DataFrame:
    """The lines of the micro-batches from `first` to `last` as ingestion read them, with `place` and `line`."""
    tables = [read_table(spark, lake, lake.of_log(name)) for name in (EVENTS, DUPLICATES)]
    parts = [_lines(table) for table in (*tables, waiting(spark, lake))]
    lines = reduce(DataFrame.unionByName, parts).where(F.col("batch").between(first, last))
    return _with_places(spark, lake, lines)


def _with_places(spark: SparkSession, lake: Lake, lines: DataFrame) -> DataFrame:
    """The lines with `place`: their micro-batch, and the place of their file in it, as its manifest has it."""
    known = [(number, each.name, each.place) for number, manifest in manifests(lake) for each in manifest]
    files = spark.createDataFrame(known, "batch long, file string, in_batch long")
    return lines.join(F.broadcast(files), ["batch", "file"], "left").select(
        F.struct("batch", "in_batch").alias("place"), *(name for name in lines.columns)
    )


def waiting_lines(spark: SparkSession, lake: Lake) -> DataFrame:
    """The lines that are in quarantine still, as ingestion read them."""
    return _with_places(spark, lake, _lines(waiting(spark, lake)))


def _lines(table: DataFrame) -> DataFrame:
    # A text in Spark is bytes: those of a line that is not UTF-8 stay as they are.
    return table.select(F.col("raw").cast("string").alias("value"), "file", "line", "batch", "ingested_at")
