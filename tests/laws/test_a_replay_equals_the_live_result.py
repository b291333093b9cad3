"""A replay gives the answer of the live version at the same version of the log, in both ways, and goes on from there."""

from dataclasses import replace
from datetime import timedelta

import pytest
from judging import RESULTS, configured
from logs import ANSWERS, Arrival, Log, Row, rows_of, settled, write_log
from pyspark.sql import SparkSession

import speed_layer.replay
from lakehouse.changelogs import boundary, changelog_name, mark, read_changelog, read_kappa, settled_before
from lakehouse.commits import commits
from lakehouse.errors import ParityError
from lakehouse.identity import live_epoch
from lakehouse.lake import Lake, create_lake
from lakehouse.log import newest_version
from lakehouse.versions import is_replaying
from speed_layer.replay import replay
from speed_layer.stream import stream
from transformations.result import Result

ALLOWED = timedelta(seconds=5)
SETTINGS = configured(ALLOWED, 1000)
STEPPED = [replace(result, version=2) for result in RESULTS if not result.window.endless]
STREAMED = [replace(result, version=3) for result in RESULTS]

BEFORE = [
    [
        *(Arrival(f"pop {n}", 1_000 * n, "blue", "alice", 60, reaction_ms=100 + n) for n in range(9)),
        Arrival("loss", 9_000, "red", "bob", -150),
        Arrival("shown", 10_000, player="bob", kind="offer_shown", offer="o1"),
    ],
    [
        Arrival("win", 9_500, "red", "bob", 600),
        Arrival("gold", 9_700, player="bob", kind="league_changed", league="gold"),
        Arrival("loss behind the edge", 384_000, "red", "bob", -150),
    ],
    [Arrival("beat", 390_000, kind="heartbeat")],
    [
        # Alone it would be a level-up. The engine, which begins between the two, sees it alone.
        Arrival("win before the edge", 385_000, "red", "bob", 600),
        Arrival("late", 9_900, "red", "bob", 20),
        Arrival("open 1", 396_000, "blue", "alice", 250),
        Arrival("shown 2", 396_000, player="bob", kind="offer_shown", offer="o2"),
        Arrival("clicked early", 399_500, player="carol", kind="offer_clicked", offer="o3"),
    ],
    [Arrival("open 2", 400_000, "blue", "alice", 300)],
]
AFTER = [
    [
        Arrival("open 3", 401_000, "blue", "alice", 7),
        Arrival("clicked", 402_000, player="bob", kind="offer_clicked", offer="o2"),
        Arrival("shown late but in time", 399_000, player="carol", kind="offer_shown", offer="o3"),
    ],
    [
        Arrival("very late", 8_500, "blue", "alice", -200, reaction_ms=1),
        Arrival("very late league", 2_000, player="alice", kind="league_changed", league="bronze"),
        Arrival("very late click", 12_000, player="bob", kind="offer_clicked", offer="o1"),
    ],
    [Arrival("end", 900_000, kind="heartbeat")],
]


def answer(spark: SparkSession, lake: Lake, result: Result) -> set[Row]:
    return rows_of(read_kappa(spark, lake, result, boundary(lake, result)), result)


def told(lake: Lake, result: Result, rows: set[Row]) -> set[Row]:
    """What the version can have told: all, or what the engine's watermark has passed where it tells results once."""
    if result.way == "recompute" or result.window.mode == "update":
        return rows
    at = boundary(lake, result)
    before = settled_before(mark(lake, at.log_version), ALLOWED, at)
    return {row for row in rows if settled(result.name, row, before)}


@pytest.fixture(scope="module")
def lake(tmp_path_factory: pytest.TempPathFactory) -> Lake:
    lake = create_lake(tmp_path_factory.mktemp("replay") / "lake")
    write_log(lake, BEFORE, horizon=SETTINGS.retention.horizon)
    return lake


@pytest.fixture(scope="module")
def stepped(spark: SparkSession, lake: Lake) -> Lake:
    """Each result replayed in steps, two where it can be divided, while the log has its first part."""
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(speed_layer.replay, "EVENTS_A_STEP", sum(map(len, BEFORE)) - 1)
        for result in STEPPED:
            replay(spark, lake, result, SETTINGS, way="steps")
    return lake


@pytest.fixture(scope="module")
def continued(spark: SparkSession, stepped: Lake) -> Lake:
    """The log has gone on, the stepped versions have followed it, and the engine has replayed all of it."""
    write_log(stepped, [*BEFORE, *AFTER], horizon=SETTINGS.retention.horizon)
    stream(spark, stepped, STEPPED, SETTINGS)
    for result in STREAMED:
        replay(spark, stepped, result, SETTINGS)
    return stepped


def assert_answers(spark: SparkSession, lake: Lake, result: Result, log: Log) -> None:
    assert boundary(lake, result).log_version == newest_version(lake)
    rows = answer(spark, lake, result)
    assert told(lake, result, rows) == told(lake, result, ANSWERS[result.name](log))
    assert not is_replaying(lake, result)


@pytest.mark.parametrize("result", STEPPED, ids=lambda result: result.name)
def test_in_steps_the_engine_takes_over_at_the_open_edge(spark: SparkSession, stepped: Lake, result: Result) -> None:
    epoch = live_epoch(stepped, result)
    assert epoch.history == len(BEFORE)  # the log's version 0 made the table
    assert epoch.since > 1, "the settled commits are not to be read again"
    steps = [said["step"] for said in commits(stepped, changelog_name(result)) if "step" in said]
    assert sorted(steps) == ([0] if result.window.whole else [0, 1])
    assert_answers(spark, stepped, result, BEFORE)


@pytest.mark.parametrize("result", [*STEPPED, *STREAMED], ids=lambda result: result.id)
def test_what_comes_later_finds_its_place(spark: SparkSession, continued: Lake, result: Result) -> None:
    assert_answers(spark, continued, result, [*BEFORE, *AFTER])
    assert answer(spark, continued, result) == ANSWERS[result.name]([*BEFORE, *AFTER]), "all is settled at the end"
    revisions = read_changelog(spark, continued, result, boundary(continued, result))
    again = revisions.groupBy(*result.identity, "log_version", "cause").count().where("count > 1")
    assert again.isEmpty(), "a revision was written twice"


def test_what_is_never_over_has_no_history_to_step_through(spark: SparkSession, lake: Lake) -> None:
    [endless] = [replace(result, version=9) for result in RESULTS if result.window.endless]
    with pytest.raises(ParityError, match="no settled history"):
        replay(spark, lake, endless, SETTINGS, way="steps")
    assert not lake.result_file(endless.id).exists()
