"""The Lambda view of sessions, which have no fixed ends: nothing is counted twice, and nothing is lost that both layers know.

Random pops with random lateness, random runs of the batch layer over random intervals, and a model that shares nothing with
the view but the meaning of a session. Every example is named by its seed.
"""

import random
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from functools import cached_property
from itertools import pairwise
from typing import Any

import duckdb
import pyarrow as pa
import pytest
from deliveries import START
from pyspark.sql import SparkSession

from lakehouse.batches import Interval, run_at
from lakehouse.changelogs import Boundary
from lakehouse.lake import Lake
from lakehouse.log import Position
from lakehouse.settings import Settings, load_settings
from pipelines.game.results.player_sessions import player_sessions
from serving import pins
from serving.dialect import speak_spark
from serving.pins import Pinned, pinned
from serving.queries import Asked, view_query
from serving.views import merged
from transformations.changelog import changelog_schema, kappa_view
from transformations.result import Result

EXAMPLES = 200
OF_BOTH_ENGINES = 4
GAP, ALLOWED, LAST = 100, 90, 1200
RESULT: Result = player_sessions(gap=timedelta(seconds=GAP))
SETTINGS: Settings = load_settings(tried={"lateness.allowed": f"{ALLOWED} seconds"})
PLAYERS = ("alice", "bert")


@dataclass(frozen=True)
class Pop:
    player: str
    second: int
    arrival: int
    """The version of the log that brought it."""


@dataclass(frozen=True, order=True)
class Sitting:
    """A session in seconds."""

    player: str
    first: int
    end: int
    events: int


@dataclass(frozen=True)
class Run:
    first: int | None
    end: int | None
    version: int

    def holds(self, second: int) -> bool:
        return (self.first is None or self.first <= second) and (self.end is None or second < self.end)


@dataclass(frozen=True)
class Example:
    pops: tuple[Pop, ...]
    runs: tuple[Run, ...]
    """In the order in which they ran."""
    stream_at: int

    @cached_property
    def marks(self) -> dict[int, int]:
        known = range(1, 1 + max(pop.arrival for pop in self.pops))
        return {version: max(pop.second for pop in self.pops if pop.arrival <= version) for version in known}

    def sittings(self, version: int) -> list[Sitting]:
        found: list[Sitting] = []
        for player in PLAYERS:
            mine = sorted(pop.second for pop in self.pops if pop.player == player and pop.arrival <= version)
            for second in mine:
                last = found[-1] if found and found[-1].player == player else None
                if last is not None and second <= last.end:
                    found[-1] = Sitting(player, last.first, second + GAP, last.events + 1)
                else:
                    found.append(Sitting(player, second, second + GAP, 1))
        return found

    def computed_by(self, second: int) -> Run | None:
        return next((run for run in reversed(self.runs) if run.holds(second)), None)

    def batch(self) -> list[Sitting]:
        """The batch layer's table: each run replaces what starts in its interval."""
        table: list[Sitting] = []
        for run in self.runs:
            table = [each for each in table if not run.holds(each.first)]
            table += [each for each in self.sittings(run.version) if run.holds(each.first)]
        return table

    def changelog(self) -> list[tuple[Any, ...]]:
        """A revision of each session whenever it has changed."""
        told: set[Sitting] = set()
        rows: list[tuple[Any, ...]] = []
        for version in sorted(self.marks):
            new = [each for each in self.sittings(version) if each not in told]
            told |= set(new)
            rows += [(*_row(each), "late", False, None, 1, version, version, START, "code") for each in new]
        return rows

    def is_of_batch(self, sitting: Sitting, cut_off: int) -> bool:
        """Whether one run has computed all of the stretch that the session lies in, and the session was over for it."""
        runs = {self.computed_by(second) for second in range(sitting.first, sitting.end)}
        versions = {None if run is None else run.version for run in runs}
        if sitting.end > cut_off or len(versions) > 1 or None in versions:
            return False
        return sitting.end <= self.marks[next(iter(versions - {None}))] - ALLOWED  # type: ignore[index]


def example(seed: int) -> Example:
    rng = random.Random(seed)
    versions = rng.randint(2, 4)
    pops = []
    for version in range(1, versions + 1):
        now = LAST * version // versions
        for _ in range(rng.randint(3, 6)):
            # Many of them lie about where a run at the version before has its cut-off.
            step = LAST // versions
            ago = rng.choice([rng.randrange(step), step + ALLOWED + rng.randrange(-GAP, 2 * GAP), rng.randrange(LAST)])
            pops.append(Pop(rng.choice(PLAYERS), max(0, now - ago), version))
    runs = [Run(None, None, rng.randint(1, versions - 1))]
    for _ in range(rng.choice([0, 0, 1, 2, 3])):
        first, end = sorted(rng.sample(range(0, LAST, 10), 2))
        open_ends = rng.choice([(first, end), (first, end), (None, end), (first, None)])
        runs.append(Run(*open_ends, rng.randint(1, versions)))
    return Example(tuple(pops), tuple(runs), versions)


def _moment(second: int | None) -> datetime | None:
    return None if second is None else START + timedelta(seconds=second)


def _second(moment: datetime) -> int:
    return round(moment.timestamp() - START.timestamp())


def _row(sitting: Sitting) -> tuple[Any, ...]:
    return sitting.player, _moment(sitting.first), _moment(sitting.end), sitting.events, sitting.events


@pytest.fixture
def pin(monkeypatch: pytest.MonkeyPatch, lake: Lake) -> Any:
    """What `pinned` finds in a lake that has lived through an example."""

    def pin(given: Example) -> Pinned:
        def position(version: int) -> Position:
            return Position(version, high_water=_moment(given.marks[version]))

        covered = [
            run_at(Interval(_moment(run.first), _moment(run.end)), position(run.version), run.version)
            for run in given.runs
        ]
        at = Boundary(1, given.stream_at, given.stream_at, 0)
        monkeypatch.setattr(pins, "mark", lambda _, version: position(version).high_water)
        monkeypatch.setattr(pins, "computed", lambda *_: list(reversed(covered)))
        monkeypatch.setattr(pins, "boundary", lambda *_: at)
        return pinned(lake, RESULT, SETTINGS, layer="lambda")

    return pin


@pytest.fixture(scope="module")
def database() -> duckdb.DuckDBPyConnection:
    opened = duckdb.connect()
    opened.execute("set global timezone = 'UTC'")
    speak_spark(opened)
    return opened


def shown_by_duckdb(database: duckdb.DuckDBPyConnection, given: Example, at: Pinned) -> list[Sitting]:
    for name, columns, rows in (
        ("batch", RESULT.columns, [_row(each) for each in given.batch()]),
        ("kappa", changelog_schema(RESULT).names, given.changelog()),
    ):
        incoming = pa.Table.from_pylist([dict(zip(columns, row, strict=True)) for row in rows])
        database.register("incoming", incoming)
        database.execute(f"create or replace table {name} as select * from incoming")
    query = view_query(RESULT, at, {"kappa": "kappa", "batch": "batch"}, Asked())
    return _sittings(database.sql(query.text, params=query.values).to_arrow_table().to_pylist())


def shown_by_spark(spark: SparkSession, given: Example, at: Pinned) -> list[Sitting]:
    batch = spark.createDataFrame([_row(each) for each in given.batch()], RESULT.schema)
    changelog = spark.createDataFrame(given.changelog(), changelog_schema(RESULT))
    speed = kappa_view(changelog, RESULT, epoch=1, log_version=given.stream_at)
    return _sittings(merged(batch, speed, RESULT, at).toArrow().to_pylist())


def _sittings(rows: Sequence[dict[str, Any]]) -> list[Sitting]:
    return sorted(
        Sitting(row["player_id"], _second(row["window_start"]), _second(row["window_end"]), row["events"])
        for row in rows
    )


def test_no_pop_is_counted_twice_and_none_is_lost_that_was_there_when_batch_ran(
    pin: Any, database: duckdb.DuckDBPyConnection
) -> None:
    joined = 0
    for seed in range(EXAMPLES):
        given = example(seed)
        at = pin(given)
        assert at.cut_off is not None
        until, shown = _second(at.cut_off), shown_by_duckdb(database, given, at)
        for one, next_one in pairwise(shown):
            assert one.player != next_one.player or one.end < next_one.first, f"seed {seed}: {one} and {next_one}"
        now = given.sittings(given.stream_at)
        for sitting in now:
            within = [
                each for each in shown if each.player == sitting.player and sitting.first <= each.first < sitting.end
            ]
            if not given.is_of_batch(sitting, until):
                assert within == [sitting], f"seed {seed}: the speed layer's {sitting} is shown as {within}"
                parts = [
                    each for each in given.batch() if each.player == sitting.player and each.first >= sitting.first
                ]
                joined += any(each.end <= sitting.end and given.is_of_batch(each, until) for each in parts)
                continue
            run = given.computed_by(sitting.first)
            assert run is not None
            known = [
                pop for pop in given.pops
                if pop.player == sitting.player and sitting.first <= pop.second < sitting.end and pop.arrival <= run.version
            ]  # fmt: skip
            assert sum(each.events for each in within) == len(known), f"seed {seed}: {sitting} is shown as {within}"
        assert all(any(each.first >= one.first and each.end <= one.end for one in now) for each in shown), (
            f"seed {seed}"
        )
    assert joined >= 10, "hardly any session of the batch layer was joined to an open one"


def test_both_engines_merge_the_same_sessions(
    spark: SparkSession, pin: Any, database: duckdb.DuckDBPyConnection
) -> None:
    for seed in range(OF_BOTH_ENGINES):
        given = example(seed)
        at = pin(given)
        assert shown_by_spark(spark, given, at) == shown_by_duckdb(database, given, at) != [], f"seed {seed}"
