"""The law of the project: on any log, at any version, in any cut into micro-batches, the stream equals batch.

Every result of the catalogue, in the way that its declaration names and, where that is the engine's, also recomputed.
A log holds twenty worlds side by side (worlds.py); each is an example. The stream is stopped and started again on the way,
and one micro-batch dies at a drawn moment: a restart changes nothing.
"""

import itertools
from collections.abc import Callable
from dataclasses import replace
from datetime import timedelta

import pytest
from judging import RESULTS, Policy, agree, check, configured, drawn, drawn_hold, fresh_lake, streamed, written_twice
from logs import ANSWERS, Arrival, rows_of, write_log
from pyspark.sql import SparkSession
from seeds import chance, rounds
from worlds import ALLOWED, beside, cut_again, generated, staggered

from lakehouse.changelogs import boundaries, read_kappa
from lakehouse.identity import live_epoch
from lakehouse.log import log_at, newest_version
from speed_layer.stream import stream

ENGINES = [result for result in RESULTS if result.way == "engine"]
WITHOUT_A_KEY = [result for result in RESULTS if not result.grouping and "bubbles_popped" in result.kinds]
RECOMPUTED = [result for result in RESULTS if result.way == "recompute"]
Judged = Callable[[int], None]

LATE_ON_THE_EDGE = [
    [
        Arrival("a", 9_999, "blue", "alice", 7),
        Arrival("b", 10_000, "blue", "bob", 250),
        Arrival("o", 10_000, player="bob", kind="offer_shown", offer="o1"),
        Arrival("l", 1_000, player="bob", kind="league_changed", league="gold"),
    ],
    [
        Arrival("c", 15_000, "blue", "bob", 400),
        Arrival("d", 9_000, "blue", "carol", 1),
        Arrival("k", 30_000, player="bob", kind="offer_clicked", offer="o1"),
    ],
    [Arrival("e", 40_000, "red", "alice", 1), Arrival("f", 12_000, "blue", "bob", -150)],
    # Bridges two sessions of bob that were told already, takes his pops from the league that he had, and is the first
    # pop of its team.
    [
        Arrival("g", 18_000, "green", "bob", 500),
        Arrival("m", 9_000, player="bob", kind="league_changed", league="none"),
    ],
    [Arrival("h", 200_000, kind="heartbeat")],
]


@pytest.mark.parametrize("round", rounds())
def test_beside_the_edges_that_are_known_every_result_equals_batch(
    spark: SparkSession, round: int, judged: Judged
) -> None:
    """The log that was made by hand, with twenty worlds beside it, for every result of the catalogue.

    The engine holds windows as short as it can, so that it drops rows and there is something to repair.
    """
    rng, allowed = chance("edges", round), timedelta(seconds=5)
    log, lake, results = beside(LATE_ON_THE_EDGE, rng, allowed), fresh_lake(), drawn(rng, RESULTS, len(RESULTS))
    chosen = configured(allowed, 2)
    streamed(spark, lake, results, log, chosen, rng, dies_at="stream.appended")
    for result in results:
        judged(check(spark, lake, result, log, chosen))
        batch = rows_of(result.of(log_at(spark, lake, newest_version(lake))), result)
        judged(agree(batch, ANSWERS[result.name](log), f"{result.name}, batch", log))


@pytest.mark.parametrize("round", rounds())
def test_on_any_log_at_any_version_in_any_cut_the_stream_equals_batch(
    spark: SparkSession, round: int, judged: Judged
) -> None:
    rng = chance("agree", round)
    allowed, cut = rng.choice(ALLOWED), rng.choice([1, 2])
    log, lake, results = generated(rng, allowed), fresh_lake(), drawn(rng, RESULTS, 4)
    chosen = configured(allowed, cut, hold=drawn_hold(rng, allowed))
    streamed(spark, lake, results, log, chosen, rng)
    for result in results:
        judged(check(spark, lake, result, log, chosen))


@pytest.mark.parametrize("round", rounds())
def test_what_the_engine_computes_can_be_recomputed_just_as_well(
    spark: SparkSession, round: int, judged: Judged
) -> None:
    rng = chance("recompute", round)
    allowed, cut = rng.choice(ALLOWED), rng.choice([1, 2])
    log, lake = generated(rng, allowed), fresh_lake()
    results = [replace(result, way="recompute") for result in drawn(rng, ENGINES, 3)]
    chosen = configured(allowed, cut)
    streamed(spark, lake, results, log, chosen, rng)
    for result in results:
        judged(check(spark, lake, result, log, chosen))


@pytest.mark.parametrize("round", rounds())
def test_the_order_of_arrival_is_irrelevant_and_a_replay_rebuilds_the_same(
    spark: SparkSession, round: int, judged: Judged
) -> None:
    """Under a heartbeat far ahead everything is settled, so what two orders give has to be one and the same.

    Shuffled over all of the log: most rows of the second order are late. It is then rebuilt from the log alone.
    """
    rng = chance("order", round)
    allowed = rng.choice(ALLOWED)
    log = generated(rng, allowed, commits=3)
    shuffled = list(itertools.chain(*log))
    rng.shuffle(shuffled)
    end = [Arrival("end", 3_600_000, kind="heartbeat")]
    results = [*drawn(rng, ENGINES, 2), *drawn(rng, RECOMPUTED, 1)]
    orders = {"as it was": ([*log, end], 2), "shuffled": ([*cut_again(shuffled, rng, 3), end], rng.choice([1, 1000]))}
    hold = drawn_hold(rng, allowed)
    for name, (order, cut) in orders.items():
        lake, chosen = fresh_lake(), configured(allowed, cut, hold=hold)
        write_log(lake, order, horizon=chosen.retention.horizon)
        for rebuild in (False, True) if name == "shuffled" else (False,):
            stream(spark, lake, results, configured(allowed, 1000, hold=hold) if rebuild else chosen, rebuild=rebuild)
            for result in results:
                [at, *_] = boundaries(lake, result, live_epoch(lake, result))
                assert at.epoch == (2 if rebuild else 1)
                found = rows_of(read_kappa(spark, lake, result, at), result)
                what = f"{result.name}, {name}, epoch {at.epoch}"
                judged(agree(found, ANSWERS[result.name](log), what, order))
                assert written_twice(spark, lake, result, at).isEmpty()


@pytest.mark.parametrize("round", rounds())
def test_under_drop_the_answer_is_that_over_what_was_in_time_in_any_cut(
    spark: SparkSession, round: int, judged: Judged
) -> None:
    """Lateness is written into the log, so no cut can change what is dropped. (With nothing allowed, all of it would be.)"""
    rng = chance("drop", round)
    allowed = rng.choice([each for each in ALLOWED if each])
    log = generated(rng, allowed)
    results = [*drawn(rng, RECOMPUTED, 3), *drawn(rng, ENGINES, 1)]
    for cut in (1, 1000):
        lake, chosen = fresh_lake(), configured(allowed, cut, policy="drop")
        write_log(lake, log, horizon=chosen.retention.horizon)
        stream(spark, lake, results, chosen)
        for result in results:
            judged(check(spark, lake, result, log, chosen))


@pytest.mark.parametrize("round", rounds())
@pytest.mark.parametrize("policy", ["correct", "drop"])
def test_what_few_rows_touch_is_right_under_either_policy(
    spark: SparkSession, round: int, policy: Policy, judged: Judged
) -> None:
    """For results whose cells are stretches of time: no other row repairs what one has left wrong."""
    rng = chance(f"few rows, {policy}", round)
    log, allowed = staggered(rng)
    results = drawn(rng, [result for result in WITHOUT_A_KEY if result.way == "recompute"], 1)
    results += drawn(rng, [result for result in WITHOUT_A_KEY if result.way == "engine"], 1)
    lake, chosen = fresh_lake(), configured(allowed, 1, policy=policy)
    write_log(lake, log, horizon=chosen.retention.horizon)
    stream(spark, lake, results, chosen)
    for result in results:
        judged(check(spark, lake, result, log, chosen))
