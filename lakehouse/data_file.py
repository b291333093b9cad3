"""The data file of a commit that this process makes: Parquet, with what Delta is told of it.

It is nobody's until a commit names it. A killed writer leaves it behind, and the vacuum of `parity maintain` removes it.
"""

import json
import uuid
from collections.abc import Iterable, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
from deltalake.transaction import AddAction

ROWS_A_GROUP = 128 * 1024


class DataFile:
    """A file that is written block by block, so that a commit of any size takes the memory of some."""

    def __init__(
        self, folder: Path, schema: pa.Schema, *, statistics: Sequence[str], counted: Sequence[str] = ()
    ) -> None:
        """`statistics` are the columns by which Delta skips files; `counted` rise by one, and are stored as differences."""
        self._file = folder / f"part-{uuid.uuid4()}.parquet"
        self._schema = schema
        self._statistics = statistics
        self._counted = counted
        self._writer: pq.ParquetWriter | None = None
        self._waiting: list[pa.Table] = []

    def write(self, rows: pa.Table) -> None:
        self._waiting.append(rows)
        if sum(each.num_rows for each in self._waiting) >= ROWS_A_GROUP:
            self._write_waiting()

    def closed(self) -> AddAction | None:
        """What a commit says of the file; none if it has no rows, and is not there."""
        self._write_waiting()
        if self._writer is None:
            return None
        self._writer.close()
        return added(self._file, self._statistics)

    def given_up(self) -> None:
        """Remove what was written: the writer failed, and this process is there to say so."""
        if self._writer is not None:
            self._writer.close()
            self._file.unlink(missing_ok=True)

    def _write_waiting(self) -> None:
        rows = pa.concat_tables(self._waiting) if self._waiting else None
        self._waiting = []
        if rows is None or not rows.num_rows:
            return
        if self._writer is None:
            texts = [field.name for field in self._schema if field.type == pa.string() and field.name != "event_id"]
            self._writer = pq.ParquetWriter(
                self._file,
                self._schema,
                compression="snappy",
                use_dictionary=texts,
                column_encoding=dict.fromkeys(self._counted, "DELTA_BINARY_PACKED"),
                write_statistics=list(self._statistics),
                store_schema=False,
            )
        self._writer.write_table(rows, row_group_size=ROWS_A_GROUP)


def added(file: Path, statistics: Iterable[str]) -> AddAction:
    """What a commit says of a Parquet file, by what the file says of itself."""
    metadata, status = pq.read_metadata(file), file.stat()
    places = {metadata.schema.column(place).path: place for place in range(metadata.num_columns)}
    said: dict[str, Any] = {"numRecords": metadata.num_rows, "minValues": {}, "maxValues": {}, "nullCount": {}}
    for name in statistics:
        groups = [metadata.row_group(group).column(places[name]).statistics for group in range(metadata.num_row_groups)]
        if any(each is None for each in groups):
            continue
        said["nullCount"][name] = sum(each.null_count for each in groups)
        bounds = [each for each in groups if each.has_min_max]
        if bounds:
            said["minValues"][name] = _written(min(each.min for each in bounds))
            said["maxValues"][name] = _written(max(each.max for each in bounds))
    return AddAction(file.name, status.st_size, {}, status.st_mtime_ns // 1_000_000, True, json.dumps(said))


def _written(value: Any) -> Any:
    """As Delta writes it in statistics. Times are whole milliseconds, so nothing is cut off."""
    if not isinstance(value, datetime):
        return value
    return value.astimezone(UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")
