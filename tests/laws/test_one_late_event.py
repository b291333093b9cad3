"""Late events where few are late: what one repair leaves out, no other brings by chance.

Where many are late, what one repair reads holds what another would have missed, and what is open is repaired again for the
sake of somebody else. A world is here a chain of pops of one player, with holes at the gap and beside it. Either each has a
stretch of time of its own and each micro-batch one late event; or all go on side by side, and after one micro-batch with late
events come some without any.
"""

import random
from collections.abc import Callable
from datetime import timedelta

import pytest
from judging import RESULTS, check, configured, drawn, fresh_lake
from logs import GAP, Arrival, write_log
from pyspark.sql import SparkSession
from seeds import chance, rounds

from speed_layer.stream import stream

WORLDS, STRETCH, LATE = 20, 300_000, 6
PAUSES = [1, 500, 4_000, 5_999, GAP - 1, GAP, GAP, GAP + 1, 2 * GAP, 2 * GAP + 1]
ALLOWED, OPEN = timedelta(seconds=5), timedelta(seconds=30)
MILLISECOND = timedelta(milliseconds=1)


def chain_of(rng: random.Random, world: int) -> list[Arrival]:
    """Pops of a player one behind the other, most of them near enough to belong together."""
    now, found = world * STRETCH + rng.randrange(10_000), list[Arrival]()
    while len(found) < 30 and now < (world + 1) * STRETCH - 2 * GAP:
        bubbles = rng.choice([-150, 1, 60, 250])
        found.append(Arrival(f"{world}.{len(found)}", now, f"team-{world}", f"alice-{world}", bubbles))
        now += rng.choice(PAUSES)
    return found


def late_in(rng: random.Random, chain: list[Arrival], number: int) -> Arrival:
    """A pop beside one of the chain: in a hole, at the edge of one, or at the chain's ends."""
    beside = rng.choice(chain)
    at = max(beside.millis + rng.choice([-GAP - 1, -GAP, -1, 0, 1, 3_000, GAP, GAP + 1]), 0)
    return Arrival(f"late {number}", at, beside.team, beside.player, rng.choice([-400, 7, 500]))


@pytest.mark.parametrize("round", rounds())
def test_each_is_repaired_as_far_as_it_reaches(spark: SparkSession, round: int, judged: Callable[[int], None]) -> None:
    rng = chance("one late event", round)
    chains = [chain_of(rng, world) for world in range(WORLDS)]
    end = Arrival("end", (WORLDS + 1) * STRETCH, kind="heartbeat")
    late = [[late_in(rng, chain, number)] for number, chain in enumerate(rng.sample(chains, LATE))]
    log = [[*(each for chain in chains for each in chain), end], *late]
    results = [result for result in RESULTS if result.name in ("player_sessions", "hot_minutes")]
    lake, chosen = fresh_lake(), configured(ALLOWED, 1)
    write_log(lake, log, horizon=chosen.retention.horizon)
    results = drawn(rng, results, len(results))
    stream(spark, lake, results, chosen)
    for result in results:
        judged(check(spark, lake, result, log, chosen))


def going_on(rng: random.Random, world: int, now: int, until: int) -> list[Arrival]:
    """Pops of a player from now on, most of them near enough to belong to one session."""
    found = list[Arrival]()
    while (now := now + rng.choice([*PAUSES[:-3], 1_000, 2_500])) < until:
        found.append(Arrival(f"{world}.{now}", now, f"team-{world}", f"alice-{world}", rng.choice([-150, 1, 60])))
    return found


def open_sessions(rng: random.Random) -> list[list[Arrival]]:
    """Sessions that go on, late events within them, and then only what comes in time, with commits without a row between.

    The mark less the allowed lateness has passed the late events, and not the ends of their sessions.
    """
    mark, log = 60_000, list[list[Arrival]]()
    log.append([each for world in range(WORLDS) for each in going_on(rng, world, rng.randrange(10_000), mark)])
    log[0].append(Arrival("mark", mark, kind="heartbeat"))
    late = mark - OPEN // MILLISECOND
    log.append(
        [
            Arrival(f"late {world}", late - rng.choice([0, 1, 4_000, 12_000]), f"team-{world}", f"alice-{world}", 7)
            for world in rng.sample(range(WORLDS), WORLDS // 2)
        ]
    )
    for _ in range(3):
        until = mark + rng.choice([1, 3_000, GAP])
        log.append(
            []
            if rng.random() < 0.3
            else [each for world in range(WORLDS) for each in going_on(rng, world, mark - rng.randrange(GAP), until)]
        )
        mark = until
    log.append([Arrival("end", mark + 600_000, kind="heartbeat")])
    return log


@pytest.mark.parametrize("round", rounds())
def test_a_session_that_was_repaired_while_open_gets_what_comes_in_time(
    spark: SparkSession, round: int, judged: Callable[[int], None]
) -> None:
    rng = chance("open sessions", round)
    log, lake, chosen = open_sessions(rng), fresh_lake(), configured(OPEN, 1)
    write_log(lake, log, horizon=chosen.retention.horizon)
    [result] = [result for result in RESULTS if result.name == "player_sessions"]
    stream(spark, lake, [result], chosen)
    judged(check(spark, lake, result, log, chosen))
