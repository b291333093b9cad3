"""Lines of any content: none stops ingestion, alone in its micro-batch or among others, and the audit counts them as Spark does.

The audit reads them with Python. NASTY_SEED chooses other generated lines (tests/nasty_lines.py).
"""

import codecs
from collections import Counter
from datetime import timedelta
from pathlib import Path

import pytest
from deliveries import START, land
from judged_lines import undated
from nasty_lines import ALONE, SEED, wide
from pyspark.sql import Row, SparkSession

from lakehouse.lake import Lake
from lakehouse.log import DUPLICATES, EVENTS, position, waiting
from lakehouse.settings import ClockTolerances, Settings, load_settings
from lakehouse.tables import read_table
from reconciliation.audit import audited, bucket
from speed_layer.ingest import ingest
from speed_layer.intake import destinations, first_arrivals, judged
from speed_layer.lines import numbered, read_lines
from speed_layer.reingest import reingest
from speed_layer.requeue import requeue
from transformations.durations import from_millis

MANY = 800
GENERATED = 4
"""How many of the generated ones are tried alone: a micro-batch takes seconds."""
NOW = START + timedelta(hours=1)
"""The clock of ingestion."""


seeded = pytest.mark.parametrize("seed", [SEED], ids="NASTY_SEED={}".format)
"""The name of a test that failed says how to run it again."""


def assert_balanced(spark: SparkSession, lake: Lake) -> None:
    """Every landed line is in one table, and each hour has as many as landed."""
    audit = audited(spark, lake, position(lake).version)
    assert audit.unavailable is None
    assert not [each for each in audit.buckets if each.landed != each.accepted + each.duplicate + each.quarantined]
    tables = (read_table(spark, lake, EVENTS), read_table(spark, lake, DUPLICATES), waiting(spark, lake))
    places = Counter(place for table in tables for place in table.select("batch", "file", "line").collect())
    assert set(places.values()) == {1}


@seeded
def test_no_line_stops_ingestion_when_it_is_alone(
    spark: SparkSession, lake: Lake, landing: Path, settings: Settings, seed: int
) -> None:
    alone = [*ALONE.values(), *wide(GENERATED, seed)]
    for number, line in enumerate(alone):
        land(landing, f"{number:02}.jsonl", [line])
    (landing / "99 a byte order mark.jsonl").write_bytes(codecs.BOM_UTF8)
    ingest(spark, lake, landing, settings, files_per_batch=1, clock=lambda: NOW)
    at = position(lake)
    assert (at.batch, at.lines) == (len(alone), len(alone))
    assert at.high_water is not None and at.high_water <= NOW
    assert_balanced(spark, lake)


@seeded
def test_of_many_lines_spark_and_the_audit_say_the_same(
    spark: SparkSession, lake: Lake, landing: Path, settings: Settings, seed: int
) -> None:
    """What the driver converts is converted for each line, as if it were alone."""
    file = land(landing, "many.jsonl", [*wide(MANY, seed), *ALONE.values()])
    found = judged(read_lines(spark, [Row(path=str(file), place=0)], batch=0, ingested_at=NOW), settings)
    hour = "date_format(occurred_at, \"yyyy-MM-dd'T'HH:00'Z'\") as hour"
    rows = numbered(found).selectExpr("reason", "cast(value as binary) as raw", "unix_millis(event_time) as time", hour)
    events = 0
    for row in rows.collect():
        if row.reason is None:
            events += 1
            assert row.hour == bucket(bytes(row.raw)), bytes(row.raw)[:500]
            assert settings.clock.floor <= from_millis(row.time) <= NOW + settings.clock.future
    assert MANY / 10 < events < MANY, "neither none nor all"
    ingest(spark, lake, landing, settings, clock=lambda: NOW)
    assert_balanced(spark, lake)
    placed = first_arrivals(spark, lake, numbered(found).where("reason is null"))
    assert destinations(found, placed)["broken"].latest is None


@seeded
def test_a_lake_without_names_takes_any_line_and_can_judge_it_again(
    spark: SparkSession, lake: Lake, landing: Path, seed: int
) -> None:
    key = {"ingestion.pseudonym_key": "long-enough-for-a-key-of-this-lake"}
    settings = load_settings(tried=key)
    later = undated(event_id="later", occurred_at="2099-06-01T00:00:00Z")
    land(landing, "many.jsonl", [*wide(MANY // 2, seed + 1), *ALONE.values(), later])
    ingest(spark, lake, landing, settings, clock=lambda: NOW)
    assert_balanced(spark, lake)
    believing = settings.model_copy(update={"clock": ClockTolerances(future=timedelta(days=36500))})
    assert requeue(spark, lake, believing).accepted > 0
    assert_balanced(spark, lake)
    reingest(spark, lake, believing, as_log=2)
    counts = [len(read_table(spark, lake, name).collect()) for name in ("events@2", "duplicates@2", "quarantine@2")]
    assert sum(counts) == position(lake).lines
