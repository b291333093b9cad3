"""A small clean lake to check, and how to corrupt a copy of it: rows of a data file are changed in place, as a broken
writer would leave them. The commits stay as they are, so that every version and every boundary is where it was."""

import json
import shutil
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
from deliveries import heartbeat, land, pop
from pyspark.sql import SparkSession

from batch_layer.recompute import recompute
from ingestion.ingest import ingest
from lakehouse.arrivals import ARRIVALS
from lakehouse.lake import Lake, create_lake
from lakehouse.settings import Settings, load_settings
from reconciliation.history import keep
from reconciliation.reconcile import reconcile
from speed_layer.legacy import legacy
from speed_layer.stream import stream
from transformations.catalogue import catalogue
from transformations.result import Result

RESULTS = ("team_scores", "level_ups", "player_sessions")
PLAYERS = ("zoe-4711", "yan-4712", "xia-4713")
TEAM = "<b onclick=x>red</b>"
SMALL = {
    "quality.late": "0.5",
    "quality.duplicates": "0.5",
    "quality.quarantined": "0.5",
    "ingestion.files_per_batch": "1",
}

Rows = list[dict[str, Any]]
Change = Callable[[Rows], Rows]


def small_settings(**tried: str) -> Settings:
    """A lake of few lines has large shares."""
    return load_settings(tried={**SMALL, **{name.replace("__", "."): value for name, value in tried.items()}})


def declared(settings: Settings) -> list[Result]:
    known = catalogue(settings.windows_by_result)
    return [known[name] for name in RESULTS]


def clean_lake(spark: SparkSession, directory: Path) -> Lake:
    """A late event, a copy, a broken line; every layer has run, and the log has gone on by ten minutes since."""
    lake, landing, settings = create_lake(directory / "lake"), directory / "landing", small_settings()
    landing.mkdir()
    zoe, yan, xia = PLAYERS
    first = [
        pop("a", 10, bubbles=600, player=zoe, reaction_ms=200), pop("b", 50, bubbles=3, player=zoe, team=TEAM),
        pop("c", 2000, bubbles=4, player=zoe), pop("d", 2010, bubbles=5, player=yan),
    ]  # fmt: skip
    land(landing, "1.jsonl", first)
    land(landing, "2.jsonl", [first[1], "not JSON", pop("late", 20, bubbles=-7, player=xia), heartbeat("tick", 9000)])
    ingest(spark, lake, landing, settings)
    results = declared(settings)
    stream(spark, lake, results, settings)
    for result in results:
        recompute(spark, lake, result, settings)
    legacy(spark, lake, settings)
    keep(spark, lake, reconcile(spark, lake, results[:1], settings, candidate="legacy"), settings)
    land(landing, "3.jsonl", [heartbeat("tock", 9600)])
    ingest(spark, lake, landing, settings)
    return lake


def copied(lake: Lake, directory: Path) -> Lake:
    shutil.copytree(lake.path, directory / "lake", ignore=shutil.ignore_patterns("checkpoints", "quality"))
    return replace(lake, path=directory / "lake")


FATES = {"events": "event", "duplicates": "duplicate", "quarantine": "quarantined"}
"""What is checked under these names are the rows of the arrivals with this fate."""


def stored(table: str) -> str:
    return ARRIVALS if table in FATES else table


def corrupt(lake: Lake, table: str, change: Change) -> None:
    """Change the rows of a table, file by file; a file that stays as it is is left alone."""
    folder = lake.path / "tables" / stored(table)
    change = of_fate(FATES[table], change) if table in FATES else change
    for commit in sorted((folder / "_delta_log").glob("*.json")):
        actions = [json.loads(line) for line in commit.read_text().splitlines()]
        for add in (action["add"] for action in actions if "add" in action):
            file = folder / add["path"]
            found = pq.read_table(file)
            rows = change(found.to_pylist())
            if rows != found.to_pylist():
                pq.write_table(pa.Table.from_pylist(rows, schema=found.schema), file)
                file.with_name(f".{file.name}.crc").unlink(missing_ok=True)
                add["size"] = file.stat().st_size
            add.pop("stats", None)
        _rewrite(commit, actions)


def of_fate(fate: str, change: Change) -> Change:
    """The change for the rows of one fate. The others stay."""

    def changed(rows: Rows) -> Rows:
        return [row for row in rows if row["fate"] != fate] + change([row for row in rows if row["fate"] == fate])

    return changed


def add_column(lake: Lake, table: str) -> None:
    """Give a table a column that nobody declared."""
    _change_schema(
        lake, table, lambda fields: [*fields, {"name": "extra", "type": "long", "nullable": True, "metadata": {}}]
    )


def drop_column(lake: Lake, table: str, name: str) -> None:
    """Take a column from a table."""
    _change_schema(lake, table, lambda fields: [field for field in fields if field["name"] != name])


def _change_schema(lake: Lake, table: str, change: Callable[[Rows], Rows]) -> None:
    for commit in (lake.path / "tables" / stored(table) / "_delta_log").glob("*.json"):
        actions = [json.loads(line) for line in commit.read_text().splitlines()]
        for meta in (action["metaData"] for action in actions if "metaData" in action):
            schema = json.loads(meta["schemaString"])
            meta["schemaString"] = json.dumps({**schema, "fields": change(schema["fields"])})
        _rewrite(commit, actions)


def _rewrite(commit: Path, actions: Rows) -> None:
    commit.write_text("".join(json.dumps(action) + "\n" for action in actions))
    commit.with_name(f".{commit.name}.crc").unlink(missing_ok=True)
    commit.with_suffix(".crc").unlink(missing_ok=True)


def where(column: str, value: Any, **changes: Any) -> Change:
    """The rows whose column has the value, changed; a change may be a function of the row."""

    def changed(rows: Rows) -> Rows:
        return [{**row, **_values(row, changes)} if row[column] == value else row for row in rows]

    return changed


def without(column: str, value: Any) -> Change:
    return lambda rows: [row for row in rows if row[column] != value]


def twice(column: str, value: Any) -> Change:
    return lambda rows: [again for row in rows for again in [row] * (2 if row[column] == value else 1)]


def _values(row: dict[str, Any], changes: dict[str, Any]) -> dict[str, Any]:
    return {name: value(row) if callable(value) else value for name, value in changes.items()}
