"""The stream on a small log: late events repaired or dropped, and everything that makes it refuse to go on."""

import shutil
from collections.abc import Callable
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
from deliveries import START, heartbeat, land, pop
from pyspark.sql import Column, DataFrame, SparkSession
from pyspark.sql import functions as F

import speed_layer.micro_batch
import speed_layer.stream
from ingestion.ingest import ingest
from lakehouse.changelogs import boundary, changelog_name, read_kappa
from lakehouse.checkpoints import dropped_until
from lakehouse.commits import newest
from lakehouse.errors import (
    AlreadyRunning,
    CheckpointLost,
    EngineDroppedRows,
    NothingToCompare,
    SettingsChanged,
    StaleEpoch,
)
from lakehouse.identity import current_epoch, live_epoch
from lakehouse.lake import Lake, create_lake
from lakehouse.locks import exclusive
from lakehouse.settings import Lateness, Settings, Stream, load_settings
from lakehouse.tables import read_table
from pipelines.game.results.level_ups import level_ups
from pipelines.game.results.player_sessions import player_sessions
from pipelines.game.results.team_scores import team_scores
from speed_layer.stream import stream
from transformations.durations import to_millis
from transformations.result import Result

SCORES, LEVELS = team_scores(), level_ups()
MINUTE = 60

# One commit of the log each. With 5 minutes allowed, the first window is settled at a mark of 360 s.
COMMITS = {
    "1 on time.jsonl": [pop("a", 0, bubbles=500), pop("b", 30, bubbles=7, player="bob"), pop("r", 10, team="red")],
    "2 settles.jsonl": [heartbeat("beat-1", 400)],
    "3 late.jsonl": [pop("late", 20, bubbles=-3, player="carol"), pop("first", -1, bubbles=-1), pop("c", 410)],
    "4 undoes.jsonl": [pop("0 undoes", 0, bubbles=-500), heartbeat("beat-2", 800)],
}
CORRECTED = {
    ("blue", -MINUTE): (-1, 1, -1, -1, 1),
    ("blue", 0): (4, 4, -500, 500, 3),
    ("red", 0): (1, 1, 1, 1, 1),
    ("blue", 360): (1, 1, 1, 1, 1),
}
DROPPED = {("blue", 0): (507, 2, 7, 500, 2), ("red", 0): (1, 1, 1, 1, 1), ("blue", 360): (1, 1, 1, 1, 1)}

Answer = dict[tuple[str, int], tuple[Any, ...]]


def settings_of(*, commits_per_batch: int = 1000, **lateness: Any) -> Settings:
    """The engine holds a window until it is settled and no longer, so that there is something to repair."""
    settings = load_settings()
    held_shortly = {"hold": timedelta(0), **lateness}
    return settings.model_copy(
        update={"lateness": Lateness(**held_shortly), "stream": Stream(commits_per_batch=commits_per_batch)}
    )


def seconds(millis: int) -> float:
    return (millis - to_millis(START)) / 1000


def answer(rows: DataFrame, result: Result) -> Answer:
    times = [F.unix_millis(name).alias(name) for name in ("window_start", "reached_at") if name in result.columns]
    others = [name for name in result.columns if name not in ("window_start", "window_end", "reached_at")]
    found: Answer = {}
    for row in rows.select(*others, *times).collect():
        values = [seconds(row[name]) if name == "reached_at" else row[name] for name in result.value_names]
        found[row.team_id, int(seconds(row.window_start))] = tuple(values)
    return found


def kappa(spark: SparkSession, lake: Lake, result: Result = SCORES) -> Answer:
    return answer(read_kappa(spark, lake, result, boundary(lake, result)), result)


@pytest.fixture(scope="module")
def log(spark: SparkSession, tmp_path_factory: pytest.TempPathFactory) -> Lake:
    """A lake with a log of four commits, and nothing else."""
    base = tmp_path_factory.mktemp("log")
    landing = base / "landing"
    landing.mkdir()
    for name, lines in COMMITS.items():
        land(landing, name, lines)
    lake = create_lake(base / "lake")
    ingest(spark, lake, landing, load_settings(), files_per_batch=1)
    return lake


@pytest.fixture
def lake(log: Lake, tmp_path: Path) -> Lake:
    """A copy of that lake, for streams of its own."""
    return Lake(shutil.copytree(log.path, tmp_path / "lake"))


@pytest.fixture(scope="module")
def streamed(spark: SparkSession, log: Lake, tmp_path_factory: pytest.TempPathFactory) -> Lake:
    """A copy of that lake in which both streams have caught up, a commit a micro-batch. Not to be changed."""
    lake = Lake(shutil.copytree(log.path, tmp_path_factory.mktemp("streamed") / "lake"))
    stream(spark, lake, [SCORES, LEVELS], settings_of(commits_per_batch=1))
    return lake


@pytest.fixture
def caught_up(streamed: Lake, tmp_path: Path) -> Lake:
    """A lake whose streams have caught up, to be changed. Checkpoints know tables by their id and not by their path."""
    return Lake(shutil.copytree(streamed.path, tmp_path / "caught up"))


def test_late_events_are_repaired(spark: SparkSession, streamed: Lake) -> None:
    assert kappa(spark, streamed) == CORRECTED


def test_a_level_up_that_a_late_event_undid_is_gone(spark: SparkSession, streamed: Lake) -> None:
    assert kappa(spark, streamed, LEVELS) == {}
    table = read_table(spark, streamed, changelog_name(LEVELS))
    rows = table.where("team_id = 'blue' and reached_at is not null").collect()
    assert rows, "the level-up was never there, so nothing was undone"


def test_the_changelog_says_of_each_revision_why_and_at_which_version_it_came(
    spark: SparkSession, streamed: Lake
) -> None:
    table = read_table(spark, streamed, changelog_name(SCORES))
    columns = ["team_id", "unix_millis(window_start) as start", "bubbles", "cause", "log_version", "settled", "deleted"]
    rows = table.selectExpr(*columns, "epoch").collect()
    assert sorted((r.team_id, seconds(r.start), r.log_version, r.cause, r.bubbles, r.settled) for r in rows) == [
        ("blue", -60, 3, "on_time", -1, True),
        ("blue", 0, 1, "on_time", 507, False),
        ("blue", 0, 3, "on_time", 504, True),
        ("blue", 0, 4, "late", 4, True),
        ("blue", 360, 3, "on_time", 1, False),
        ("red", 0, 1, "on_time", 1, False),
    ]
    assert {(row.deleted, row.epoch) for row in rows} == {(False, 1)}


def test_the_stream_of_an_earlier_version_can_still_be_asked_for(spark: SparkSession, streamed: Lake) -> None:
    at = boundary(streamed, SCORES, 3)
    assert answer(read_kappa(spark, streamed, SCORES, at), SCORES)["blue", 0] == (504, 3, -3, 500, 3)


def test_the_answer_does_not_depend_on_the_micro_batches(spark: SparkSession, lake: Lake) -> None:
    stream(spark, lake, [SCORES], settings_of(commits_per_batch=2))
    assert kappa(spark, lake) == CORRECTED


def test_under_the_policy_drop_late_events_change_nothing(spark: SparkSession, lake: Lake) -> None:
    stream(spark, lake, [SCORES], settings_of(policy="drop"))
    assert kappa(spark, lake) == DROPPED


def test_a_second_run_adds_nothing(spark: SparkSession, caught_up: Lake) -> None:
    before = newest(caught_up, changelog_name(SCORES))
    stream(spark, caught_up, [SCORES], settings_of(commits_per_batch=1))
    assert newest(caught_up, changelog_name(SCORES)) == before


def test_a_batch_that_is_retried_after_its_append_adds_nothing(spark: SparkSession, caught_up: Lake) -> None:
    before = newest(caught_up, changelog_name(SCORES))
    commits = live_epoch(caught_up, SCORES).checkpoint / "commits"
    last = max(int(file.name) for file in commits.iterdir() if file.name.isdigit())
    (commits / str(last)).unlink()
    (commits / f".{last}.crc").unlink(missing_ok=True)
    stream(spark, caught_up, [SCORES], settings_of(commits_per_batch=1))
    assert (commits / str(last)).exists(), "the batch was not tried again"
    assert newest(caught_up, changelog_name(SCORES)) == before
    assert kappa(spark, caught_up) == CORRECTED


def test_an_engine_that_drops_rows_is_told_on(spark: SparkSession, lake: Lake, monkeypatch: pytest.MonkeyPatch) -> None:
    """Were late rows of a session not taken out before it, the engine would drop them, and nobody would know."""

    def never_late(_result: Result, _allowed: timedelta) -> Column:
        return F.col("event_time").isNull()

    monkeypatch.setattr(Result, "late", never_late)
    with pytest.raises(EngineDroppedRows, match=r"'player_sessions@1' Spark dropped rows of [1-9]\d* results"):
        stream(spark, lake, [player_sessions(gap=timedelta(seconds=20))], settings_of(commits_per_batch=1))


def one_micro_batch_early(checkpoint: Path, batch: int) -> datetime:
    return dropped_until(checkpoint, batch + 1)


def one_micro_batch_late(checkpoint: Path, batch: int) -> datetime:
    return dropped_until(checkpoint, max(batch - 1, 0))


@pytest.mark.parametrize(
    ("wrong", "dropped", "repaired"),
    [(one_micro_batch_early, 0, 2), (one_micro_batch_late, 1, 0)],
    ids=["a micro-batch early", "a micro-batch late"],
)
def test_a_repair_of_other_windows_than_the_engine_dropped_is_told_on(
    spark: SparkSession,
    lake: Lake,
    monkeypatch: pytest.MonkeyPatch,
    wrong: Callable[[Path, int], datetime],
    dropped: int,
    repaired: int,
) -> None:
    """The second late commit is of a window that the engine has closed, the first of two that it still holds."""
    monkeypatch.setattr(speed_layer.micro_batch, "dropped_until", wrong)
    with pytest.raises(EngineDroppedRows, match=f"Spark dropped rows of {dropped} results .* {repaired} were repaired"):
        stream(spark, lake, [SCORES], settings_of(commits_per_batch=1))


@pytest.mark.parametrize(
    ("changed", "result", "lake_has", "settings_say"),
    [
        (settings_of(allowed=timedelta(minutes=10)), SCORES, "'5 minutes'", "'10 minutes'"),
        (settings_of(policy="drop"), SCORES, "'correct'", "'drop'"),
        (settings_of(), team_scores(size=timedelta(seconds=90)), "'1 minute'", "'90 seconds'"),
    ],
    ids=["allowed lateness", "policy", "window"],
)
def test_other_settings_on_an_old_checkpoint_are_refused(
    spark: SparkSession, streamed: Lake, changed: Settings, result: Result, lake_has: str, settings_say: str
) -> None:
    before = newest(streamed, changelog_name(SCORES))
    with pytest.raises(SettingsChanged) as refused:
        stream(spark, streamed, [result], changed)
    assert f"the lake has {lake_has}, the settings say {settings_say}" in str(refused.value)
    assert newest(streamed, changelog_name(SCORES)) == before


def test_a_lost_checkpoint_is_refused_and_a_rebuild_gives_the_same_view(spark: SparkSession, caught_up: Lake) -> None:
    before = newest(caught_up, changelog_name(SCORES))
    shutil.rmtree(live_epoch(caught_up, SCORES).checkpoint)
    with pytest.raises(CheckpointLost, match=r"its table has micro-batch \d.*--result team_scores@1 --rebuild"):
        stream(spark, caught_up, [SCORES], settings_of())
    assert newest(caught_up, changelog_name(SCORES)) == before
    assert kappa(spark, caught_up) == CORRECTED, "readers are served while the stream stands still"

    stream(spark, caught_up, [SCORES], settings_of(), rebuild=True)
    assert kappa(spark, caught_up) == CORRECTED
    assert live_epoch(caught_up, SCORES).number == 2
    shown = read_kappa(spark, caught_up, SCORES, boundary(caught_up, SCORES))
    assert {row.epoch for row in shown.select("epoch").collect()} == {2}
    kept = read_table(spark, caught_up, changelog_name(SCORES)).groupBy("epoch").count()
    assert {row.epoch: row["count"] for row in kept.collect()} == {1: 6, 2: 4}
    assert kappa(spark, caught_up, LEVELS) == {}
    assert live_epoch(caught_up, LEVELS).number == 1


def test_a_view_stays_in_its_epoch_while_a_rebuild_begins(spark: SparkSession, caught_up: Lake) -> None:
    at = boundary(caught_up, SCORES)
    current_epoch(caught_up, SCORES, rebuild=True)
    assert answer(read_kappa(spark, caught_up, SCORES, at), SCORES) == CORRECTED


def test_readers_see_the_old_epoch_until_the_new_one_has_caught_up(
    spark: SparkSession, caught_up: Lake, monkeypatch: pytest.MonkeyPatch
) -> None:
    seen = []
    append_revisions = speed_layer.stream.append_revisions

    def looked_at(*arguments: Any) -> None:
        append_revisions(*arguments)
        seen.append((boundary(caught_up, SCORES).epoch, kappa(spark, caught_up)))

    monkeypatch.setattr(speed_layer.stream, "append_revisions", looked_at)
    stream(spark, caught_up, [SCORES], settings_of(commits_per_batch=1), rebuild=True)
    assert [epoch for epoch, _ in seen] == [1, 1, 1, 2]
    assert all(rows == CORRECTED for _, rows in seen)
    assert boundary(caught_up, SCORES, 2).epoch == 2, "as far as the new one has come, it is the one that answers"


def test_the_writer_of_a_stale_epoch_is_refused(
    spark: SparkSession, lake: Lake, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Another process rebuilds the result while this one computes."""
    repaired = speed_layer.micro_batch.repaired

    def overtaken(*arguments: Any, **options: Any) -> DataFrame | None:
        current_epoch(lake, SCORES, rebuild=True)
        return repaired(*arguments, **options)

    monkeypatch.setattr(speed_layer.micro_batch, "repaired", overtaken)
    with pytest.raises(StaleEpoch, match="has moved on to epoch 2; this process belongs to epoch 1"):
        stream(spark, lake, [SCORES], settings_of())
    assert newest(lake, changelog_name(SCORES)) == 0


def test_a_second_instance_of_a_stream_is_refused(spark: SparkSession, lake: Lake) -> None:
    with exclusive(spark, lake.lock_file("stream-team_scores@1"), wait=False):
        with pytest.raises(AlreadyRunning, match=r"it holds stream-team_scores@1\.lock"):
            stream(spark, lake, [LEVELS, SCORES], settings_of())
        assert not lake.has(changelog_name(SCORES))
        assert not lake.has(changelog_name(LEVELS))


def test_without_a_log_there_is_nothing_to_stream(spark: SparkSession, tmp_path: Path) -> None:
    with pytest.raises(NothingToCompare, match="has no log yet"):
        stream(spark, create_lake(tmp_path / "new"), [SCORES], settings_of())


def test_a_log_without_events_gives_no_answer_yet(spark: SparkSession, tmp_path: Path) -> None:
    lake = create_lake(tmp_path / "new")
    (tmp_path / "landing").mkdir()
    ingest(spark, lake, tmp_path / "landing", load_settings())
    stream(spark, lake, [SCORES], settings_of())
    with pytest.raises(NothingToCompare, match="has written nothing"):
        kappa(spark, lake)
