"""DuckDB joins and judges the keys; Spark's functions say the same of the same rows."""

import math
import random
from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import DataFrame, Row, SparkSession
from pyspark.sql import functions as F

from lakehouse.batches import batch_schema
from lakehouse.lake import Lake, create_lake
from reconciliation import comparison, keys
from reconciliation.workspace import Workspace, workspace
from transformations.catalogue import catalogue
from transformations.changelog import changelog_schema, kappa_view
from transformations.result import Result
from transformations.windows import Tumbling

START = datetime(2026, 3, 1, tzinfo=UTC)
EPOCH, LOG_VERSION = 2, 3
NUMBERS = [0, -0.0, 1, -1, 2.5, 100.0, 104.8, 105.0, math.nan, math.inf, None]
TEXTS = ["blue", "", "o'neil", "ü\n", '"', None]
NAMES = ("player_sessions", "team_scores", "offer_outcomes", "reaction_times", "lifetime_totals", "active_players")


@pytest.fixture
def lake(tmp_path: Path) -> Lake:
    return create_lake(tmp_path / "a [lake] of 'one'")


def _value(chance: random.Random, kind: str) -> Any:
    if kind == "timestamp":
        return chance.choice([None, START + timedelta(milliseconds=chance.randrange(4))])
    if kind == "string":
        return chance.choice(TEXTS)
    if kind == "binary":
        return b"sketch"
    number = chance.choice(NUMBERS)
    if kind == "double" or number is None:
        return None if number is None else float(number)
    return int(number) if math.isfinite(number) else 0


def _rows(chance: random.Random, result: Result, count: int) -> list[dict[str, Any]]:
    """Rows with few keys, so that most have several revisions; windows as the result has them."""
    rows = []
    for _ in range(count):
        start = START + timedelta(minutes=chance.randrange(4))
        length = (
            timedelta(minutes=1) if isinstance(result.window, Tumbling) else timedelta(seconds=chance.randrange(200))
        )
        values = {value.name: _value(chance, value.type.simpleString()) for value in result.values}
        key = {name: chance.choice(TEXTS) for name in result.key}
        end = None if result.window.endless else start + length
        rows.append({**key, "window_start": start, "window_end": end, **values})
    return rows


def _revisions(chance: random.Random, result: Result) -> list[dict[str, Any]]:
    """Each with a rank of its own, so that no two can be told for each other; some are written twice as they are."""
    found = []
    for row in _rows(chance, result, 60):
        cause = chance.choice(["on_time", "late"])
        stamps = {
            "cause": cause, "deleted": chance.random() < 0.2, "settled": False, "epoch": chance.choice([1, 2, 2, 2]),
            "batch": chance.randrange(4), "log_version": chance.randrange(5), "written_at": START, "fingerprint": "code",
        }  # fmt: skip
        found.append({**row, **stamps})
    by = {}
    for row in found:
        identity = tuple(row[name] for name in result.identity)
        by[(*identity, row["cause"], row["log_version"], row["epoch"])] = row
    kept = list(by.values())
    return [*kept, *chance.sample(kept, 5)]


def _plain(rows: Sequence[Any]) -> list[str]:
    """In an order of their own; NaN and -0.0 as text."""
    return sorted(map(repr, rows))


def _collected(rows: DataFrame) -> list[tuple[Any, ...]]:
    return [_untyped(row) for row in rows.collect()]


def _untyped(value: Any) -> Any:
    if isinstance(value, Row):
        return tuple(map(_untyped, value))
    if isinstance(value, list):
        return [*map(_untyped, value)]
    return value


def _frames(spark: SparkSession, space: Workspace, result: Result, seed: int) -> tuple[DataFrame, DataFrame]:
    """Batch rows and revisions, in Spark and as the views of the workspace."""
    chance = random.Random(seed)
    batch = [{**row, "log_version": 3, "computed_at": START, "fingerprint": "old"} for row in _rows(chance, result, 30)]
    unique = list({tuple(row[name] for name in result.identity): row for row in batch}.values())
    frames = (
        spark.createDataFrame(unique, batch_schema(result)),
        spark.createDataFrame(_revisions(chance, result), changelog_schema(result)),
    )
    for name, rows in zip(("batch_rows", "changelog"), frames, strict=True):
        space.computed(name, rows)
    return frames


@pytest.mark.parametrize("name", NAMES)
def test_both_engines_find_the_same_cells_and_states(spark: SparkSession, lake: Lake, name: str) -> None:
    result = catalogue()[name]
    numeric = next(value.name for value in result.values if value.compared)
    for seed, tolerance in enumerate([{}, {numeric: 4.0}, {numeric: 0.001}]):
        with workspace(lake, result) as space:
            batch, changelog = _frames(spark, space, result, seed)
            view = kappa_view(changelog, result, epoch=EPOCH, log_version=LOG_VERSION)
            both = comparison.compared(batch, view, result, tolerance=tolerance)
            bounds = {
                "settled_before": START + timedelta(minutes=3),
                "horizon_at": START + timedelta(seconds=65),
            }
            judged = comparison.with_state(both, result, None, **bounds)
            columns = [
                *result.identity,
                "window_end",
                "batch",
                "candidate",
                "batch_code",
                "candidate_code",
                "differing",
            ]
            expected = _collected(judged.select(*columns, "state"))

            sql = keys.view(result, "select * from changelog", epoch=EPOCH, log_version=LOG_VERSION)
            text = keys.compared(result, "select * from batch_rows", sql, tolerance=tolerance)
            text = f"select *, null::varchar[] as moved_by, false as repaired, null::bigint as times from ({text})"
            space.made("keys", keys.with_state(result, text, **bounds))
            handed = space.handed(spark, "handed", "select * from keys", keys.keys_schema(result))
            rows = handed.select(*columns)
            states = space.database.sql("select state, count(*) from keys group by all").fetchall()
            assert _plain(_collected(rows)) == _plain([row[:-1] for row in expected])
            counted = judged.groupBy("state").count().collect()
            assert dict(states) == {row["state"]: row["count"] for row in counted}
            assert len(expected) >= 4


@pytest.mark.parametrize("name", NAMES)
def test_what_was_written_twice_or_repaired_is_counted(spark: SparkSession, lake: Lake, name: str) -> None:
    result = catalogue()[name]
    with workspace(lake, result) as space:
        _, changelog = _frames(spark, space, result, 7)
        mine = changelog.where(F.col("epoch") == EPOCH)
        written = mine.groupBy(*result.identity, "log_version", "cause").agg(F.count(F.lit(1)).alias("n"))
        expected = written.groupBy(*result.identity).agg(
            F.bool_or(F.col("cause") != "on_time").alias("repaired"), F.when(F.max("n") > 1, F.max("n")).alias("times")
        )
        found = space.database.sql(keys.revised(result, "select * from changelog", epoch=EPOCH)).fetchall()
        numbers = sorted((row[-2], row[-1] or 0) for row in found)
        assert numbers == sorted((row.repaired, row.times or 0) for row in expected.collect())
        assert any(times for _, times in numbers)
