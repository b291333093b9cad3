"""Tables of both layers written by hand, as a run at a version of the log leaves them, without Spark."""

import json
from collections.abc import Mapping, Sequence
from datetime import timedelta

import pyarrow as pa
from deltalake import CommitProperties, DeltaTable, write_deltalake
from pyspark.sql.types import StructType

from chaos.witness import Row
from lakehouse.batches import Interval, batch_name, batch_schema, run_at
from lakehouse.changelogs import changelog_name
from lakehouse.identity import begun_epoch
from lakehouse.lake import Lake
from lakehouse.log import position
from lakehouse.tables import create_table
from transformations.changelog import changelog_schema
from transformations.durations import from_millis, to_millis
from transformations.result import Result

HORIZON = timedelta(days=365)


def write_batch(lake: Lake, result: Result, columns: Sequence[str], rows: Sequence[Row], version: int) -> None:
    """Replace the table by these rows; times are milliseconds. Columns that nobody named are null."""
    create_table(lake, batch_name(result), batch_schema(result), horizon=HORIZON, append_only=False)
    run = run_at(Interval(), position(lake, version), version).as_dict()
    stamps = {"log_version": version}
    _replace(lake, batch_name(result), batch_schema(result), columns, rows, stamps, {**run, "covered": [run]})


def write_stream(lake: Lake, result: Result, columns: Sequence[str], rows: Sequence[Row], version: int) -> None:
    """One micro-batch of a first epoch, with rows that the engine has told; it has told all that is settled."""
    epoch = begun_epoch(lake, result, since=0)
    create_table(lake, changelog_name(result), changelog_schema(result), horizon=HORIZON, append_only=False)
    stamps = {"cause": "on_time", "deleted": False, "epoch": epoch.number, "batch": 0, "log_version": version}
    mark = position(lake, version).high_water
    assert mark is not None
    said = {"epoch": epoch.number, "batch": 0, "log_version": version, "watermark": to_millis(mark)}
    _replace(lake, changelog_name(result), changelog_schema(result), columns, rows, stamps, said)


def _replace(
    lake: Lake,
    name: str,
    schema: StructType,
    columns: Sequence[str],
    rows: Sequence[Row],
    stamps: Mapping[str, object],
    said: Mapping[str, object],
) -> None:
    table = DeltaTable(lake.table(name))
    arrow = pa.schema(table.schema().to_arrow())
    times = {field.name for field in schema.fields if field.dataType.typeName() == "timestamp"}
    empty = {**dict.fromkeys(arrow.names), **stamps}
    full = [{**empty, **_moments(dict(zip(columns, row, strict=True)), times)} for row in rows]
    properties = CommitProperties({"userMetadata": json.dumps(said)})
    write_deltalake(table, pa.Table.from_pylist(full, arrow), mode="overwrite", commit_properties=properties)


def _moments(row: dict[str, object], times: set[str]) -> dict[str, object]:
    return {
        name: from_millis(value) if name in times and isinstance(value, int) else value for name, value in row.items()
    }
