"""DuckDB joins and judges the keys; Spark's functions say the same of the same rows."""

import math
import random
from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import duckdb
import pyarrow as pa
import pytest
from game import catalogue
from pyspark.sql import DataFrame, Row, SparkSession
from pyspark.sql import functions as F

from lakehouse.batches import batch_schema
from lakehouse.lake import Lake, create_lake
from reconciliation import comparison, keys
from reconciliation.workspace import Workspace, workspace
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


@pytest.mark.parametrize(
    ("name", "batch", "candidate", "tolerance", "same"),
    [
        ("bubbles", 100, 105, 5.0, True),
        ("bubbles", 105, 100, 5.0, True),
        ("bubbles", 100, 105, 4.999, False),
        ("bubbles", 100, 95, 5.0, True),
        ("bubbles", 100, 94, 5.0, False),
        ("bubbles", 100, 101, 0.0, False),
        ("bubbles", 100, None, 5.0, False),
        ("bubbles", None, None, 5.0, True),
        ("players", 100, 105, 5.0, False),  # what is tolerated of one column is not of another
    ],
)
def test_a_cell_is_the_same_up_to_its_tolerance_and_no_further(
    name: str, batch: int | None, candidate: int | None, tolerance: float, same: bool
) -> None:
    result = catalogue()["team_scores"]
    found = _cell(result, name, batch, candidate, {"bubbles": tolerance})
    assert found == ([] if same else [name])


@pytest.mark.parametrize(("apart", "same"), [(1.5, True), (-1.5, True), (1.501, False), (-1.501, False)])
def test_a_tolerance_of_a_time_is_in_seconds(apart: float, same: bool) -> None:
    result, reached = catalogue()["level_ups"], START + timedelta(seconds=9)
    found = _cell(result, "reached_at", reached, reached + timedelta(seconds=apart), {"reached_at": 1.5})
    assert found == ([] if same else ["reached_at"])


def _cell(result: Result, name: str, batch: Any, candidate: Any, tolerance: dict[str, float]) -> list[str]:
    """What differs where one cell of both sides is this, and all others are the same."""
    with duckdb.connect() as database:
        for side, value in (("batch_rows", batch), ("candidate_rows", candidate)):
            row = {column.name: [None] for column in result.schema}
            row |= {"window_start": [START], "window_end": [START + timedelta(minutes=1)], "fingerprint": ["code"]}
            row |= {each: ["blue"] for each in result.key} | {name: [value]}
            database.register(side, pa.table(row))
        text = keys.compared(result, "select * from batch_rows", "select * from candidate_rows", tolerance=tolerance)
        [(found,)] = database.sql(f"select differing from ({text})").fetchall()
    return list(found)


@pytest.mark.parametrize(
    ("end", "state"), [(59.999, "beyond"), (60.0, "beyond"), (60.001, "equal"), (180.0, "equal"), (180.001, "open")]
)
def test_a_key_is_beyond_the_horizon_and_open_by_the_end_of_its_window(end: float, state: str) -> None:
    """Beyond comes first: of a row that ended at the horizon or before it the log may lack some of the events."""
    columns = "null::varchar[] as moved_by, []::varchar[] as differing, null::bigint as times"
    ended = (START + timedelta(seconds=end)).isoformat()
    text = keys.with_state(
        catalogue()["team_scores"],
        f"select timestamptz '{ended}' as window_end, {columns}",
        settled_before=START + timedelta(seconds=180),
        horizon_at=START + timedelta(seconds=60),
    )
    assert duckdb.sql(f"select state from ({text})").fetchall() == [(state,)]
