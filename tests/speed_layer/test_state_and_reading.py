"""What the stream keeps and what it reads: state that does not grow, and repairs that read only what they reach."""

import shutil
from collections.abc import Iterator
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
from deliveries import START
from game import catalogue
from made_log import append_events
from pyspark.sql import SparkSession
from pyspark.sql.streaming.query import StreamingQuery

import speed_layer.stream
from ingestion.table import create_arrivals
from lakehouse.changelogs import boundary, read_kappa
from lakehouse.lake import Lake, create_lake
from lakehouse.log import log_at, newest_version
from lakehouse.queries import Watched
from lakehouse.settings import Lateness, load_settings
from speed_layer.stream import stream
from transformations.result import Result

MINUTE = timedelta(minutes=1)
TENTHS, PER_COMMIT = 10, 60
RARE = {17: "offer_shown", 18: "offer_clicked", 19: "league_changed"}
"""Every twentieth event each, the last of them at the end of a commit: an offer is open there."""
COUNTED = "spark.sql.streaming.stateStore.rocksdb.trackTotalNumberOfRows"
SETTINGS = load_settings().model_copy(update={"lateness": Lateness(allowed=MINUTE, hold=MINUTE)})
# Short, so that ten minutes of events have many windows.
RESULTS = catalogue(
    {
        "player_pace": {"size": 2 * MINUTE, "slide": MINUTE},
        "player_sessions": {"gap": timedelta(seconds=20)},
        "active_players": {"size": 5 * MINUTE},
        "offer_outcomes": {"within": MINUTE},
        "click_through": {"size": MINUTE, "within": MINUTE},
        "pop_streaks": {"size": 5 * MINUTE},
    }
)
WINDOWED = [result for result in RESULTS.values() if result.way == "engine" and result.name != "lifetime_totals"]
RECOMPUTED = [result for result in RESULTS.values() if result.way == "recompute"]


def commit(lake: Lake, number: int, *, first: timedelta, every: timedelta, count: int) -> None:
    """A commit of events of all kinds, at even distances."""
    rows = []
    for place in range(count):
        moment = START + first + place * every
        row: dict[str, object] = {"event_time": moment, "event_id": f"{number}-{place}"}
        kind = RARE.get(place % 20, "bubbles_popped")
        row |= {"kind": kind, "player_id": f"player {place % 3 if kind == 'bubbles_popped' else 0}"}
        row |= {"team_id": "blue", "bubbles": 10 + place % 9, "reaction_ms": place} if kind == "bubbles_popped" else {}
        row |= {"offer_id": f"{number}"} if kind.startswith("offer") else {}
        row |= {"league": f"league {number % 3}"} if kind == "league_changed" else {}
        rows.append(row)
    append_events(lake, rows, number)


def ten_minutes(lake: Lake, number: int) -> None:
    """The tenth of the log with this number: as many events over as much event time as any other."""
    commit(lake, number, first=number * 10 * MINUTE, every=10 * MINUTE / PER_COMMIT, count=PER_COMMIT)


@pytest.fixture
def _state_rows_are_counted(spark: SparkSession) -> Iterator[None]:
    """RocksDB counts its rows only if it is told to: that makes a put 2.6 times as expensive."""
    was = spark.conf.get(COUNTED)
    spark.conf.set(COUNTED, "true")
    yield
    spark.conf.set(COUNTED, was)


@pytest.mark.usefixtures("_state_rows_are_counted")
def test_state_does_not_grow_with_the_log(spark: SparkSession, lake: Lake, monkeypatch: pytest.MonkeyPatch) -> None:
    """Ten times the events over ten times the event time leave the state of the first tenth: what is open, no more."""
    kept: list[dict[str, int]] = []
    run = speed_layer.stream.run

    def watched(*arguments: Any, **options: Any) -> list[Watched]:
        ended = run(*arguments, **options)
        kept.append({each.query.name: state_rows(each.query) for each in ended})
        return ended

    monkeypatch.setattr(speed_layer.stream, "run", watched)
    create_arrivals(lake, horizon=timedelta(days=365))
    for tenths in (range(1), range(1, 2), range(2, TENTHS - 1), range(TENTHS - 1, TENTHS)):
        for number in tenths:
            ten_minutes(lake, number)
        stream(spark, lake, WINDOWED, SETTINGS)
    # The second tenth and the last both begin with what the one before them left open.
    _, second, _, last = kept
    assert len(second) == len(WINDOWED)
    for name, rows in second.items():
        assert 0 < last[name] <= rows, f"{name}: {[each[name] for each in kept]}"


def state_rows(query: StreamingQuery) -> int:
    """The rows of all its operators when it ended."""
    return sum(operator["numRowsTotal"] for operator in query.recentProgress[-1]["stateOperators"])


def executed(spark: SparkSession) -> int:
    """The number of Spark's last execution. It forgets the oldest of them, so only new ones can be counted."""
    executions = spark._jsparkSession.sharedState().statusStore().executionsList()
    return max((int(executions.apply(index).executionId()) for index in range(executions.size())), default=-1)


def scanned(spark: SparkSession, *, after: int) -> int:
    """How many rows Spark has read from files since an execution, by its own metrics."""
    store = spark._jsparkSession.sharedState().statusStore()
    total = 0
    executions = store.executionsList()
    for index in range(executions.size()):
        execution = executions.apply(index)
        if execution.executionId() <= after:
            continue
        values = store.executionMetrics(execution.executionId())
        metrics = execution.metrics()
        graph = store.planGraph(execution.executionId()).allNodes()
        assert metrics is not None
        for place in range(graph.size()):
            node = graph.apply(place)
            if not node.name().startswith("Scan parquet"):
                continue
            for each in range(node.metrics().size()):
                metric = node.metrics().apply(each)
                found = values.get(metric.accumulatorId())
                if metric.name() == "number of output rows" and found.isDefined():
                    total += int(found.get().replace(",", ""))
    return total


@pytest.fixture(scope="module")
def log(spark: SparkSession, tmp_path_factory: pytest.TempPathFactory) -> Lake:
    lake = create_lake(tmp_path_factory.mktemp("reading") / "lake")
    create_arrivals(lake, horizon=timedelta(days=365))
    for number in range(TENTHS):
        ten_minutes(lake, number)
    stream(spark, lake, RECOMPUTED, SETTINGS)
    return lake


@pytest.mark.parametrize("result", RECOMPUTED, ids=lambda result: result.name)
def test_recompute_reads_the_log_only_where_the_touched_results_reach(
    spark: SparkSession, log: Lake, result: Result, tmp_path: Path
) -> None:
    """A minute at the end of the log. The commit itself is read more than once, all else that is not reached not at all;
    but for the history of the leagues, which a result by league reaches by definition."""
    lake = Lake(shutil.copytree(log.path, tmp_path / "lake"))
    commit(lake, TENTHS, first=TENTHS * 10 * MINUTE, every=timedelta(seconds=1), count=PER_COMMIT)
    before = executed(spark)
    stream(spark, lake, [result], SETTINGS)
    read, whole = scanned(spark, after=before), TENTHS * PER_COMMIT
    history = whole if result.name == "league_scores" else 0
    assert PER_COMMIT <= read <= 8 * PER_COMMIT + history
    rows = read_kappa(spark, lake, result, boundary(lake, result)).select(*result.columns)
    expected = result.of(log_at(spark, lake, newest_version(lake)))
    assert expected.count() > 0
    assert rows.exceptAll(expected).isEmpty() and expected.exceptAll(rows).isEmpty()
