"""The log read from the files that its table names is the log that Delta gives at a version, and so is each part of it."""

import json
import random
from datetime import timedelta
from pathlib import Path

import pytest
from deliveries import START, heartbeat, land, pop
from deltalake import DeltaTable
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F
from seeds import chance

from ingestion.ingest import ingest
from lakehouse.arrivals import ARRIVALS
from lakehouse.lake import Lake
from lakehouse.log import log_at, newest_version, position
from lakehouse.log_files import LogFiles
from lakehouse.log_summary import LogSummary, log_summary
from lakehouse.settings import Settings, load_settings

FILES = 12
ALLOWED = timedelta(minutes=5)


@pytest.fixture
def drawn(lake: Lake, landing: Path) -> random.Random:
    """A log of some commits with late events, copies and broken lines; one commit has no event at all."""
    rng = chance("files of the log")
    for number in range(FILES):
        seconds = [number * 60 + rng.randrange(60) - rng.choice((0, 0, 900)) for _ in range(rng.randrange(1, 6))]
        lines = [pop(f"{number}-{place}", second, bubbles=place) for place, second in enumerate(seconds)]
        land(landing, f"{number:02}.jsonl", ["not JSON"] if number == 5 else [*lines, lines[0], "broken"])
    settings = load_settings(tried={"ingestion.files_per_batch": "1"})
    ingest(None, lake, landing, settings)
    return rng


def rows(frame: DataFrame) -> list[tuple[int, str]]:
    return sorted((row.seq, row.event_id) for row in frame.select("seq", "event_id").collect())


def agrees_with_delta(spark: SparkSession, lake: Lake, rng: random.Random, times: int = 6) -> None:
    log = LogFiles(lake)
    for _ in range(times):
        version = rng.randint(1, newest_version(lake))
        after = rng.randint(0, version)
        first = START + timedelta(seconds=rng.randrange(-900, FILES * 60))
        last = first + timedelta(seconds=rng.randrange(600))
        whole = log_at(spark, lake, version)
        assert rows(log.read(spark, version)) == rows(whole)
        assert rows(log.read(spark, version, after=after)) == rows(
            whole.where(F.col("seq") > position(lake, after).seq)
        )
        within = F.col("event_time").between(F.lit(first), F.lit(last))
        assert rows(log.read(spark, version, first=first, last=last)) == rows(whole.where(within))


def test_any_part_of_the_log_at_any_version_is_what_delta_gives(
    spark: SparkSession, lake: Lake, drawn: random.Random
) -> None:
    agrees_with_delta(spark, lake, drawn)


def test_a_compaction_changes_nothing(spark: SparkSession, lake: Lake, drawn: random.Random) -> None:
    DeltaTable(lake.table(ARRIVALS)).optimize.compact()
    assert len(DeltaTable(lake.table(ARRIVALS)).file_uris()) == 1
    agrees_with_delta(spark, lake, drawn, times=3)


def test_a_file_of_which_nothing_is_known_is_read(spark: SparkSession, lake: Lake, drawn: random.Random) -> None:
    """Another tool may write commits without statistics."""
    for version in (2, 3):
        commit = Path(lake.table(ARRIVALS)) / "_delta_log" / f"{version:020d}.json"
        actions = [json.loads(line) for line in commit.read_text().splitlines()]
        for action in actions:
            action.get("add", {}).pop("stats", None)
        commit.write_text("".join(json.dumps(action) + "\n" for action in actions))
    agrees_with_delta(spark, lake, drawn, times=3)


def test_the_commits_say_what_a_part_of_the_log_has(spark: SparkSession, lake: Lake, drawn: random.Random) -> None:
    newest = newest_version(lake)
    for _ in range(6):
        after = drawn.randint(0, newest - 1)
        version = drawn.randint(after + 1, newest)
        part = log_at(spark, lake, version).where(F.col("seq") > position(lake, after).seq)
        behind = F.max(F.unix_millis("high_water") - F.unix_millis("event_time"))
        [[events, least, greatest, most]] = part.agg(
            F.count("*"), F.min(F.unix_millis("event_time")), F.max(F.unix_millis("event_time")), behind
        ).collect()
        found = log_summary(lake, after, version)
        assert found is not None and found.events == events
        if events:
            assert found.least is not None and found.greatest is not None and found.behind is not None
            assert (found.least.timestamp() * 1000, found.greatest.timestamp() * 1000) == (least, greatest)
            assert found.behind == timedelta(milliseconds=most)
            late = part.where(F.unix_millis("high_water") - F.unix_millis("event_time") >= 300_000)
            assert found.may_have_late(ALLOWED) == (not late.isEmpty())


def test_a_commit_without_events_has_none_that_are_late(lake: Lake, landing: Path, settings: Settings) -> None:
    land(landing, "1.jsonl", [heartbeat("tick", 0)])
    ingest(None, lake, landing, settings)
    land(landing, "2.jsonl", ["not JSON"])
    ingest(None, lake, landing, settings)
    assert log_summary(lake, 1, 2) == LogSummary() and not LogSummary().may_have_late(ALLOWED)
