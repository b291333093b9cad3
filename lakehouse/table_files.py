"""A table read as its data files, by a reader that wants all of it as of a version.

To read a version, Delta asks for its state, and for the files that may have rows: up to three jobs before the first row, in which
13 small results spent more than half of their comparison. What a table has is in its log, which delta-rs reads without a job.
What is lost is that Delta skips files by their statistics: whoever needs a few files of many reads with `read_table`.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import unquote

import pyarrow as pa
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.pandas.types import from_arrow_schema
from pyspark.sql.types import StructType

from lakehouse.delta_table import delta_table
from lakehouse.lake import Lake
from lakehouse.tables import no_rows

ONE_TASK = 32 * 1024 * 1024
"""Bytes of a table up to which one task reads it. What joins and groups tables of one task needs no exchange and no second
stage: on 20,000 events these are most of what a query takes. Larger tables are spread as Spark finds best."""


@dataclass(frozen=True)
class TableFiles:
    """The data files of a version of a table, with their sizes in bytes, and the columns that they have."""

    schema: pa.Schema
    sizes: dict[str, int]

    @property
    def bytes(self) -> int:
        return sum(self.sizes.values())


def table_files(lake: Lake, name: str, *, version: int | None = None) -> TableFiles:
    """The files that the table consists of as of `version`, or now; those that a vacuum would remove do not count."""
    table = delta_table(lake, name)
    if version is not None:
        table.load_as_version(version)
    known, folder = pa.table(table.get_add_actions()), Path(lake.table(name))
    sizes = zip(known["path"].to_pylist(), known["size_bytes"].to_pylist(), strict=True)
    return TableFiles(pa.schema(table.schema()), {str(folder / unquote(path)): size for path, size in sizes})


def read_files(spark: SparkSession, lake: Lake, name: str, *, version: int | None = None) -> DataFrame:
    """The table as of `version`, or as it is now."""
    files = table_files(lake, name, version=version)
    schema = from_arrow_schema(files.schema)
    return read_parquet(spark, schema, files.sizes) if files.sizes else no_rows(spark, schema).coalesce(1)


def read_parquet(spark: SparkSession, schema: StructType, sizes: Mapping[str, int]) -> DataFrame:
    """The rows of Parquet files, of which the sizes are known."""
    # Names are names: the folder of a lake may have a bracket in it, which Spark would take for a pattern.
    rows = spark.read.schema(schema).option("__globPaths__", "false").parquet(*sizes)
    return rows.coalesce(1) if sum(sizes.values()) <= ONE_TASK else rows
