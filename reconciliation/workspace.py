"""Where Spark and DuckDB meet for the comparison of one result: a database, and a directory for what they hand each other."""

import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import duckdb
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F
from pyspark.sql.types import StructType

from lakehouse.lake import Lake
from lakehouse.table_files import TableFiles, read_parquet
from transformations.result import Result

MEMORY = "1GB"
"""What DuckDB may hold for one result; more goes to disk."""


class Workspace:
    """A database for the comparison of one result, and a directory for what Spark and DuckDB hand each other."""

    def __init__(self, result: Result, folder: Path) -> None:
        self.result = result
        self.folder = folder
        self.database = duckdb.connect(config={"memory_limit": MEMORY, "temp_directory": str(folder / "spilled")})
        self.database.execute("set timezone = 'UTC'")
        self.database.execute("set preserve_insertion_order = false")
        # Functions of Spark in the declarations' SQL, and in that of an interval.
        self.database.execute("create macro unix_millis(moment) as epoch_ms(moment)")
        self.database.execute("create macro timestamp_millis(millis) as make_timestamptz(millis * 1000)")

    def table(self, name: str, files: TableFiles) -> None:
        """A table of the lake as a view."""
        if files.sizes:
            self.database.read_parquet([_literally(path) for path in files.sizes]).create_view(name)
        else:
            self.database.from_arrow(files.schema.empty_table()).create(name)

    def computed(self, name: str, rows: DataFrame) -> None:
        """Rows that only Spark can compute as a view."""
        folder = self.folder / name
        rows.write.parquet(str(folder))
        self.database.read_parquet(f"{_literally(str(folder))}/*.parquet").create_view(name)

    def made(self, name: str, query: str) -> None:
        self.database.execute(f"create temp table {name} as {query}")

    def handed(self, spark: SparkSession, name: str, query: str, schema: StructType) -> DataFrame:
        """The rows of a query for Spark. They are there as long as the workspace is."""
        file = self.folder / f"{name}.parquet"
        columns = ", ".join(f'"{each}"' for each in schema.names)
        target = str(file).replace("'", "''")
        self.database.execute(f"copy (select {columns} from ({query})) to '{target}' (format parquet)")
        return read_parquet(spark, schema, {str(file): file.stat().st_size})


def unmarked(rows: DataFrame) -> DataFrame:
    """Rows of which nobody noted the code that made them."""
    return rows.withColumn("fingerprint", F.lit(None).cast("string"))


@contextmanager
def workspace(lake: Lake, result: Result) -> Iterator[Workspace]:
    """A workspace that leaves nothing behind."""
    within = lake.path / "cache"
    within.mkdir(mode=0o700, exist_ok=True)
    with tempfile.TemporaryDirectory(prefix="compared-", dir=within) as folder:
        made = Workspace(result, Path(folder))
        try:
            yield made
        finally:
            made.database.close()


def _literally(path: str) -> str:
    """A path that DuckDB takes for no pattern."""
    return "".join(f"[{sign}]" if sign in "[*?" else sign for sign in path)
