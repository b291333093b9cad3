"""A small clean lake to check, and how to give a copy of it other columns. Rows are changed by `corrupted`."""

import json
from collections.abc import Callable
from pathlib import Path

from corrupted import Rows, rewrite, stored
from deliveries import heartbeat, land, pop
from game import catalogue
from pyspark.sql import SparkSession

from batch_layer.recompute import recompute
from ingestion.ingest import ingest
from lakehouse.lake import Lake, create_lake
from lakehouse.settings import Settings, load_settings
from reconciliation.history import keep
from reconciliation.reconcile import reconcile
from speed_layer.legacy import legacy
from speed_layer.stream import stream
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
        rewrite(commit, actions)
