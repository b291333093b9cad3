"""The law of the project: on any log, at any version, in any cut into micro-batches, the stream equals batch.

Every result of the catalogue, in the way that its declaration names and, where that is the engine's, also recomputed.
"""

import itertools
import random
import tempfile
from collections.abc import Callable, Sequence
from dataclasses import replace
from datetime import datetime, timedelta
from functools import partial, reduce
from pathlib import Path

from hypothesis import HealthCheck, Phase, example, given, note
from hypothesis import settings as budget
from hypothesis import strategies as st
from logs import (
    ANSWERS,
    WINDOWS,
    Arrival,
    Log,
    Row,
    commits,
    exact,
    on_time_answer,
    plain,
    renumbered,
    rows_of,
    settled,
    write_log,
)
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F

from lakehouse.changelogs import Boundary, boundaries, mark, read_changelog, read_kappa, settled_before
from lakehouse.identity import live_epoch
from lakehouse.lake import Lake, create_lake
from lakehouse.log import log_at, newest_version
from lakehouse.settings import Lateness, Settings, Stream, load_settings
from speed_layer.stream import stream
from transformations.catalogue import catalogue
from transformations.changelog import ranking
from transformations.result import Result

RESULTS = list(catalogue(WINDOWS).values())
ENGINES = [result for result in RESULTS if result.way == "engine"]
ALLOWED = st.sampled_from([timedelta(0), timedelta(seconds=5), timedelta(seconds=5), timedelta(seconds=30)])
# An example costs many seconds, so a failure is printed as it is: shrinking it would take an hour.
FEW = partial(
    budget,
    deadline=None,
    derandomize=True,
    phases=[Phase.explicit, Phase.generate],
    suppress_health_check=list(HealthCheck),
)


def configured(allowed: timedelta, commits_per_batch: int) -> Settings:
    return load_settings().model_copy(
        update={"lateness": Lateness(allowed=allowed), "stream": Stream(commits_per_batch=commits_per_batch)}
    )


def rows_at(found: Sequence[Boundary], result: Result, view: Callable[[Boundary], DataFrame]) -> dict[int, set[Row]]:
    """What a view says at each boundary, by its micro-batch, in one Spark job for all."""
    frames = [view(at).select(*exact(result), F.lit(at.batch)) for at in found]
    said: dict[int, set[Row]] = {at.batch: set() for at in found}
    for *row, batch in reduce(DataFrame.union, frames).collect():
        assert plain(row) not in said[batch], f"{result.name} has a row twice: {row}"
        said[batch].add(plain(row))
    return said


def fresh_lake() -> Lake:
    return create_lake(Path(tempfile.mkdtemp()) / "lake")


def own_rows(spark: SparkSession, lake: Lake, result: Result, at: Boundary) -> DataFrame:
    """What the engine says before any repair."""
    own = read_changelog(spark, lake, result, at).where("cause = 'on_time'")
    return ranking(own, result, epoch=at.epoch, log_version=at.log_version).where("not deleted")


def check(spark: SparkSession, lake: Lake, result: Result, log: Log, allowed: timedelta) -> None:
    """The view at every boundary is the plain answer; before any repair the engine's is the one over what was in time.

    An engine that tells results once is asked for those that it can have told.
    """
    found = boundaries(lake, result, live_epoch(lake, result))
    assert found[0].log_version == newest_version(lake)
    views = rows_at(found, result, partial(read_kappa, spark, lake, result))
    # A wrong row stays in the changelog, so the engine's are looked at once, at the end.
    alone = rows_at(found[:1], result, partial(own_rows, spark, lake, result)) if result.way == "engine" else {}
    once = result.way == "engine" and result.window.mode == "append"
    for at in found:
        note(f"{result.name} ({result.way}) at log version {at.log_version}, micro-batch {at.batch}")
        before = settled_before(mark(lake, at.log_version), allowed, at)

        def told(rows: set[Row], before: datetime = before) -> set[Row]:
            return {row for row in rows if settled(result.name, row, before)} if once else rows

        so_far = log[: at.log_version]  # version 0 made the table, so commit n of the log is version n + 1
        assert told(views[at.batch]) == told(ANSWERS[result.name](so_far))
        if at.batch in alone:
            assert told(alone[at.batch]) == told(on_time_answer(result.name, so_far, allowed))


def check_all(spark: SparkSession, results: Sequence[Result], log: Log, allowed: timedelta, cut: int) -> None:
    """The stream runs twice, the second time from its checkpoint."""
    chosen, lake = configured(allowed, cut), fresh_lake()
    write_log(spark, lake, log[:2], horizon=chosen.retention.horizon)
    stream(spark, lake, results, chosen)
    write_log(spark, lake, log, horizon=chosen.retention.horizon)
    stream(spark, lake, results, chosen)
    for result in results:
        check(spark, lake, result, log, allowed)
        batch = result.of(log_at(spark, lake, newest_version(lake)))
        assert rows_of(batch, result) == ANSWERS[result.name](log)


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


@FEW(max_examples=1)
@given(log=commits(least=3, most=3), allowed=ALLOWED, cut=st.integers(1, 3))
@example(log=LATE_ON_THE_EDGE, allowed=timedelta(seconds=5), cut=2)
def test_on_any_log_at_any_version_in_any_cut_the_stream_equals_batch(
    spark: SparkSession, log: list[list[Arrival]], allowed: timedelta, cut: int
) -> None:
    check_all(spark, RESULTS, log, allowed, cut)


@FEW(max_examples=1)
@given(log=commits(least=3, most=3), allowed=ALLOWED, cut=st.integers(1, 2))
def test_what_the_engine_computes_can_be_recomputed_just_as_well(
    spark: SparkSession, log: list[list[Arrival]], allowed: timedelta, cut: int
) -> None:
    check_all(spark, [replace(result, way="recompute") for result in ENGINES], log, allowed, cut)


@FEW(max_examples=1)
@given(log=commits(least=2, most=3), seed=st.randoms(use_true_random=False))
def test_the_order_of_arrival_is_irrelevant_and_a_replay_rebuilds_the_same(
    spark: SparkSession, log: list[list[Arrival]], seed: random.Random
) -> None:
    """Under a heartbeat far ahead everything is settled, so every result has to be the plain answer."""
    chosen = configured(timedelta(seconds=5), 1000)
    shuffled = list(itertools.chain(*log))
    seed.shuffle(shuffled)
    end = [Arrival("end", 3_600_000, kind="heartbeat")]
    lake = fresh_lake()
    write_log(
        spark, lake, [*renumbered(shuffled, [len(commit) for commit in log]), end], horizon=chosen.retention.horizon
    )
    again = [result for result in RESULTS if result.name in ("team_scores", "player_sessions", "league_scores")]
    for results, rebuild in ((RESULTS, False), (again, True)):
        stream(spark, lake, results, chosen, rebuild=rebuild)
        for result in results:
            [at, *_] = boundaries(lake, result, live_epoch(lake, result))
            assert at.epoch == (2 if rebuild else 1)
            note(f"{result.name} in epoch {at.epoch}")
            assert rows_of(read_kappa(spark, lake, result, at), result) == ANSWERS[result.name](log)
