"""What the stream keeps and what it reads: state that does not grow, and repairs that read only what they reach."""

from datetime import timedelta
from pathlib import Path

import pytest
from deliveries import START
from pyspark.sql import SparkSession
from pyspark.sql.streaming.query import StreamingQuery

import speed_layer.stream
from lakehouse.changelogs import boundary, read_kappa
from lakehouse.lake import Lake, create_lake
from lakehouse.log import EVENTS, SCHEMAS, create_log, position
from lakehouse.settings import Lateness, Settings, Stream, load_settings
from lakehouse.tables import Transaction, append
from speed_layer.stream import stream
from transformations.catalogue import catalogue
from transformations.result import Result

MINUTE = timedelta(minutes=1)
COMMITS, PER_COMMIT = 10, 60
# Short, so that an hour of events has many windows; every commit is ten minutes of event time.
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


def configured(per_batch: int) -> Settings:
    return load_settings().model_copy(
        update={"lateness": Lateness(allowed=MINUTE), "stream": Stream(commits_per_batch=per_batch)}
    )


def commit(spark: SparkSession, lake: Lake, number: int, *, first: timedelta, every: timedelta, count: int) -> None:
    """A commit of events of all kinds, at even distances."""
    at, rows = position(lake), []
    mark = at.high_water
    for place in range(count):
        moment = START + first + place * every
        mark = moment if mark is None else max(mark, moment)
        row = dict.fromkeys(SCHEMAS[EVENTS].names)
        row |= {"seq": at.seq + place + 1, "event_time": moment, "high_water": mark, "occurred_at": moment}
        row |= {"event_id": f"{number}-{place}", "batch": number, "file": "made", "line": place}
        kind = ("offer_shown", "offer_clicked", "league_changed")[place % 20] if place % 20 < 3 else "bubbles_popped"
        row |= {"kind": kind, "player_id": f"player {place % 7 if kind == 'bubbles_popped' else 0}"}
        row |= {"team_id": "blue", "bubbles": place % 9, "reaction_ms": place} if kind == "bubbles_popped" else {}
        row |= {"offer_id": f"{number}"} if kind.startswith("offer") else {}
        row |= {"league": f"league {number % 3}"} if kind == "league_changed" else {}
        rows.append(tuple(row.values()))
    latest = START + first + (count - 1) * every
    said = at.after(number, events=count, latest=latest, duplicates=0, quarantined=0)
    frame = spark.createDataFrame(rows, SCHEMAS[EVENTS])
    append(spark, lake, EVENTS, frame, transaction=Transaction("ingest", number), metadata=said)


@pytest.fixture(scope="module")
def log(spark: SparkSession, tmp_path_factory: pytest.TempPathFactory) -> Lake:
    """Ten commits of ten minutes each."""
    lake = create_lake(tmp_path_factory.mktemp("state") / "lake")
    create_log(spark, lake, horizon=timedelta(days=365))
    for number in range(COMMITS):
        first = number * 10 * MINUTE
        commit(spark, lake, number, first=first, every=10 * MINUTE / PER_COMMIT, count=PER_COMMIT)
    return lake


def test_state_does_not_grow_with_the_log(spark: SparkSession, log: Lake, monkeypatch: pytest.MonkeyPatch) -> None:
    """Ten times the events over ten times the event time leave no more state than the first tenth, plus open windows."""
    ended: list[StreamingQuery] = []
    run = speed_layer.stream.run

    def watched(*arguments: object, **options: object) -> list[StreamingQuery]:
        ended.extend(run(*arguments, **options))  # type: ignore[arg-type]
        return ended

    monkeypatch.setattr(speed_layer.stream, "run", watched)
    stream(spark, log, WINDOWED, configured(1))
    assert len(ended) == len(WINDOWED)
    for query in ended:
        rows = [sum(each["numRowsTotal"] for each in batch["stateOperators"]) for batch in query.recentProgress]
        assert len(rows) >= COMMITS, query.name
        assert rows[0] > 0, query.name
        assert max(rows[-3:]) <= 1.5 * max(rows[:3]), f"{query.name}: {rows}"


def scanned(spark: SparkSession) -> int:
    """How many rows Spark has read from files so far, by its own metrics."""
    store = spark._jsparkSession.sharedState().statusStore()
    total = 0
    executions = store.executionsList()
    for index in range(executions.size()):
        execution = executions.apply(index)
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


@pytest.mark.parametrize("result", RECOMPUTED, ids=lambda result: result.name)
def test_recompute_reads_the_log_only_where_the_touched_results_reach(
    spark: SparkSession, log: Lake, result: Result, tmp_path: Path
) -> None:
    """A commit at the end of the log touches its last minutes: no more than those are read again and again."""
    import shutil

    lake = Lake(shutil.copytree(log.path, tmp_path / "lake"))
    stream(spark, lake, [result], configured(1000))
    commit(spark, lake, COMMITS, first=COMMITS * 10 * MINUTE, every=timedelta(seconds=1), count=PER_COMMIT)
    before = scanned(spark)
    stream(spark, lake, [result], configured(1000))
    read = scanned(spark) - before
    log_rows = (COMMITS + 1) * PER_COMMIT
    print(result.name, read, log_rows)  # noqa: T201
    assert read > 0
    rows = read_kappa(spark, lake, result, boundary(lake, result)).select(*result.columns)
    assert rows.exceptAll(result.of(spark.read.format("delta").load(lake.table(EVENTS)))).isEmpty()
