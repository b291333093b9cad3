"""The append of a micro-batch's rows to a table, exactly once: one data file, one commit, made by this process.

Spark computes the rows. A few come to this process as Arrow and are written here; in a prototype that took a third of the CPU of
an append by Delta's own writer. Many are written by Spark, beside the table, and the finished file is moved into it. Either way
the commit is the same one, by delta-rs, under the table's lock, which this process holds: a JVM that outlives it commits nothing.
"""

import json
import shutil
import uuid
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, Literal

import pyarrow as pa
import pyarrow.parquet as pq
from deltalake import CommitProperties
from deltalake import Transaction as TableTransaction
from deltalake.transaction import AddAction
from pyspark.sql import DataFrame
from pyspark.sql import functions as F
from pyspark.sql.pandas.types import from_arrow_schema

from lakehouse.commits import refuse_torn
from lakehouse.data_file import DataFile, added
from lakehouse.delta_table import delta_table
from lakehouse.lake import Lake
from lakehouse.locks import exclusive_here
from lakehouse.tables import Transaction

FEW = 100_000
"""Events of a micro-batch up to which its rows come to this process: some ten megabytes."""

Counts = dict[tuple[Any, ...], int]
"""How many rows there are of each combination of values."""


def append_rows(lake: Lake, name: str, rows: Sequence[Sequence[Any]]) -> None:
    """Append rows that this process has, with the columns of the table in their order, in one commit."""
    table = delta_table(lake, name)
    schema = pa.schema(table.schema())
    arrays = [pa.array(values, field.type) for field, values in zip(schema, zip(*rows, strict=True), strict=True)]
    file = DataFile(Path(lake.table(name)), schema, statistics=())
    file.write(pa.table(arrays, schema=schema))
    added_file = file.closed()
    with exclusive_here(lake.lock_file(name), wait=True):
        refuse_torn(lake, name)
        table.update_incremental()
        table.create_write_transaction([] if added_file is None else [added_file], "append", table.schema())


class Appender:
    """A table that is appended to, open for one writer."""

    def __init__(self, lake: Lake, name: str, *, statistics: tuple[str, ...], counted: tuple[str, ...]) -> None:
        """Rows are counted by the values of the columns `counted`, which the commit can then tell."""
        self._lake = lake
        self._name = name
        self._folder = Path(lake.table(name))
        self._table = delta_table(lake, name)
        self._declared = pa.schema([each.with_nullable(True) for each in pa.schema(self._table.schema())])
        self._statistics = statistics
        self._counted = counted

    def has(self, transaction: Transaction) -> bool:
        """Whether the table has the rows of this transaction, or of a later one of the same writer."""
        self._table.update_incremental()
        last = self._table.transaction_version(transaction.app_id)
        return last is not None and last >= transaction.number

    def append(
        self,
        rows: DataFrame,
        *,
        few: bool,
        transaction: Transaction | None,
        metadata: Callable[[Counts], Mapping[str, Any]],
        check: Callable[[], None] = lambda: None,
        written: Callable[[], None] = lambda: None,
        mode: Literal["append", "overwrite"] = "append",
    ) -> int:
        """Append `rows` in one commit, or put them in the place of all that are there. Returns how many were written.

        A second append of the same transaction changes nothing. One file a commit: a reader's micro-batch never splits a
        commit then. `written` is called when the file is there and nothing is visible, `check` and `metadata` under the table's
        lock.
        """
        file, counts = self._collected(rows) if few else self._staged(rows)
        written()
        with exclusive_here(self._lake.lock_file(self._name), wait=True):
            refuse_torn(self._lake, self._name)
            check()
            properties = CommitProperties(
                {"userMetadata": json.dumps(metadata(counts))},
                max_commit_retries=0,
                app_transactions=None
                if transaction is None
                else [TableTransaction(transaction.app_id, transaction.number)],
            )
            if transaction is not None and self.has(transaction):
                return 0
            self._table.update_incremental()
            self._table.create_write_transaction(
                [] if file is None else [file], mode, self._table.schema(), commit_properties=properties
            )
        return sum(counts.values())

    def _collected(self, rows: DataFrame) -> tuple[AddAction | None, Counts]:
        found = rows.toArrow()
        # As the table declares them: a constant is not null, its column may be; and a sum may have fewer digits.
        found = found.select(self._declared.names).cast(self._declared)
        file = DataFile(self._folder, found.schema, statistics=self._statistics)
        try:
            file.write(found)
            return file.closed(), self._counts(found)
        except BaseException:
            file.given_up()
            raise

    def _staged(self, rows: DataFrame) -> tuple[AddAction | None, Counts]:
        """Written by Spark into a folder beside the table: what it leaves behind when it is killed is removed next time."""
        staging = self._lake.path / "cache" / "appends" / self._name
        shutil.rmtree(staging, ignore_errors=True)
        declared = from_arrow_schema(self._declared)
        rows = rows.select(*(F.col(each.name).cast(each.dataType) for each in declared))
        rows.coalesce(1).write.parquet(str(staging))
        [part] = staging.glob("part-*.parquet")
        file = part.rename(self._folder / f"part-{uuid.uuid4()}.parquet")
        counts = self._counts(pq.read_table(file, columns=list(self._counted)))
        if not counts:
            file.unlink()
            return None, counts
        return added(file, self._statistics), counts

    def _counts(self, rows: pa.Table) -> Counts:
        grouped = rows.select(list(self._counted)).group_by(list(self._counted)).aggregate([([], "count_all")])
        values = zip(*(grouped[name].to_pylist() for name in self._counted), strict=True)
        return dict(zip(values, grouped["count_all"].to_pylist(), strict=True))
