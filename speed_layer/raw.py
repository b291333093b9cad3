"""The raw lines that a lake keeps: each landed line is in one table of the log, with its bytes and where it came from.

A quarantined line that was accepted later stands in `quarantine` still, as evidence; `waiting` leaves it out. A lake without
names has a line in other words (nameless.py), or not at all: then it keeps the reason that it was given.
"""

from functools import reduce

from pyspark.sql import Column, DataFrame, SparkSession
from pyspark.sql import functions as F

from lakehouse.lake import Lake
from lakehouse.landings import manifests
from lakehouse.log import DUPLICATES, EVENTS, waiting
from lakehouse.nameless import is_withheld
from lakehouse.settings import Settings
from lakehouse.tables import read_table
from speed_layer.intake import judged

RAW_LINES = "raw_lines"
"""The lock of who reads the lines of all three tables, or moves one from one to another."""


def raw_lines(spark: SparkSession, lake: Lake, *, first: int, last: int) -> DataFrame:
    """The lines of the micro-batches from `first` to `last`, with `place` and `line`, to be judged again."""
    tables = [_lines(read_table(spark, lake, lake.of_log(name)), F.lit(None)) for name in (EVENTS, DUPLICATES)]
    lines = reduce(DataFrame.unionByName, [*tables, _waiting(spark, lake)]).where(F.col("batch").between(first, last))
    return _with_places(spark, lake, lines)


def _with_places(spark: SparkSession, lake: Lake, lines: DataFrame) -> DataFrame:
    """The lines with `place`: their micro-batch, and the place of their file in it, as its manifest has it."""
    known = [(number, each.name, each.place) for number, manifest in manifests(lake) for each in manifest]
    files = spark.createDataFrame(known, "batch long, file string, in_batch long")
    return lines.join(F.broadcast(files), ["batch", "file"], "left").select(
        F.struct("batch", "in_batch").alias("place"), *(name for name in lines.columns)
    )


def waiting_lines(spark: SparkSession, lake: Lake) -> DataFrame:
    """The lines that are in quarantine still, to be judged again."""
    return _with_places(spark, lake, _waiting(spark, lake))


def judged_again(lines: DataFrame, settings: Settings) -> DataFrame:
    """Raw lines judged by the rules of now, but for the bytes that are withheld: nobody can say more of them."""
    return judged(lines, settings).withColumn("reason", F.coalesce("withheld", "reason"))


def _waiting(spark: SparkSession, lake: Lake) -> DataFrame:
    return _lines(waiting(spark, lake), F.when(is_withheld(lake), F.col("reason")))


def _lines(table: DataFrame, withheld: Column) -> DataFrame:
    # A text in Spark is bytes: those of a line that is not UTF-8 stay as they are.
    raw, reason = F.col("raw").cast("string").alias("value"), withheld.cast("string").alias("withheld")
    return table.select(raw, reason, "file", "line", "batch", "ingested_at")
