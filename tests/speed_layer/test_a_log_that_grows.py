"""A log that gets a column under its streams: they go on, whether they run or are started again, and stay right."""

import threading
from datetime import timedelta
from pathlib import Path

import pyarrow as pa
import pytest
from deliveries import heartbeat, land, pop
from game import KINDS, SCHEMA, catalogue
from pyspark.sql import SparkSession

import ingestion.growth
import lakehouse.log
from batch_layer.recompute import recompute
from ingestion.ingest import ingest
from lakehouse.arrivals import ARRIVALS
from lakehouse.changelogs import boundary
from lakehouse.control import control_boundary
from lakehouse.lake import Lake
from lakehouse.log import arrivals_at, newest_version, position
from lakehouse.settings import Settings, Stream
from lakehouse.tables import read_table
from reconciliation.reconcile import reconcile
from speed_layer.legacy import legacy
from speed_layer.stream import stream

RESULTS = [catalogue()[name] for name in ("team_scores", "player_sessions", "offer_outcomes", "hot_minutes")]
"""One of each way: the engine's aggregation, sessions, a join, and a result that is recomputed."""
ENOUGH = 120.0


def deliver(lake: Lake, landing: Path, settings: Settings, number: int) -> None:
    """A minute of events and, from the second one on, one that is late."""
    late = [pop(f"late {number}", (number - 2) * 60, bubbles=3)] if number > 1 else []
    beats = [heartbeat(f"beat {number}", number * 60 + 59)]
    land(landing, f"{number}.jsonl", [pop(f"{number}", number * 60, bubbles=500 * number), *late, *beats])
    ingest(None, lake, landing, settings)


def grow(lake: Lake, landing: Path, settings: Settings, monkeypatch: pytest.MonkeyPatch, name: str) -> None:
    """Another process declares a field, and ingests."""
    grown = ingestion.growth.schema(KINDS).append(pa.field(name, pa.list_(pa.string())))
    monkeypatch.setattr(ingestion.growth, "schema", lambda _: grown)
    ingest(None, lake, landing, settings)


@pytest.fixture
def own(settings: Settings) -> Settings:
    often = Stream(interval=timedelta(milliseconds=200), commits_per_batch=1)
    embedded = settings.ingestion.model_copy(update={"engine": "embedded"})
    return settings.model_copy(update={"stream": often, "ingestion": embedded})


def assert_right(spark: SparkSession, lake: Lake, settings: Settings) -> None:
    for result in RESULTS:
        recompute(spark, lake, result, settings)
    verdict = reconcile(spark, lake, RESULTS, settings)
    assert [each.differing for each in verdict.results] == [0] * len(RESULTS)
    assert all(each.keys for each in verdict.results if each.result != "offer_outcomes")
    assert {boundary(lake, result).log_version for result in RESULTS} == {position(lake).version}
    assert {boundary(lake, result).epoch for result in RESULTS} == {1}


def test_a_stream_that_is_started_again_goes_on(
    spark: SparkSession, lake: Lake, landing: Path, own: Settings, monkeypatch: pytest.MonkeyPatch
) -> None:
    deliver(lake, landing, own, 1)
    stream(spark, lake, RESULTS, own)
    legacy(spark, lake, own)
    grow(lake, landing, own, monkeypatch, "room_id")
    deliver(lake, landing, own, 2)
    stream(spark, lake, RESULTS, own)
    legacy(spark, lake, own)
    assert control_boundary(lake).log_version == position(lake).version
    assert_right(spark, lake, own)


def test_a_stream_that_runs_goes_on_by_itself(
    spark: SparkSession, lake: Lake, landing: Path, own: Settings, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Twice, with events before, between and after."""
    deliver(lake, landing, own, 1)
    stop, failures = threading.Event(), []

    def streaming() -> None:
        try:
            stream(spark.newSession(), lake, RESULTS, own, continuous=True, stop=stop.is_set)
        except BaseException as error:
            failures.append(error)

    running = threading.Thread(target=streaming)
    running.start()
    try:
        wait_for(lake, running)
        for number in (2, 4):
            grow(lake, landing, own, monkeypatch, f"field_{number}")
            deliver(lake, landing, own, number)
            wait_for(lake, running)
            deliver(lake, landing, own, number + 1)
            wait_for(lake, running)
    finally:
        stop.set()
        running.join(ENOUGH)
    assert not failures, failures
    assert_right(spark, lake, own)


def wait_for(lake: Lake, running: threading.Thread) -> None:
    """Until every stream has come as far as the log."""
    patience = threading.Event()
    for _ in range(int(ENOUGH * 5)):
        patience.wait(0.2)
        if not running.is_alive():
            return
        try:
            if all(boundary(lake, result).log_version == position(lake).version for result in RESULTS):
                return
        except Exception:  # a table that is not there yet
            continue
    raise AssertionError("the streams have not come as far as the log")


def test_the_log_of_before_is_read_with_the_columns_of_now(
    spark: SparkSession, lake: Lake, landing: Path, own: Settings, monkeypatch: pytest.MonkeyPatch
) -> None:
    """At an earlier version, and before the table has grown at all."""
    deliver(lake, landing, own, 1)
    before, grown = newest_version(lake), SCHEMA.append(pa.field("room_id", pa.string()))
    monkeypatch.setattr(lakehouse.log, "schema", lambda _: grown)
    assert [row.room_id for row in arrivals_at(spark, lake, before).collect()] == [None, None]
    monkeypatch.setattr(ingestion.growth, "schema", lambda _: grown)
    deliver(lake, landing, own, 2)
    assert "room_id" in read_table(spark, lake, ARRIVALS).columns
    assert [row.room_id for row in arrivals_at(spark, lake, before).collect()] == [None, None]
    assert [row.room_id for row in arrivals_at(spark, lake, newest_version(lake), whole=True).collect()] == [None] * 5
