"""One small lake that agrees, for the tests that plant something in a copy of it."""

from pathlib import Path

import pytest
from deliveries import heartbeat, land, pop
from game import catalogue
from made_once import made_once
from pyspark.sql import SparkSession

from batch_layer.recompute import recompute
from ingestion.ingest import ingest
from lakehouse.lake import Lake, create_lake, open_lake
from lakehouse.settings import load_settings
from speed_layer.stream import stream

HOUR = 3600


def agreeing_lake(spark: SparkSession, directory: Path) -> Lake:
    """Pops of the hour from 10:00, of which a team scores in every tenth minute; then one row of each fate in an hour of its
    own, none of which any team's score knows; at last a mark that settles all."""
    lake, landing, settings = create_lake(directory / "lake"), directory / "landing", load_settings()
    landing.mkdir()
    pops = [pop(f"pop {minute}", 60 * minute + 5, bubbles=10 + minute) for minute in range(0, 60, 10)]
    land(landing, "1.jsonl", [*pops, heartbeat("event", HOUR + 600), heartbeat("copied", 2 * HOUR + 600)])
    broken = pop("broken", 3 * HOUR + 600).replace("bubbles_popped", "raid_started")
    land(landing, "2.jsonl", [heartbeat("copied", 2 * HOUR + 600), broken, heartbeat("end", 9 * HOUR)])
    ingest(None, lake, landing, settings)
    result = catalogue(settings.windows_by_result)["team_scores"]
    stream(spark, lake, [result], settings)
    recompute(spark, lake, result, settings)
    return lake


@pytest.fixture(scope="session")
def agreeing(spark: SparkSession, tmp_path_factory: pytest.TempPathFactory, worker_id: str) -> Lake:
    shared = made_once(tmp_path_factory, worker_id, "agreeing", lambda directory: agreeing_lake(spark, directory))
    return open_lake(shared / "lake")
