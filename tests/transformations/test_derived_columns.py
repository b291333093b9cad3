"""What only the view has: the same in both engines, and final on a settled row but for late events."""

import random
from datetime import UTC, datetime, timedelta
from typing import Any

import duckdb
import pytest
from deliveries import START
from game import KINDS, LOG_COLUMNS, catalogue
from made_log import log_frame
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F

from pipelines.game.results.active_players import active_players
from pipelines.game.results.player_pace import player_pace
from serving.dialect import speak_spark
from serving.pins import Pinned
from serving.queries import Asked, view_query
from transformations.durations import from_millis, to_millis
from transformations.result import Result

ALLOWED = timedelta(minutes=5)
HOURS = 40
"""From 10:00 on, so that the log has parts of three days."""


def events(seed: int) -> list[dict[str, Any]]:
    """Events of all kinds in the order of arrival, now and then many at once. None is late."""
    rng, now, found = random.Random(seed), START, []
    while now < START + timedelta(hours=HOURS):
        now += timedelta(milliseconds=rng.choice([0, 1_000, 30_000, 600_000, 5_400_000]))
        for kind in rng.choices(KINDS, k=rng.choice([5] * 9 + [200])):
            row: dict[str, Any] = dict.fromkeys(LOG_COLUMNS)
            row |= {field.name: f"{field.name} {rng.choice([0, 0, 1, rng.randrange(150)])}" for field in kind.fields}
            row |= {field.name: rng.choice([-20, 7, 600]) for field in kind.fields if field.type == "whole number"}
            row |= {"kind": kind.name, "seq": len(found), "event_id": f"{len(found):04d}"}
            row["event_time"] = now - timedelta(milliseconds=rng.choice([0, 0, 1, 60_000, 299_999]))
            row["high_water"] = max(row["event_time"], found[-1]["high_water"]) if found else row["event_time"]
            found.append(row)
    return [row for row in found if row["event_time"] > row["high_water"] - ALLOWED]


ARRIVED = events(seed=5)


@pytest.fixture(scope="module")
def log(spark: SparkSession) -> DataFrame:
    return log_frame(spark, ARRIVED).persist()


def shown(result: Result, log: DataFrame) -> list[dict[str, Any]]:
    rows = result.shown(result.of(log)).orderBy("window_start", *result.key).collect()
    return [{name: _zoned(value) for name, value in row.asDict().items()} for row in rows]


def _zoned(value: Any) -> Any:
    return value.astimezone(UTC) if isinstance(value, datetime) else value


def without_a_jvm(result: Result, log: DataFrame) -> list[dict[str, Any]]:
    database = duckdb.connect()
    database.execute("set global timezone = 'UTC'")
    speak_spark(database)
    database.register("computed", result.of(log).toArrow())
    query = view_query(result, Pinned("batch", 0, START, None), {"batch": "computed"}, Asked())
    rows = database.sql(query.text, params=query.values).to_arrow_table().drop_columns("settled").to_pylist()
    return [{name: _zoned(value) for name, value in row.items()} for row in rows]


SETTLING = {name: result for name, result in catalogue().items() if not result.window.endless}


@pytest.mark.parametrize("name", SETTLING)
def test_news_in_time_never_changes_a_settled_row_as_it_is_shown(log: DataFrame, name: str) -> None:
    result = SETTLING[name]
    whole = {_identity(result, row): row for row in shown(result, log)}
    compared = 0
    for share in (0.3, 0.7):
        until = ARRIVED[int(len(ARRIVED) * share)]
        before = until["high_water"] - ALLOWED
        for row in shown(result, log.where(F.col("seq") <= until["seq"])):
            if row["window_end"] + result.window.settles_after <= before:
                assert row == {**whole[_identity(result, row)], **_sketches(row)}
                compared += 1
    assert compared > 0, "nothing was settled"


def _identity(result: Result, row: dict[str, Any]) -> tuple[Any, ...]:
    return tuple(row[name] for name in result.identity)


def _sketches(row: dict[str, Any]) -> dict[str, Any]:
    """A sketch's bytes depend on the order of what went in."""
    return {name: value for name, value in row.items() if isinstance(value, bytes | bytearray)}


def minutes(number: float) -> timedelta:
    return timedelta(minutes=number)


WINDOWS = [(5, 1), (5, 5), (5, 2), (5, 3), (4, 3), (60, 45), (1.5, 1), (90, 30)]


@pytest.mark.parametrize(("size", "slide"), WINDOWS)
def test_the_change_is_told_where_a_window_ended_before_and_only_there(
    log: DataFrame, size: float, slide: float
) -> None:
    result = player_pace(size=minutes(size), slide=minutes(slide))
    found = shown(result, log)
    sums = {(row["player_id"], row["window_start"]): row["bubbles"] for row in found}
    assert {row["window_start"].timestamp() % minutes(slide).total_seconds() for row in found} == {0}
    for row in found:
        start, before = row["window_start"], row["window_start"] - minutes(size)
        begins = before.timestamp() % minutes(slide).total_seconds() == 0
        expected = row["bubbles"] - sums.get((row["player_id"], before), 0) if begins else None
        assert (row["change"], row["mean"]) == (expected, row["bubbles"] / row["events"]), start
    assert without_a_jvm(result, log) == found


@pytest.mark.parametrize("size", [20, 60, 7 * 60, 24 * 60, 36 * 60])
def test_the_day_is_estimated_up_to_the_window(log: DataFrame, size: int) -> None:
    result = active_players(size=minutes(size))
    found = shown(result, log)
    step, players = int(minutes(size).total_seconds() * 1000), {}
    for row in ARRIVED:
        if row["kind"] == "bubbles_popped":
            start = from_millis(to_millis(row["event_time"]) // step * step)
            players.setdefault(start, set()).add(row["player_id"])
    # So few players are counted exactly by a sketch.
    assert {row["window_start"]: row["day_estimate"] for row in found} == {
        start: len(
            set().union(*(who for other, who in players.items() if other <= start and _day(other) == _day(start)))
        )
        for start in players
    }
    assert without_a_jvm(result, log) == found


def _day(moment: datetime) -> object:
    return moment.astimezone(UTC).date()
