"""A table read as its data files, by a reader that wants all of it as of a version.

To read a version, Delta asks for its state, and for the files that may have rows: up to three jobs before the first row, in which
13 small results spend more than half of their comparison. What a table has is in its log, which delta-rs reads without a job.
What is lost is that Delta skips files by their statistics: whoever needs a few files of many reads with `read_table`.
"""

from pathlib import Path
from urllib.parse import unquote

import pyarrow as pa
from deltalake import DeltaTable
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.pandas.types import from_arrow_schema

from lakehouse.delta_table import delta_table
from lakehouse.lake import Lake
from lakehouse.tables import no_rows

ONE_TASK = 32 * 1024 * 1024
"""Bytes of a table up to which one task reads it. What joins and groups tables of one task needs no exchange and no second
stage: on 20,000 events these are most of what a query takes. Larger tables are spread as Spark finds best."""


def read_files(spark: SparkSession, lake: Lake, name: str, *, version: int | None = None) -> DataFrame:
    """The table as of `version`, or as it is now."""
    table = delta_table(lake, name)
    if version is not None:
        table.load_as_version(version)
    schema = from_arrow_schema(pa.schema(table.schema()))
    files = _files(table)
    if not files:
        return no_rows(spark, schema).coalesce(1)
    folder = Path(lake.table(name))
    # Names are names: the folder of a lake may have a bracket in it, which Spark would take for a pattern.
    reader = spark.read.schema(schema).option("__globPaths__", "false")
    rows = reader.parquet(*(str(folder / unquote(path)) for path in files))
    return rows.coalesce(1) if sum(files.values()) <= ONE_TASK else rows


def live_bytes(lake: Lake, name: str) -> int:
    """The size of the data files that the table consists of now; what a vacuum would remove is not counted."""
    return sum(_files(delta_table(lake, name)).values())


def _files(table: DeltaTable) -> dict[str, int]:
    """The paths of the table's data files, relative to it, with their sizes."""
    known = pa.table(table.get_add_actions())
    return dict(zip(known["path"].to_pylist(), known["size_bytes"].to_pylist(), strict=True))
