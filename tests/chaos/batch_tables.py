"""A batch table written by hand, as a recompute at a version of the log leaves it, without Spark."""

import json
from collections.abc import Sequence
from datetime import timedelta

import pyarrow as pa
from deltalake import CommitProperties, DeltaTable, write_deltalake

from chaos.witness import Row
from lakehouse.batches import Interval, batch_name, batch_schema, run_at
from lakehouse.lake import Lake
from lakehouse.log import position
from lakehouse.tables import create_table
from transformations.durations import from_millis
from transformations.result import Result


def write_batch(lake: Lake, result: Result, columns: Sequence[str], rows: Sequence[Row], version: int) -> None:
    """Replace the table by these rows; times are milliseconds. Columns that nobody named are null."""
    name, schema = batch_name(result), batch_schema(result)
    create_table(lake, name, schema, horizon=timedelta(days=365), append_only=False)
    table = DeltaTable(lake.table(name))
    arrow = pa.schema(table.schema().to_arrow())
    times = {field.name for field in schema.fields if field.dataType.typeName() == "timestamp"}
    said = [
        {**dict.fromkeys(arrow.names), "log_version": version, **_moments(dict(zip(columns, row, strict=True)), times)}
        for row in rows
    ]
    run = run_at(Interval(), position(lake, version), version).as_dict()
    properties = CommitProperties({"userMetadata": json.dumps({**run, "covered": [run]})})
    write_deltalake(table, pa.Table.from_pylist(said, arrow), mode="overwrite", commit_properties=properties)


def _moments(row: dict[str, object], times: set[str]) -> dict[str, object]:
    return {
        name: from_millis(value) if name in times and isinstance(value, int) else value for name, value in row.items()
    }
