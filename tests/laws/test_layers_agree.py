"""The law of the project: on any log, at any version, in any cut into micro-batches, the stream equals batch."""

import itertools
import tempfile
from collections.abc import Callable, Iterable
from datetime import UTC, datetime, timedelta
from functools import partial, reduce
from pathlib import Path

from hypothesis import HealthCheck, Phase, example, given, note
from hypothesis import settings as budget
from hypothesis import strategies as st
from logs import ANSWERS, WINDOW, Arrival, commits, on_time, renumbered, write_log
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F

from lakehouse.changelogs import Boundary, boundaries, read_changelog, read_kappa
from lakehouse.identity import live_epoch
from lakehouse.lake import Lake, create_lake
from lakehouse.log import log_at, newest_version
from lakehouse.settings import Lateness, Settings, Stream, load_settings
from speed_layer.stream import stream
from transformations.catalogue import catalogue
from transformations.changelog import ranking
from transformations.result import Result

RESULTS = list(catalogue({name: {"size": WINDOW} for name in ANSWERS}).values())
ALLOWED = st.sampled_from([timedelta(0), timedelta(seconds=5), timedelta(seconds=30)])
# An example costs seconds, so a failure is printed as it is: shrinking it would take an hour.
FEW = budget(
    max_examples=3,
    deadline=None,
    derandomize=True,
    phases=[Phase.explicit, Phase.generate],
    suppress_health_check=list(HealthCheck),
)


def configured(allowed: timedelta, commits_per_batch: int) -> Settings:
    return load_settings().model_copy(
        update={"lateness": Lateness(allowed=allowed), "stream": Stream(commits_per_batch=commits_per_batch)}
    )


def rows_of(frame: DataFrame, result: Result) -> set[tuple[object, ...]]:
    return {_plain(row) for row in frame.select(*result.columns).collect()}


def rows_at(
    found: list[Boundary], result: Result, view: Callable[[Boundary], DataFrame]
) -> dict[int, set[tuple[object, ...]]]:
    """What a view says at each boundary, in one Spark job for all."""
    frames = [view(at).select(*result.columns, F.lit(at.log_version)) for at in found]
    said: dict[int, set[tuple[object, ...]]] = {at.log_version: set() for at in found}
    for *row, version in reduce(DataFrame.union, frames).collect():
        said[version].add(_plain(row))
    return said


def _plain(row: Iterable[object]) -> tuple[object, ...]:
    return tuple(value.astimezone(UTC) if isinstance(value, datetime) else value for value in row)


def fresh_lake() -> Lake:
    return create_lake(Path(tempfile.mkdtemp()) / "lake")


def engine_rows(spark: SparkSession, lake: Lake, result: Result, at: Boundary) -> DataFrame:
    own = read_changelog(spark, lake, result, at).where("cause = 'on_time'")
    epoch = live_epoch(lake, result).number
    return ranking(own, result, epoch=epoch, log_version=at.log_version).where("not deleted")


LATE_ON_THE_EDGE = [
    [Arrival("a", 9_999, "blue", "alice", 7), Arrival("b", 10_000, "blue", "bob", 250)],
    [Arrival("c", 15_000, "blue", "bob", 400), Arrival("d", 9_000, "blue", "carol", 1)],
    [Arrival("e", 40_000, "red", "alice", 1), Arrival("f", 12_000, "blue", "bob", -150)],
]


@FEW
@given(log=commits(most=4), allowed=ALLOWED, cut=st.integers(1, 3))
@example(log=LATE_ON_THE_EDGE, allowed=timedelta(seconds=5), cut=1)
def test_on_any_log_at_any_version_in_any_cut_the_stream_equals_batch(
    spark: SparkSession, log: list[list[Arrival]], allowed: timedelta, cut: int
) -> None:
    chosen, lake = configured(allowed, cut), fresh_lake()
    half = len(log) // 2
    write_log(spark, lake, log[:half], horizon=chosen.retention.horizon)
    if half:
        stream(spark, lake, RESULTS, chosen)
    write_log(spark, lake, log, horizon=chosen.retention.horizon)
    stream(spark, lake, RESULTS, chosen)
    for result in RESULTS:
        answer = ANSWERS[result.name]
        found = boundaries(lake, result, live_epoch(lake, result))
        assert found[0].log_version == newest_version(lake)
        views = rows_at(found, result, partial(read_kappa, spark, lake, result))
        alone = rows_at(found, result, partial(engine_rows, spark, lake, result))
        for version in {at.log_version for at in found}:
            # Version 0 made the table, so commit n of the log is version n + 1.
            note(f"{result.name} at log version {version}")
            assert views[version] == answer(log[:version])
            assert alone[version] == answer(on_time(log[:version], allowed))
        batch = result.of(log_at(spark, lake, newest_version(lake)))
        assert rows_of(batch, result) == answer(log)


@FEW
@given(log=commits(least=2, most=3), seed=st.randoms(use_true_random=False))
def test_the_order_of_arrival_is_irrelevant_and_a_replay_rebuilds_the_same(
    spark: SparkSession, log: list[list[Arrival]], seed: object
) -> None:
    chosen = configured(timedelta(seconds=5), 1)
    shuffled = list(itertools.chain(*log))
    seed.shuffle(shuffled)  # type: ignore[attr-defined]
    result = RESULTS[0]
    answers = []
    for each in (log, renumbered(shuffled, [len(commit) for commit in log])):
        lake = fresh_lake()
        write_log(spark, lake, each, horizon=chosen.retention.horizon)
        stream(spark, lake, [result], chosen)
        [first, *_] = boundaries(lake, result, live_epoch(lake, result))
        answers.append(rows_of(read_kappa(spark, lake, result, first), result))
    stream(spark, lake, [result], configured(timedelta(seconds=5), 1000), rebuild=True)
    assert live_epoch(lake, result).number == 2
    [first, *_] = boundaries(lake, result, live_epoch(lake, result))
    answers.append(rows_of(read_kappa(spark, lake, result, first), result))
    assert answers[0] == answers[1] == answers[2] == ANSWERS[result.name](log)
