"""The data file of a commit: Parquet, written block by block, so that a micro-batch of any size takes the memory of some.

It is nobody's until a commit names it. A killed ingestion leaves it behind, and the vacuum of `parity maintain` removes it.
"""

import json
import uuid
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
from deltalake.transaction import AddAction

from lakehouse.arrivals import SCHEMA, STATISTICS, TIME

ROWS_A_GROUP = 128 * 1024
_COUNTS = ("arrival", "line", "seq")
"""Columns that rise by one: stored as their differences."""
_REPEATED = [field.name for field in SCHEMA if field.type == pa.string() and field.name not in ("event_id", *_COUNTS)]


class DataFile:
    def __init__(self, folder: Path) -> None:
        self._file = folder / f"part-{uuid.uuid4()}.parquet"
        self._writer: pq.ParquetWriter | None = None
        self._waiting: list[pa.Table] = []
        self._rows = 0
        self._statistics = {name: _Statistic() for name in STATISTICS}

    def write(self, rows: pa.Table) -> None:
        for name, statistic in self._statistics.items():
            statistic.add(rows[name])
        self._rows += rows.num_rows
        self._waiting.append(rows)
        if sum(each.num_rows for each in self._waiting) >= ROWS_A_GROUP:
            self._write_waiting()

    def closed(self) -> AddAction | None:
        """What a commit says of the file; none if it has no rows, and is not there."""
        self._write_waiting()
        if self._writer is None:
            return None
        self._writer.close()
        status = self._file.stat()
        known = {name: each for name, each in self._statistics.items() if each.least is not None}
        said = {
            "numRecords": self._rows,
            "minValues": {name: _written(each.least) for name, each in known.items()},
            "maxValues": {name: _written(each.most) for name, each in known.items()},
            "nullCount": {name: each.nulls for name, each in self._statistics.items()},
        }
        return AddAction(self._file.name, status.st_size, {}, status.st_mtime_ns // 1_000_000, True, json.dumps(said))

    def given_up(self) -> None:
        """Remove what was written: the micro-batch failed, and this process is there to say so."""
        if self._writer is not None:
            self._writer.close()
            self._file.unlink(missing_ok=True)

    def _write_waiting(self) -> None:
        rows = pa.concat_tables(self._waiting) if self._waiting else None
        self._waiting = []
        if rows is None or not rows.num_rows:
            return
        if self._writer is None:
            self._writer = pq.ParquetWriter(
                self._file,
                SCHEMA,
                compression="snappy",
                use_dictionary=_REPEATED,
                column_encoding=dict.fromkeys(_COUNTS, "DELTA_BINARY_PACKED"),
                write_statistics=list(STATISTICS),
                store_schema=False,
            )
        self._writer.write_table(rows, row_group_size=ROWS_A_GROUP)


class _Statistic:
    """The least and the greatest value of a column, and how many nulls it has."""

    def __init__(self) -> None:
        self.least: Any = None
        self.most: Any = None
        self.nulls = 0

    def add(self, column: pa.ChunkedArray) -> None:
        self.nulls += column.null_count
        found = pc.min_max(column.cast(pa.int64()) if column.type == TIME else column).as_py()
        if found["min"] is not None:
            least, most = (_Time(each) if column.type == TIME else each for each in (found["min"], found["max"]))
            self.least = least if self.least is None else min(self.least, least)
            self.most = most if self.most is None else max(self.most, most)


class _Time(int):
    """Microseconds since 1970."""


def _written(value: Any) -> Any:
    """As Delta writes it in statistics. Times are whole milliseconds, so nothing is cut off."""
    if not isinstance(value, _Time):
        return value
    return pa.scalar(int(value), TIME).as_py().isoformat(timespec="milliseconds").replace("+00:00", "Z")
