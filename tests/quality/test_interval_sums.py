"""Where the sums of a batch table are expected, for every shape and any intervals; and how far they reach."""

import random
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
from deliveries import land, pop
from game import catalogue
from pyspark.sql import SparkSession
from pyspark.sql import functions as F

from ingestion.ingest import ingest
from lakehouse.batches import Interval, reached, run_at, stretches
from lakehouse.lake import create_lake
from lakehouse.log import Position, log_at, position
from quality.pins import pinned
from quality.stretches import sums_at, totals_named

from nights import HOUR, MIDNIGHT, SETTINGS, offer, seconds  # isort: skip


@pytest.mark.parametrize(
    ("intervals", "behind"),
    [
        ([(None, None, 30)], 0),
        ([(None, None, 10)], 20),
        ([(0, 24, 25)], 6),
        ([(0, 24, 25), (24, 48, 30)], 0),
        ([(0, 24, 25), (-24, 0, 30)], 6),
        ([(0, 24, 25), (480, 504, 30)], 6),
        ([(None, None, 10), (-24, 0, 30)], 20),
    ],
    ids=["all", "all, long ago", "a day", "today too", "a backfill", "a day that has not begun", "all, and a backfill"],
)
def test_how_far_batch_is_behind_is_how_far_its_intervals_reach(
    intervals: list[tuple[int | None, int | None, int]], behind: int
) -> None:
    """Hours after midnight: first, end, and the mark of the log when it was computed. The mark is now at 30."""

    def hours(after: int | None) -> datetime | None:
        return None if after is None else MIDNIGHT + after * HOUR

    runs = [
        run_at(Interval(hours(first), hours(end)), Position(number, high_water=hours(mark)), number)
        for number, (first, end, mark) in enumerate(intervals)
    ]
    found = reached(runs[::-1])
    assert found is not None and MIDNIGHT + 30 * HOUR - found == behind * HOUR


WINDOWS = [
    {},
    {
        "team_scores": {"size": 7 * HOUR / 60},
        "player_pace": {"size": HOUR, "slide": 25 * HOUR / 60},
        "player_sessions": {"gap": 3 * HOUR},
        "offer_outcomes": {"within": 5 * HOUR},
        "click_through": {"size": 7 * HOUR, "within": HOUR},
    },
]


@pytest.mark.parametrize("windows", WINDOWS, ids=["as declared", "others"])
def test_sums_of_every_shape_are_right_in_any_intervals_at_any_versions(
    spark: SparkSession, tmp_path: Path, windows: dict[str, Any]
) -> None:
    """Random arrivals and random runs: what a run has computed adds up to what the check expects of it."""
    seed = 20
    chance = random.Random(seed)
    lake, landing = create_lake(tmp_path / "lake"), tmp_path / "landing"
    landing.mkdir()
    for commit in range(4):
        moments = [MIDNIGHT + chance.randrange(0, 172_800_000, 500) * timedelta(milliseconds=1) for _ in range(40)]
        lines = [
            chance.choice([
                pop(f"{commit}-{place}", seconds(moment), bubbles=chance.randrange(-3, 9), player=chance.choice("ab")),
                offer(f"{commit}-{place}", moment, player_id=chance.choice("ab"), offer_id=chance.choice("xy")),
                offer(f"{commit}-{place}", moment, "offer_clicked", player_id="a", offer_id="x"),
            ])
            for place, moment in enumerate(moments)
        ]  # fmt: skip
        twin = offer(f"{commit}-twin", moments[0]), offer(f"{commit}-same", moments[0])
        land(landing, f"{commit}.jsonl", [*lines, *twin])
    ingest(spark, lake, landing, SETTINGS, files_per_batch=1)
    pin = pinned(lake, SETTINGS, log_version=None, moment=datetime.now(UTC))
    cuts = [None, *(MIDNIGHT + chance.randrange(1, 47 * 3600) * timedelta(seconds=1) for _ in range(3)), None]
    runs = [run_at(Interval(), position(lake, 1), 1)]
    for first, end in [sorted(cuts[1:3]), sorted(cuts[2:4])]:  # type: ignore[type-var]
        version = chance.randrange(2, 5)
        runs.insert(0, run_at(Interval(first, end), position(lake, version), version))
    known = catalogue(windows)
    for result in (each for each in known.values() if totals_named(each)):
        own = [run_at(Interval(), position(lake, 3), 3)] if result.window.endless else runs
        parts = [
            result.of(log_at(spark, lake, run.log_version)).where(stretch.holds(F.col("window_start")))
            for stretch, run in stretches(own)
            if run is not None
        ]
        table = parts[0]
        for part in parts[1:]:
            table = table.unionByName(part)
        with pytest.MonkeyPatch.context() as patched:
            patched.setattr("quality.stretches.read_batch", lambda *_, rows=table: rows)
            found = sums_at(spark, pin)(lake, result, own)
        assert [each.found for each in found] == [each.expected for each in found], (result.name, seed)
        assert sum(sum(each.found.values()) for each in found) > 0
