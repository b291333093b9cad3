"""The lines of landing files, each with the place of its file in the order of arrival and its own number in the file."""

import re
from collections.abc import Sequence
from datetime import datetime
from pathlib import Path
from typing import Protocol

import pyarrow as pa
from pyspark.sql import DataFrame, SparkSession, Window
from pyspark.sql import functions as F

from lakehouse.errors import ParityError


class Placed(Protocol):
    """A landing file and its place in the order of arrival."""

    @property
    def path(self) -> str: ...
    @property
    def place(self) -> int: ...


# As Arrow data they become rows in the JVM. A list of Python's own would go through Python workers, for every micro-batch.
ORIGIN = pa.schema(
    {
        "encoded": pa.string(),
        "file": pa.string(),
        "place": pa.int64(),
        "batch": pa.int64(),
        "ingested_at": pa.timestamp("us", "UTC"),
    }
)


def read_lines(spark: SparkSession, landings: Sequence[Placed], *, batch: int, ingested_at: datetime) -> DataFrame:
    """Columns `value` (the bytes of the line as they are), `file` (its name), `place`, `block` and `id`, and the origin.

    The origin comes with the files and not as literals: code that Spark generates with a literal in it is compiled anew
    for every micro-batch.
    """
    gone = [landing.path for landing in landings if not Path(landing.path).is_file()]
    if gone:
        raise ParityError(
            f"Landing files are gone before they were read: {', '.join(gone[:3])}. Put them back and start again."
        )
    files = pa.table(
        {
            "encoded": [_encoded_name(spark, landing.path) for landing in landings],
            "file": [Path(landing.path).name for landing in landings],
            "place": [landing.place for landing in landings],
            "batch": [batch] * len(landings),
            "ingested_at": [ingested_at] * len(landings),
        },
        schema=ORIGIN,
    )
    text = (
        spark.read.option("lineSep", "\n")
        .text([_as_it_is(landing.path) for landing in landings])
        .select(
            "value",
            F.substring_index("_metadata.file_path", "/", -1).alias("encoded"),
            F.col("_metadata.file_block_start").alias("block"),
            F.monotonically_increasing_id().alias("id"),
        )
    )
    return text.join(F.broadcast(spark.createDataFrame(files)), "encoded").drop("encoded")


def numbered(lines: DataFrame) -> DataFrame:
    """The lines with `line`, their number in the file from 1.

    The id alone does not order lines: a large file is split into blocks, and those are packed by size.
    """
    in_file = Window.partitionBy("place").orderBy("block", "id")
    return lines.withColumn("line", F.row_number().over(in_file).cast("long")).drop("block", "id")


def _as_it_is(path: str) -> str:
    """The path so that Spark does not take it for a pattern: a name with [ or * is a name."""
    return re.sub(r"([\\{}\[\]*?])", r"\\\1", path)


def _encoded_name(spark: SparkSession, path: str) -> str:
    """The file's name as Spark's metadata column spells it."""
    uri = spark._jvm.org.apache.hadoop.fs.Path(path).toUri().toString()  # type: ignore[union-attr]
    return str(uri).rpartition("/")[2]
