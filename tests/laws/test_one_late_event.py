"""A single late event is repaired as far as it reaches, also if it joins long chains of others.

Where many are late, what one repair reads holds what another would have missed. So each micro-batch has one late event here. A
world is a chain of pops of one player, with holes at the gap and beside it, in a stretch of time of its own.
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
ALLOWED = timedelta(seconds=5)


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
