"""A row of the batch layer is settled if it was so when it was computed, whatever has been computed since."""

import random
from datetime import datetime, timedelta
from typing import Any

import duckdb
import pyarrow as pa
import pytest
from deliveries import START
from game import catalogue

from lakehouse.batches import Coverage, Interval, run_at
from lakehouse.lake import Lake
from lakehouse.log import Position
from lakehouse.settings import Settings, load_settings
from serving import pins
from serving.dialect import speak_spark
from serving.pins import pinned
from serving.queries import Asked, view_query
from transformations.result import Result

EXAMPLES = 60
ALLOWED = timedelta(seconds=90)
SETTINGS: Settings = load_settings(tried={"lateness.allowed": "90 seconds"})
CATALOGUE = catalogue()
SHAPES = ("team_scores", "player_pace", "offer_outcomes", "click_through", "player_sessions", "hot_minutes")
HOURS = 10


def moment(seconds: float) -> datetime:
    return START + timedelta(seconds=seconds)


def run(rng: random.Random, marks: list[int]) -> Coverage:
    first, end = sorted(rng.sample(range(0, HOURS * 3600, 60), 2))
    interval = rng.choice(
        [Interval(), Interval(moment(first), moment(end)), Interval(moment(first)), Interval(None, moment(end))]
    )
    version = rng.randint(1, len(marks))
    return run_at(interval, Position(version, high_water=moment(marks[version - 1])), version)


def windows(result: Result, rng: random.Random) -> list[tuple[datetime, datetime]]:
    length = next(iter(result.window.durations.values()))
    found = []
    for second in sorted(rng.sample(range(0, HOURS * 3600, 60), 80)):
        grown = timedelta() if result.window.ends_by_itself else timedelta(seconds=rng.randrange(7200))
        found.append((moment(second), moment(second) + length + grown))
    return found


@pytest.mark.parametrize("name", SHAPES)
def test_a_row_is_settled_by_the_mark_of_the_run_that_computed_it(
    name: str, lake: Lake, monkeypatch: pytest.MonkeyPatch
) -> None:
    result, database = CATALOGUE[name], duckdb.connect()
    database.execute("set global timezone = 'UTC'")
    speak_spark(database)
    in_flight = 0
    for seed in range(EXAMPLES):
        rng = random.Random(seed)
        marks = sorted(rng.sample(range(HOURS * 3600), 4))
        runs = [run(rng, marks) for _ in range(rng.randint(1, 4))]  # newest first

        def computed(*_: Any, runs: list[Coverage] = runs) -> list[Coverage]:
            return runs

        monkeypatch.setattr(pins, "computed", computed)
        at = pinned(lake, result, SETTINGS, layer="batch")
        expected: dict[tuple[datetime, datetime], bool] = {}
        for first, end in windows(result, rng):
            own = next((each for each in runs if each.interval.covers(first, first + timedelta(milliseconds=1))), None)
            if own is not None:
                before = moment(marks[own.log_version - 1]) - ALLOWED
                expected[first, end] = end + result.window.settles_after <= before
        filler = {column: 1 for column in result.columns if column not in ("window_start", "window_end")}
        rows = [{**filler, "window_start": first, "window_end": end} for first, end in expected]
        if not rows:
            continue
        database.register("incoming", pa.Table.from_pylist(rows))
        database.execute("create or replace table batch as select * from incoming")
        query = view_query(result, at, {"batch": "batch"}, Asked())
        shown = database.sql(query.text, params=query.values).to_arrow_table().to_pylist()
        for row in shown:
            settled = expected[row["window_start"], row["window_end"]]
            assert row["settled"] == settled, f"seed {seed}: {row}"
            if row["window_end"] + result.window.settles_after <= at.settled_before:
                assert settled, f"seed {seed}: {row} ended by {at.settled_before}"
            newest = moment(marks[runs[0].log_version - 1]) - ALLOWED
            in_flight += not settled and row["window_end"] <= newest
    assert in_flight > 20, "hardly any row was computed in flight before the newest run"
