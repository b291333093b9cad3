"""Under the policy `drop` the answer is that over the rows in time: live in any cut, and in a replay either way.

What a row touches may depend on later rows of the log, and a row that was dropped is none of them. Every player of the log is
an example of its own: leagues and teams bear the player's name.
"""

import random
from collections.abc import Callable, Iterator
from dataclasses import replace
from datetime import timedelta
from functools import partial

import pytest
from game import catalogue
from judging import fresh_lake
from logs import WINDOWS, Arrival, Log, marks, on_time_answer, rows_of, write_log
from pyspark.sql import SparkSession

from batch_layer.recompute import recompute
from lakehouse.batches import Interval
from lakehouse.changelogs import boundary, read_kappa
from lakehouse.lake import Lake
from lakehouse.settings import Lateness, Settings, Stream, load_settings
from reconciliation.pins import pin
from reconciliation.reconcile import reconciled
from speed_layer.replay import replay
from speed_layer.stream import stream
from transformations.result import Result

ALLOWED = timedelta(minutes=2)
RESULTS = {name: result for name, result in catalogue(WINDOWS).items() if result.way == "recompute"}
SEED = 2
AROUND = [-40_000, -15_000, -1, 0, 1, 5_000, 15_000, 25_000, 40_000, 60_000]


def change(event_id: str, millis: int, player: str, league: str) -> Arrival:
    return Arrival(event_id, millis, player=player, kind="league_changed", league=f"{league} of {player}")


def beat(millis: int) -> Arrival:
    return Arrival(f"beat {millis}", millis, kind="heartbeat")


BY_HAND: Log = [
    [Arrival("pop", 4_000, player="by hand")],
    # The change to silver is late at once, so gold holds at the pop.
    [change("gold", 1_500, "by hand", "gold"), beat(160_000), change("silver", 3_000, "by hand", "silver")],
]


def generated(seed: int) -> Iterator[list[Arrival]]:
    """Twice a commit of pops, and one in which the mark passes them while players change league around where it stands.

    Each window has the pops of one player: those of another would have it computed anew, and hide what a change did not
    touch.
    """
    rng, began = random.Random(seed), 160_000
    for number in range(2):
        pops, changes = [], []
        for place in range(60):
            window = began + 10_000 * rng.randrange(12)
            ago = rng.choice([0, 0, 0, 1, 5_000, 150_000])
            player, bubbles = f"player {window // 10_000 % 6}", rng.choice([-150, 7, 250, 400])
            millis = window + rng.randrange(10_000) - ago
            pops.append(Arrival(f"pop {number}-{place}", millis, f"team of {player}", player, bubbles))
        yield pops
        for place in range(60):
            passed = began + 2_000 * place
            player, at = f"player {rng.randrange(6)}", max(passed + rng.choice(AROUND), 0)
            changes += [beat(passed + round(ALLOWED.total_seconds() * 1000))]
            changes += [change(f"change {number}-{place}", at, player, rng.choice(["gold", "silver", "bronze"]))]
        yield changes
        began += 400_000
    yield [beat(began + 600_000)]


LOG: Log = [*BY_HAND, *generated(SEED)]


def settings_of(commits_per_batch: int) -> Settings:
    lateness = Lateness(allowed=ALLOWED, policy="drop")
    return load_settings().model_copy(
        update={"lateness": lateness, "stream": Stream(commits_per_batch=commits_per_batch)}
    )


def live(spark: SparkSession, lake: Lake, result: Result, *, cut: int) -> None:
    stream(spark, lake, [result], settings_of(cut))


def replayed(spark: SparkSession, lake: Lake, result: Result) -> None:
    replay(spark, lake, result, settings_of(1000), way="steps")


WAYS: dict[str, Callable[[SparkSession, Lake, Result], None]] = {
    "a commit a micro-batch": partial(live, cut=1),
    "three commits a micro-batch": partial(live, cut=3),
    "everything in one": partial(live, cut=1000),
    "replayed in steps": replayed,
}
LOOKING_AHEAD = [name for name, result in RESULTS.items() if result.window.looks_ahead]
CASES = [
    *((name, way) for name in LOOKING_AHEAD for way in WAYS),
    *((name, "three commits a micro-batch") for name in RESULTS if name not in LOOKING_AHEAD),
]


@pytest.fixture(scope="module")
def lake() -> Lake:
    lake = fresh_lake()
    write_log(lake, LOG, horizon=settings_of(1).retention.horizon)
    return lake


def answer(spark: SparkSession, lake: Lake, result: Result) -> set[tuple[object, ...]]:
    return rows_of(read_kappa(spark, lake, result, boundary(lake, result)), result)


LATE = {arrival.event_id: arrival for _, arrival, mark in marks(LOG) if arrival.event_time <= mark - ALLOWED}


def test_the_log_has_late_events_of_both_kinds() -> None:
    """Else nothing would be proved."""
    kinds = [arrival.kind for arrival in LATE.values()]
    assert LOOKING_AHEAD and min(kinds.count("league_changed"), kinds.count("bubbles_popped")) > 10


@pytest.mark.parametrize(("name", "way"), CASES)
def test_the_answer_is_that_over_the_rows_in_time(spark: SparkSession, lake: Lake, name: str, way: str) -> None:
    own = replace(RESULTS[name], version=1 + list(WAYS).index(way))
    WAYS[way](spark, lake, own)
    expected = on_time_answer(name, LOG, ALLOWED)
    assert expected, "nothing is compared"
    assert answer(spark, lake, own) == expected


@pytest.mark.parametrize("name", LOOKING_AHEAD)
def test_what_differs_from_batch_is_due_to_late_events(spark: SparkSession, lake: Lake, name: str) -> None:
    result, settings = replace(RESULTS[name], version=9), settings_of(2)
    stream(spark, lake, [result], settings)
    recompute(spark, lake, result, settings)
    found = reconciled(spark, lake, result, settings, pin(lake, result, "kappa"), interval=Interval(), tolerance={})
    assert found.differing > 10
    assert found.by_cause == {"late": found.differing}
    for difference in found.differences:
        assert difference.event_ids and set(difference.event_ids) <= set(LATE), difference
