"""What explains a row of the stream: one team for each thing that can have gone wrong, all in one minute of one log.

The stream is not run. Its answer is computed from the log as it would have seen it.
"""

from collections.abc import Callable
from dataclasses import dataclass
from operator import attrgetter

import pytest
from deliveries import heartbeat, land, pop
from game import catalogue
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F

from ingestion.ingest import ingest
from lakehouse.changelogs import Boundary, mark
from lakehouse.lake import Lake, create_lake
from lakehouse.log import log_at, newest_version
from lakehouse.settings import load_settings
from reconciliation.causes import explained
from reconciliation.comparison import compared
from reconciliation.pins import Pin
from transformations.result import Result

SETTINGS = load_settings()
FIRST, SECOND = ("first 1", "first 2"), ("second 1", "second 2")
LATE, LATER = ("late 1", "late 2"), ("later",)
ON_TIME, EVERY = (*FIRST, *SECOND), (*FIRST, *SECOND, *LATE, *LATER)
BUBBLES = dict(zip(EVERY, (200, 199, 110, 40, 3, 7, 90), strict=True))
"""The goal of 500 is reached with `second 1`, and what comes after it changes nothing in `level_ups`."""


@dataclass(frozen=True)
class Fault:
    """What a team's stream did not see or saw twice, and what is to be found for it in `team_scores`."""

    gone: tuple[str, ...] = ()
    twice: tuple[str, ...] = ()
    causes: tuple[str, ...] = ()
    named: tuple[str, ...] = ()


FAULTS = {
    "drops what is late": Fault(gone=(*LATE, *LATER), causes=("late",), named=(*LATE, *LATER)),
    "misses one late event": Fault(gone=("late 2",), causes=("late",), named=("late 2",)),
    "loses one": Fault(gone=("first 2",), causes=("lost",), named=("first 2",)),
    "counts one twice": Fault(twice=("second 1",), causes=("duplicate",), named=("second 1",)),
    "loses the first commit": Fault(gone=FIRST, causes=("lost",), named=FIRST),
    "counts the first commit twice": Fault(twice=FIRST, causes=("duplicate",), named=FIRST),
    "misses the late part of a commit": Fault(gone=LATE, causes=("late",), named=LATE),
    "loses what was on time in a commit": Fault(gone=SECOND, causes=("lost",), named=SECOND),
    "loses a commit of both": Fault(gone=(*SECOND, *LATE), causes=("late", "lost"), named=(*SECOND, *LATE)),
    "loses all that was on time": Fault(gone=ON_TIME, causes=("lost",), named=ON_TIME),
    "loses everything": Fault(gone=EVERY, causes=("late", "lost"), named=EVERY),
    "loses one and counts another twice": Fault(gone=("first 1",), twice=("late 2",)),
}
LAST = "misses one late event"
"""The tenth of those that are left when all late events have been tried at once, by name."""
SEEN: tuple[Callable[[Fault], tuple[str, ...]], ...] = (attrgetter("gone"), attrgetter("twice"))
WRONG_BATCH = "has a wrong batch"


@pytest.fixture(scope="module")
def lake(spark: SparkSession, tmp_path_factory: pytest.TempPathFactory) -> Lake:
    """Three commits; in the second the mark goes on, so that it has events on time and late ones."""
    home = tmp_path_factory.mktemp("stream")
    landing = home / "landing"
    landing.mkdir()

    def lines(names: tuple[str, ...]) -> list[str]:
        teams = [*FAULTS, WRONG_BATCH]
        return [
            pop(f"{team}: {name}", EVERY.index(name), bubbles=BUBBLES[name], team=team)
            for team in teams
            for name in names
        ]

    land(landing, "1.jsonl", lines(FIRST))
    land(landing, "2.jsonl", [*lines(SECOND), heartbeat("beat", 3600), *lines(LATE)])
    land(landing, "3.jsonl", lines(LATER))
    lake = create_lake(home / "lake")
    ingest(spark, lake, landing, SETTINGS, files_per_batch=1)
    return lake


def found(
    spark: SparkSession, lake: Lake, result: Result, batch: Callable[[DataFrame], DataFrame]
) -> dict[str, tuple[tuple[str, ...], tuple[str, ...], str | None]]:
    """For each team that differs the causes, the names of its events, and the evidence; `batch` changes batch's rows."""
    version = newest_version(lake)
    log = log_at(spark, lake, version)
    gone, twice = ([f"{team}: {name}" for team, fault in FAULTS.items() for name in which(fault)] for which in SEEN)
    seen = log.where(~F.col("event_id").isin(gone))
    seen = seen.unionByName(seen.where(F.col("event_id").isin(twice)))
    both = (
        compared(batch(result.of(log)), result.of(seen), result, tolerance={}).where(F.size("differing") > 0).persist()
    )
    at = Pin("kappa", version, mark(lake, version), Boundary(0, 0, version, 0))
    rows = explained(spark, lake, result, SETTINGS, at, both).collect()
    return {
        row.team_id: (
            tuple(row.causes),
            tuple(sorted(name.partition(": ")[2] for name in row.event_ids or ())),
            row.evidence,
        )
        for row in rows
    }


def test_each_fault_has_the_smallest_cause_that_reproduces_it(spark: SparkSession, lake: Lake) -> None:
    told = found(spark, lake, catalogue()["team_scores"], lambda rows: rows)
    assert {team: each[:2] for team, each in told.items()} == {
        team: (fault.causes, tuple(sorted(fault.named))) for team, fault in FAULTS.items()
    }


@pytest.mark.parametrize(
    ("keys", "less", "paid"),
    [(1, 1, set()), (10, 1, {"counts one twice", "loses one"}), (10, 0, {"counts one twice", "loses one", LAST})],
)
def test_single_events_are_tried_for_as_many_keys_as_the_budget_pays(
    spark: SparkSession, lake: Lake, monkeypatch: pytest.MonkeyPatch, keys: int, less: int, paid: set[str]
) -> None:
    """Each key has seven events; to leave out or to double each of them is 2 x 7 x 7 rows. One row less pays for a key less.

    They are paid for in the order of their names. What is not tried event by event is explained only if a set does it.
    """
    monkeypatch.setattr("reconciliation.causes.SINGLE_EVENTS_BUDGET", keys * 2 * len(EVERY) ** 2 - less)
    told = found(spark, lake, catalogue()["team_scores"], lambda rows: rows)
    singly = {"counts one twice", "loses one", LAST}
    for team, fault in FAULTS.items():
        assert told[team][0] == (() if team in singly - paid else fault.causes), team


def test_no_cause_is_named_that_the_row_would_be_the_same_without(spark: SparkSession, lake: Lake) -> None:
    """A team without a level-up need not have lost everything; a late event after the goal is not why it is missing."""

    def later(rows: DataFrame) -> DataFrame:
        moved = F.when(F.col("team_id") == WRONG_BATCH, F.timestamp_millis(F.unix_millis("reached_at") + 1))
        return rows.withColumn("reached_at", F.coalesce(moved, F.col("reached_at")))

    told = found(spark, lake, catalogue()["level_ups"], later)
    for team in ("loses one", "loses everything", "loses a commit of both", "loses all that was on time"):
        causes, names, _ = told[team]
        assert causes == ("lost",) and len(names) == 1 and names[0] in ON_TIME, (team, told[team])
    assert "drops what is late" not in told and "misses one late event" not in told
    # Without an event after the goal the row is the stream's too, but it is batch that is wrong.
    assert told[WRONG_BATCH][0] == ()
