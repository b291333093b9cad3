"""A late event touches a session that is still open: what follows in time belongs to it as well, however long that takes."""

from pathlib import Path

import pytest
from deliveries import heartbeat, land, pop
from game import catalogue
from pyspark.sql import SparkSession

from ingestion.ingest import ingest
from lakehouse.changelogs import boundaries, boundary, read_kappa
from lakehouse.identity import live_epoch
from lakehouse.lake import Lake
from lakehouse.settings import Settings
from speed_layer.stream import stream

SESSIONS = catalogue()["player_sessions"]
MINUTE = 60
FILES = (
    [pop("first", 0), heartbeat("a", 6.5 * MINUTE)],
    # Behind the mark by more than the five minutes that are allowed. The mark moves on: a micro-batch without news follows.
    [pop("late", 1 * MINUTE), heartbeat("still", 6.8 * MINUTE)],
    [pop("in time", 7 * MINUTE), heartbeat("b", 7.1 * MINUTE)],
    [heartbeat("end", 120 * MINUTE)],
)
"""One session of three events, the second of which is late while the session is open."""


@pytest.mark.parametrize("idle", [False, True], ids=["in one run", "with micro-batches without news in between"])
def test_a_session_that_was_repaired_while_open_gets_what_comes_in_time(
    spark: SparkSession, lake: Lake, landing: Path, settings: Settings, idle: bool
) -> None:
    each = settings.model_copy(update={"stream": settings.stream.model_copy(update={"commits_per_batch": 1})})
    for number, lines in enumerate(FILES):
        land(landing, f"{number}.jsonl", lines)
        ingest(None, lake, landing, each)
        if idle:
            stream(spark, lake, [SESSIONS], each)
    stream(spark, lake, [SESSIONS], each)
    after_the_repair = [one for one in boundaries(lake, SESSIONS, live_epoch(lake, SESSIONS)) if one.log_version == 2]
    assert len(after_the_repair) == (2 if idle else 1), "there was no micro-batch without news"
    [session] = read_kappa(spark, lake, SESSIONS, boundary(lake, SESSIONS)).collect()
    assert session.events == 3
