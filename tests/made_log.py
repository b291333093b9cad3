"""A log made by hand: rows as ingestion would have written them, committed without a JVM."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import replace
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

import pyarrow as pa
from deltalake import CommitProperties, DeltaTable, Transaction
from game import KINDS, LOG_COLUMNS, SCHEMA
from pyspark.sql import DataFrame, SparkSession

from ingestion.table import create_arrivals
from lakehouse.arrivals import ARRIVALS, EVENT, EVENTS, STATISTICS
from lakehouse.data_file import DataFile
from lakehouse.lake import Lake
from lakehouse.log import position
from quality.log_rules import schema_of
from transformations.durations import to_millis

Row = Mapping[str, Any]


def made_log(lake: Lake, commits: Sequence[Sequence[Row]], *, horizon: timedelta) -> None:
    """Append the commits that the log does not have yet. A row says its event's columns; its place follows from the order."""
    create_arrivals(lake, horizon=horizon)
    for batch in range(position(lake).batch + 1, len(commits)):
        append_events(lake, commits[batch], batch)


def append_events(lake: Lake, events: Sequence[Row], batch: int) -> None:
    """One commit of events as micro-batch `batch`."""
    before, mark, rows, behind = position(lake), position(lake).high_water, [], []
    for place, event in enumerate(events, start=1):
        mark = event["event_time"] if mark is None else max(mark, event["event_time"])
        behind.append((mark - event["event_time"]) // timedelta(milliseconds=1))
        stamps = {"arrival": before.arrivals + place, "seq": before.seq + place, "high_water": mark, "fate": EVENT}
        origin = {"file": "made", "line": place, "batch": batch, "occurred_at": event["event_time"], "requeued": False}
        rows.append({**dict.fromkeys(SCHEMA.names), **origin, **stamps, **event})
    count = len(rows)
    after = replace(before, seq=before.seq + count, arrivals=before.arrivals + count, high_water=mark, batch=batch)
    times = [to_millis(event["event_time"]) for event in events]
    own = {"events": count, "least": min(times, default=None), "greatest": max(times, default=None)}
    own["behind"] = max(behind, default=None)
    commit_rows(lake, rows, {**after.said, "token": f"made {batch}", "of_commit": own}, transaction=batch)


def commit_rows(lake: Lake, rows: Sequence[Row], said: Row, *, transaction: int | None = None) -> None:
    """One commit of any rows, which says what it is told to say."""
    table = DeltaTable(lake.table(lake.of_log(ARRIVALS)))
    file = DataFile(Path(lake.table(lake.of_log(ARRIVALS))), SCHEMA, statistics=STATISTICS)
    if rows:
        file.write(pa.Table.from_pylist([dict(row) for row in rows], SCHEMA))
    added = file.closed()
    properties = CommitProperties(
        {"userMetadata": json.dumps(dict(said))},
        app_transactions=None if transaction is None else [Transaction("ingest", transaction)],
    )
    table.create_write_transaction([] if added is None else [added], "append", SCHEMA, commit_properties=properties)


def log_frame(spark: SparkSession, events: Sequence[Row]) -> DataFrame:
    """Rows of the log as a frame, without a lake."""
    rows = [tuple({**dict.fromkeys(LOG_COLUMNS), **event}[name] for name in LOG_COLUMNS) for event in events]
    return spark.createDataFrame(rows, schema_of(EVENTS, KINDS))


def moment(text: str) -> datetime:
    return datetime.fromisoformat(text)
