"""A lake by night: days of arrivals, each computed in batch once it is over, at a version of the log of its own."""

import json
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

from deliveries import at, heartbeat, land, pop
from game import catalogue
from pyspark.sql import SparkSession

from batch_layer.recompute import recompute
from ingestion.ingest import ingest
from lakehouse.batches import Interval
from lakehouse.lake import Lake, create_lake
from lakehouse.settings import load_settings

SETTINGS = load_settings(tried={"quality.late": "1"})
MIDNIGHT = datetime(2026, 3, 2, tzinfo=UTC)
HOUR, DAY = timedelta(hours=1), timedelta(days=1)
DAYS = 3
RESULTS = ("team_scores", "player_sessions", "offer_outcomes")


def seconds(moment: datetime) -> float:
    return (moment - datetime(2026, 3, 1, 10, tzinfo=UTC)).total_seconds()


def offer(event_id: str, moment: datetime, kind: str = "offer_shown", **more: Any) -> str:
    event = {
        "event_id": event_id,
        "kind": kind,
        "player_id": "alice",
        "offer_id": "o",
        "occurred_at": at(seconds(moment)),
    }
    return json.dumps({**event, **more})


def day(number: int) -> Interval:
    return Interval(MIDNIGHT + number * DAY, MIDNIGHT + (number + 1) * DAY)


def arrivals(number: int) -> list[str]:
    """What a day brings until its batch runs: a session across midnight, an offer, a pop that comes a day late."""
    start, name = MIDNIGHT + number * DAY, f"day-{number}"
    return [
        pop(f"{name}-noon", seconds(start + 12 * HOUR), bubbles=5 + number, player=f"noon-{number}"),
        pop(f"{name}-late", seconds(start - 13 * HOUR), bubbles=2, player="late"),
        offer(f"{name}-offer", start + 20 * HOUR, offer_id=name),
        pop(f"{name}-before", seconds(start + DAY - HOUR / 12), bubbles=3),
        pop(f"{name}-after", seconds(start + DAY + HOUR / 12), bubbles=4),
        heartbeat(f"{name}-mark", seconds(start + DAY + HOUR / 3)),
    ]


def nightly(spark: SparkSession, directory: Path, *, computed: tuple[int, ...] = tuple(range(DAYS))) -> Lake:
    """Three days of arrivals. Each night the day before is computed; at 02:30 of the last one the lake is validated."""
    lake, landing = create_lake(directory / "lake"), directory / "landing"
    landing.mkdir()
    for number in range(DAYS):
        land(landing, f"{number}.jsonl", arrivals(number))
        ingest(spark, lake, landing, SETTINGS)
        for name in RESULTS if number in computed else ():
            recompute(spark, lake, catalogue()[name], SETTINGS, interval=day(number))
    land(landing, "night.jsonl", [heartbeat("half past two", seconds(MIDNIGHT + DAYS * DAY + 2.5 * HOUR))])
    ingest(spark, lake, landing, SETTINGS)
    return lake
