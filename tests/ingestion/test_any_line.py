"""Lines of any content: none stops ingestion, alone in its micro-batch or among others, and the audit counts them as it does.

The audit reads them by code of its own. NASTY_SEED chooses other generated lines (tests/nasty_lines.py).
"""

import codecs
from dataclasses import replace
from datetime import timedelta
from pathlib import Path

import pytest
from deliveries import START, land
from judged_lines import undated
from logged import arrivals, assert_whole, rows
from nasty_lines import ALONE, SEED, wide
from pyspark.sql import SparkSession

from ingestion.ingest import ingest
from ingestion.reingest import reingest
from ingestion.requeue import requeue
from lakehouse.arrivals import EVENT
from lakehouse.lake import Lake
from lakehouse.log import position
from lakehouse.settings import ClockTolerances, Settings, load_settings
from reconciliation.audit import audited, bucket

MANY = 800
GENERATED = 40
"""How many of the generated ones are tried alone."""
NOW = START + timedelta(hours=1)
"""The clock of ingestion."""


seeded = pytest.mark.parametrize("seed", [SEED], ids="NASTY_SEED={}".format)
"""The name of a test that failed says how to run it again."""


def assert_balanced(spark: SparkSession, lake: Lake) -> None:
    """Each hour has as many lines as landed."""
    audit = audited(spark, lake, position(lake).version)
    assert audit.unavailable is None
    assert not [each for each in audit.buckets if each.landed != each.accepted + each.duplicate + each.quarantined]


@seeded
def test_no_line_stops_ingestion_when_it_is_alone(
    spark: SparkSession, lake: Lake, landing: Path, settings: Settings, seed: int
) -> None:
    alone = [*ALONE.values(), *wide(GENERATED, seed)]
    for number, line in enumerate(alone):
        land(landing, f"{number:02}.jsonl", [line])
    (landing / "99 a byte order mark.jsonl").write_bytes(codecs.BOM_UTF8)
    ingest(None, lake, landing, settings, files_per_batch=1, clock=lambda: NOW)
    at = position(lake)
    assert (at.batch, at.lines) == (len(alone), len(alone))
    assert at.high_water is not None and at.high_water <= NOW
    assert_whole(lake)
    assert_balanced(spark, lake)


@seeded
def test_of_many_lines_the_log_and_the_audit_say_the_same(
    spark: SparkSession, lake: Lake, landing: Path, settings: Settings, seed: int
) -> None:
    land(landing, "many.jsonl", [*wide(MANY, seed), *ALONE.values()])
    ingest(None, lake, landing, settings, clock=lambda: NOW)
    events = rows(lake, EVENT, "occurred_at", "event_time", "raw")
    for occurred_at, event_time, raw in events:
        assert f"{occurred_at.isoformat()[:13]}:00Z" == bucket(raw), raw[:500]
        assert settings.clock.floor <= event_time <= NOW + settings.clock.future
    assert MANY / 10 < len(events) < MANY, "neither none nor all"
    assert_whole(lake)
    assert_balanced(spark, lake)


@seeded
def test_a_lake_without_names_takes_any_line_and_can_judge_it_again(
    spark: SparkSession, lake: Lake, landing: Path, seed: int
) -> None:
    key = {"ingestion.pseudonym_key": "long-enough-for-a-key-of-this-lake"}
    settings = load_settings(tried=key)
    later = undated(event_id="later", occurred_at="2099-06-01T00:00:00Z")
    land(landing, "many.jsonl", [*wide(MANY // 2, seed + 1), *ALONE.values(), later])
    ingest(None, lake, landing, settings, clock=lambda: NOW)
    assert_balanced(spark, lake)
    believing = settings.model_copy(update={"clock": ClockTolerances(future=timedelta(days=36500))})
    assert requeue(lake, believing).accepted > 0
    assert_balanced(spark, lake)
    reingest(lake, believing, as_log=2)
    assert arrivals(replace(lake, log=2)).num_rows == position(lake).lines
