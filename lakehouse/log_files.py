"""The data files of the log, chosen by what Delta knows of them, for a reader that knows which rows it needs.

Reading a Delta table at a version is up to three Spark jobs before the first row: its state, and which files may have rows. A
micro-batch needs the few files of its own commits and of the windows that late events touch, which the table's log names
without a job. The table is append-only and a compaction moves rows only, so the log as of a version is the rows up to its
last `seq`, in whichever files they lie now.
"""

from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import datetime
from functools import reduce
from pathlib import Path
from typing import Any
from urllib.parse import unquote

import pyarrow as pa
import pyarrow.compute as pc
from deltalake import DeltaTable
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F
from pyspark.sql.pandas.types import from_arrow_schema
from pyspark.sql.types import StructType

from lakehouse.arrivals import ARRIVALS, schema
from lakehouse.delta_table import delta_table
from lakehouse.lake import Lake
from lakehouse.log import events, position


@dataclass
class LogFiles:
    """The log of a lake, followed by one reader."""

    lake: Lake
    _table: DeltaTable = field(init=False, repr=False)

    def __post_init__(self) -> None:
        self._table = delta_table(self.lake, self.lake.of_log(ARRIVALS))

    def read(
        self,
        spark: SparkSession,
        version: int,
        *,
        after: int | None = None,
        first: datetime | None = None,
        last: datetime | None = None,
    ) -> DataFrame:
        """The rows of the log that count, as of `version`: those after version `after`, with times in `[first, last]`."""
        least = max(0 if after is None else position(self.lake, after).seq, self._skipped())
        most = position(self.lake, version).seq
        files = self._files(least, most, first, last)
        columns = from_arrow_schema(schema(self.lake.pipeline.kinds))
        rows = spark.read.schema(columns).parquet(*files) if files else _none(spark, columns)
        rows = events(rows).where((F.col("seq") > least) & (F.col("seq") <= most))
        if first is not None:
            rows = rows.where(F.col("event_time") >= F.lit(first))
        return rows if last is None else rows.where(F.col("event_time") <= F.lit(last))

    def begins_after(self, version: int) -> bool:
        """Whether no row that counts lies at or before the version."""
        return position(self.lake, version).seq <= self._skipped()

    def _skipped(self) -> int:
        """The last `seq` that does not count."""
        return position(self.lake, self.lake.since - 1).seq if self.lake.since else 0

    def _files(self, least: int, most: int, first: datetime | None, last: datetime | None) -> list[str]:
        self._table.update_incremental()
        known = pa.table(self._table.get_add_actions(flatten=True))
        # What is not known of a file is no reason to leave it out. Only the file of a commit without events has no `seq`.
        kept = [
            _or_unknown(known, pc.less, "null_count.seq", known["num_records"]),
            _or_unknown(known, pc.greater, "max.seq", least),
            _or_unknown(known, pc.less_equal, "min.seq", most),
        ]
        if first is not None:
            kept.append(_or_unknown(known, pc.greater_equal, "max.event_time", first))
        if last is not None:
            kept.append(_or_unknown(known, pc.less_equal, "min.event_time", last))
        folder = Path(self.lake.table(self.lake.of_log(ARRIVALS)))
        return [str(folder / unquote(path)) for path in known.filter(reduce(pc.and_, kept))["path"].to_pylist()]


def _or_unknown(known: pa.Table, compare: Callable[[Any, Any], Any], name: str, bound: Any) -> Any:
    """Where the statistic compares so with the bound, or is missing."""
    if name not in known.column_names:
        return pa.array([True] * len(known))
    if isinstance(bound, datetime):
        bound = pa.scalar(bound, known[name].type)
    return pc.fill_null(compare(known[name], bound), True).combine_chunks()


def _none(spark: SparkSession, columns: StructType) -> DataFrame:
    return spark.range(0).select(*(F.lit(None).cast(each.dataType).alias(each.name) for each in columns))
