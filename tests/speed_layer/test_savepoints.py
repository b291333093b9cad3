"""Savepoints: a stream that starts from one gives what it would have given uninterrupted, also after a crash before it."""

import json
import shutil
from collections.abc import Callable
from dataclasses import replace
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
from game import catalogue
from laws.logs import ANSWERS, WINDOWS, Arrival, Row, rows_of, write_log
from pyspark.sql import DataFrame, SparkSession

import lakehouse.compaction
import speed_layer.micro_batch
import speed_layer.restore
import speed_layer.stream
from batch_layer.recompute import recompute
from lakehouse.changelogs import boundaries, boundary, changelog_name, read_changelog, read_kappa
from lakehouse.commits import newest
from lakehouse.compaction import maintenance_session, vacuum
from lakehouse.errors import (
    AlreadyRunning,
    CheckpointLost,
    CodeChanged,
    NothingToCompare,
    ParityError,
    SavepointRefused,
    SettingsChanged,
    StreamFailed,
    UnknownSavepoint,
)
from lakehouse.identity import current_epoch, live_epoch, note_replay
from lakehouse.lake import Lake, create_lake
from lakehouse.locks import exclusive
from lakehouse.maintenance import maintain
from lakehouse.queries import Watched
from lakehouse.savepoints import remove, saved_checkpoint, savepoint, savepoints, streams_of, take
from lakehouse.settings import Lateness, Settings, Stream, load_settings
from lakehouse.tables import read_table
from lakehouse.versions import make_live
from lakehouse.versions import remove as retire
from reconciliation.reconcile import reconcile
from serving.status import lake_status
from speed_layer.replay import replay
from speed_layer.restore import restore
from speed_layer.stream import stream
from transformations.result import Result

SETTINGS = load_settings().model_copy(
    update={
        "lateness": Lateness(allowed=timedelta(seconds=5), hold=timedelta(0)),
        "stream": Stream(commits_per_batch=1),
    }
)
IN_ONE_GO = SETTINGS.model_copy(update={"stream": Stream()})
DECLARED = catalogue(WINDOWS)
SCORES, OFFERS, SESSIONS = DECLARED["team_scores"], DECLARED["offer_outcomes"], DECLARED["player_sessions"]
STREAMS = [SCORES, OFFERS, DECLARED["league_scores"]]
STEPPED = replace(SCORES, version=2)
EVERY = [*STREAMS, STEPPED]
"""Of each kind one: a window in update mode; a join in append mode, with a watermark; recomputed; replayed in steps."""

BEFORE = [
    [
        Arrival("a", 9_000, "blue", "alice", 7),
        Arrival("b", 10_000, "blue", "bob", 250),
        Arrival("not clicked", 11_000, player="bob", kind="offer_shown", offer="o1"),
    ],
    [
        Arrival("shown", 100_000, player="bob", kind="offer_shown", offer="o2"),
        Arrival("gold", 101_000, player="bob", kind="league_changed", league="gold"),
        Arrival("c", 104_000, "blue", "bob", 400),
        Arrival("d", 104_500, "red", "alice", 20),
        Arrival("late", 8_000, "blue", "carol", 3),
    ],
]
AFTER = [
    [
        # These go on with what only the state knows: a window, two sessions, an offer.
        Arrival("e", 107_000, "blue", "bob", 1),
        Arrival("f", 108_000, "red", "alice", -20),
        Arrival("clicked", 109_000, player="bob", kind="offer_clicked", offer="o2"),
    ],
    [
        Arrival("later", 8_500, "blue", "carol", -150),
        Arrival("later league", 2_000, player="alice", kind="league_changed", league="bronze"),
        Arrival("g", 140_000, "red", "alice", 5),
        Arrival("end", 900_000, kind="heartbeat"),
    ],
]
LOG = [*BEFORE, *AFTER]


def answer(spark: SparkSession, lake: Lake, result: Result, log_version: int | None = None) -> set[Row]:
    return rows_of(read_kappa(spark, lake, result, boundary(lake, result, log_version)), result)


def course(lake: Lake, result: Result) -> list[tuple[int, int, datetime | None]]:
    """The micro-batches of the live epoch, from that of the savepoint on: number, log version, watermark."""
    first = savepoint(lake, "monday").streams[result.id].batch
    found = boundaries(lake, result, live_epoch(lake, result))
    return [(at.batch, at.log_version, at.watermark) for at in found if at.batch >= first]


def copied(lake: Lake, to: Path) -> Lake:
    return Lake(shutil.copytree(lake.path, to / "lake"))


def twice(spark: SparkSession, lake: Lake, result: Result) -> DataFrame:
    """Revisions that the live epoch has more than once."""
    at = boundary(lake, result)
    revisions = read_changelog(spark, lake, result, at).where(f"epoch = {at.epoch}")
    return revisions.groupBy(*result.identity, "log_version", "cause").count().where("count > 1")


@pytest.fixture(scope="module")
def saved(spark: SparkSession, tmp_path_factory: pytest.TempPathFactory) -> Lake:
    """A lake with the first part of the log, its streams, and the savepoint `monday` of them. Not to be changed."""
    lake = create_lake(tmp_path_factory.mktemp("saved") / "lake")
    write_log(lake, BEFORE, horizon=SETTINGS.retention.horizon)
    stream(spark, lake, STREAMS, SETTINGS)
    replay(spark, lake, STEPPED, SETTINGS, way="steps")
    take(spark, lake, "monday", streams_of(lake))
    return lake


@pytest.fixture(scope="module")
def gone_on(spark: SparkSession, saved: Lake, tmp_path_factory: pytest.TempPathFactory) -> Lake:
    """The log has gone on since, and the streams have followed it without an interruption. Not to be changed."""
    lake = copied(saved, tmp_path_factory.mktemp("gone on"))
    write_log(lake, LOG, horizon=SETTINGS.retention.horizon)
    stream(spark, lake, EVERY, SETTINGS)
    return lake


@pytest.fixture(scope="module")
def progress() -> dict[str, list[dict[str, Any]]]:
    """What Spark said of the micro-batches after the restore, by query."""
    return {}


@pytest.fixture(scope="module")
def restored(
    spark: SparkSession, gone_on: Lake, progress: dict[str, Any], tmp_path_factory: pytest.TempPathFactory
) -> Lake:
    """That lake, started from the savepoint and caught up again. Not to be changed."""
    run = speed_layer.stream.run

    def watched(*arguments: Any, **options: Any) -> list[Watched]:
        ended = run(*arguments, **options)
        progress.update({each.query.name: each.query.recentProgress for each in ended})
        return ended

    lake = copied(gone_on, tmp_path_factory.mktemp("restored"))
    restore(spark, lake, "monday", EVERY, SETTINGS)
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(speed_layer.stream, "run", watched)
        stream(spark, lake, EVERY, SETTINGS)
    return lake


def test_a_savepoint_says_where_every_stream_stood(saved: Lake) -> None:
    said = json.loads((saved.path / "savepoints" / "monday.json").read_text())
    assert (said["name"], said["log_version"]) == ("monday", len(BEFORE))
    assert set(said["streams"]) == {result.id for result in EVERY}
    scores, at = said["streams"]["team_scores@1"], boundary(saved, SCORES)
    code = scores.pop("code")
    assert (saved.path / "code" / code).is_dir()
    assert scores == {
        "epoch": 1,
        "batch": at.batch,
        "log_version": 2,
        "table_version": at.table_version,
        "settings": {
            "allowed_lateness": "5 seconds",
            "policy": "correct",
            "hold": "5 seconds",
            "way": "engine",
            "log": "1",
            "from_log_version": "0",
            "window_size": "10 seconds",
        },
        "since": 0,
        "history": None,
    }
    assert said["streams"]["team_scores@2"]["history"] == 2


@pytest.mark.parametrize("result", EVERY, ids=lambda result: result.id)
def test_the_restored_stream_gives_what_the_uninterrupted_one_gave(
    spark: SparkSession, gone_on: Lake, restored: Lake, result: Result
) -> None:
    was, now = live_epoch(gone_on, result), live_epoch(restored, result)
    assert (now.number, now.since, now.history, now.complete) == (2, was.since, was.history, True)
    assert now.app_id != was.app_id
    assert answer(spark, restored, result) == ANSWERS[result.name](LOG), "all is settled at the end"
    assert course(restored, result) == course(gone_on, result)
    # Every revision is there once and of the same log version, so the answer is the same at every version in between.
    rows = read_table(spark, restored, changelog_name(result))
    old, new = (rows.where(f"epoch = {epoch}").drop("epoch", "written_at").collect() for epoch in (1, 2))
    assert sorted(map(str, new)) == sorted(map(str, old)) != []


@pytest.mark.parametrize("result", [SCORES, OFFERS], ids=lambda result: result.id)
def test_the_rows_that_it_begins_with_keep_their_stamps(spark: SparkSession, restored: Lake, result: Result) -> None:
    at = savepoint(restored, "monday").streams[result.id].table_version
    before = read_table(spark, restored, changelog_name(result), version=at).drop("epoch").collect()
    now = read_table(spark, restored, changelog_name(result)).where("epoch = 2").drop("epoch").collect()
    assert before and set(before) < set(now)


def taken_when_the_clock_said(lake: Lake, name: str, moment: str) -> None:
    file = lake.path / "savepoints" / f"{name}.json"
    file.write_text(json.dumps({**json.loads(file.read_text()), "taken_at": moment}))


@pytest.mark.parametrize("year", [1971, 2999])
def test_a_step_of_the_clock_loses_no_row_of_a_restore(
    spark: SparkSession, gone_on: Lake, tmp_path: Path, year: int
) -> None:
    """One back before the savepoint: all its rows seem to be written later. One forward: those after it seem earlier."""
    lake = copied(gone_on, tmp_path)
    taken_when_the_clock_said(lake, "monday", f"{year}-01-01T00:00:00.000Z")
    restore(spark, lake, "monday", EVERY, SETTINGS)
    for result in EVERY:
        at = savepoint(lake, "monday").streams[result.id].table_version
        rows = read_table(spark, lake, changelog_name(result), version=at).where("epoch = 1").drop("epoch").collect()
        begun = read_table(spark, lake, changelog_name(result)).where("epoch = 2").drop("epoch").collect()
        assert sorted(map(str, begun)) == sorted(map(str, rows)) != []


@pytest.mark.parametrize("result", EVERY, ids=lambda result: result.id)
@pytest.mark.usefixtures("restored")
def test_it_does_not_read_the_log_from_the_start_again(
    saved: Lake, progress: dict[str, list[dict[str, Any]]], result: Result
) -> None:
    first, point = progress[result.id][0], savepoint(saved, "monday").streams[result.id]
    assert first["batchId"] == point.batch + 1
    for source in first["sources"]:
        assert json.loads(source["startOffset"])["reservoirVersion"] >= point.log_version


def test_the_reconciliation_agrees_and_the_status_counts_as_without_the_restore(
    spark: SparkSession, gone_on: Lake, restored: Lake, tmp_path: Path
) -> None:
    said = [
        {each["result"]: each for each in lake_status(lake, EVERY)["layers"] if each["layer"] == "kappa"}
        for lake in (gone_on, restored)
    ]
    for result in EVERY:
        uninterrupted, again = (each[result.id] for each in said)
        assert again == {**uninterrupted, "epoch": 2}
    lake = copied(restored, tmp_path)
    recompute(spark, lake, SCORES, SETTINGS)
    [found] = reconcile(spark, lake, [SCORES], SETTINGS).results
    assert (found.status, found.duplicate_revisions, found.engine_wrong) == ("agree", 0, 0)
    assert found.compared > 0


def test_readers_see_the_old_answer_until_the_restored_stream_has_caught_up(
    spark: SparkSession, saved: Lake, gone_on: Lake, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    lake = copied(gone_on, tmp_path)
    old, then = answer(spark, gone_on, OFFERS), answer(spark, saved, OFFERS)
    assert old != then
    seen: dict[str, set[Row]] = {}

    def look(_spark: SparkSession, place: str, *_: object) -> None:
        seen[place] = answer(spark, lake, OFFERS)

    monkeypatch.setattr(speed_layer.restore, "failpoint", look)
    restore(spark, lake, "monday", [OFFERS], SETTINGS)
    assert seen == {"restore.appended": old, "restore.copied": old}
    assert answer(spark, lake, OFFERS) == old
    at = boundaries(lake, OFFERS, live_epoch(lake, OFFERS))[0]
    assert rows_of(read_kappa(spark, lake, OFFERS, at), OFFERS) == then
    assert at.watermark == boundary(saved, OFFERS).watermark is not None

    # A savepoint of what has just been restored is the same point; and one can start from it as often as one likes.
    take(spark, lake, "tuesday", [OFFERS])
    stream(spark, lake, [OFFERS], SETTINGS)
    restore(spark, lake, "tuesday", [OFFERS], SETTINGS)
    assert boundaries(lake, OFFERS, live_epoch(lake, OFFERS))[0].log_version == at.log_version
    stream(spark, lake, [OFFERS], SETTINGS)
    assert live_epoch(lake, OFFERS).number == 3
    assert answer(spark, lake, OFFERS) == old
    assert course(lake, OFFERS) == course(gone_on, OFFERS)
    assert twice(spark, lake, OFFERS).isEmpty()


def test_a_savepoint_of_a_stream_that_was_killed_between_its_two_commits(
    spark: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The table has the micro-batch, the checkpoint has it still to finish: it comes again and must not be there twice.

    The one after it has no news and tells sessions that are over, at the same log version, which is not the savepoint's;
    and a maintenance has moved the rows of both into one file.
    """
    lake = create_lake(tmp_path / "lake")
    write_log(lake, BEFORE, horizon=SETTINGS.retention.horizon)

    def die(_spark: SparkSession, place: str, _name: str, batch: int) -> None:
        if (place, batch) == ("stream.appended", 1):
            raise InterruptedError("killed")

    with monkeypatch.context() as patched:
        patched.setattr(speed_layer.micro_batch, "failpoint", die)
        with pytest.raises(StreamFailed, match="killed"):
            stream(spark, lake, [SESSIONS], SETTINGS)
    take(spark, lake, "killed", [SESSIONS])
    copy = saved_checkpoint(lake, "killed", SESSIONS)
    assert (copy / "offsets" / "1").exists() and not (copy / "commits" / "1").exists()
    then = answer(spark, lake, SESSIONS)

    stream(spark, lake, [SESSIONS], SETTINGS)
    uninterrupted = boundaries(lake, SESSIONS, live_epoch(lake, SESSIONS))
    assert [(at.batch, at.log_version) for at in uninterrupted] == [(2, 2), (1, 2), (0, 1)]
    old = answer(spark, lake, SESSIONS)
    assert old > then
    taken_when_the_clock_said(lake, "killed", "2999-01-01T00:00:00.000Z")
    monkeypatch.setattr(lakehouse.compaction, "A_HANDFUL", 1)
    maintained = {each.table: each.files_after for each in maintain(spark, lake, SETTINGS)}
    assert maintained[changelog_name(SESSIONS)] == 1
    restore(spark, lake, "killed", [SESSIONS], SETTINGS)
    [at] = boundaries(lake, SESSIONS, live_epoch(lake, SESSIONS))
    assert rows_of(read_kappa(spark, lake, SESSIONS, at), SESSIONS) == then
    assert answer(spark, lake, SESSIONS) == old, "the new epoch has told less of the same version of the log"
    stream(spark, lake, [SESSIONS], SETTINGS)
    again = boundaries(lake, SESSIONS, live_epoch(lake, SESSIONS))
    assert [(at.batch, at.log_version) for at in again] == [(2, 2), (1, 2)]
    assert answer(spark, lake, SESSIONS) == old
    assert twice(spark, lake, SESSIONS).isEmpty()


def test_a_lake_that_was_maintained_since_can_start_from_its_savepoint(
    spark: SparkSession, gone_on: Lake, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    lake, name = copied(gone_on, tmp_path), changelog_name(OFFERS)
    monkeypatch.setattr(lakehouse.compaction, "A_HANDFUL", 1)
    stream(spark, lake, [OFFERS], IN_ONE_GO, rebuild=True)  # the savepoint's epoch is dead now, nobody else reads it
    maintained = {each.table: each for each in maintain(spark, lake, SETTINGS)}
    assert maintained[name].files_after == 1 < maintained[name].files_before
    at_once = "('delta.deletedFileRetentionDuration' = 'interval 1 millisecond')"
    spark.sql(f"alter table delta.`{lake.table(name)}` set tblproperties {at_once}")
    assert vacuum(maintenance_session(spark), lake, name) > 0, "the table is not as it was any more"
    restore(spark, lake, "monday", [OFFERS], SETTINGS)
    stream(spark, lake, [OFFERS], SETTINGS)
    assert answer(spark, lake, OFFERS) == ANSWERS["offer_outcomes"](LOG)
    assert twice(spark, lake, OFFERS).isEmpty()
    assert course(lake, OFFERS) == course(gone_on, OFFERS)


def test_a_rebuild_after_a_half_made_restore_does_not_mix_with_it(
    spark: SparkSession, gone_on: Lake, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    lake = copied(gone_on, tmp_path)

    def die(*_: object) -> None:
        raise InterruptedError("killed")

    with monkeypatch.context() as patched:
        patched.setattr(speed_layer.restore, "failpoint", die)
        with pytest.raises(InterruptedError):
            restore(spark, lake, "monday", [SCORES], SETTINGS)
    assert live_epoch(lake, SCORES).number == 1
    assert not read_table(spark, lake, changelog_name(SCORES)).where("epoch = 2").isEmpty()
    stream(spark, lake, [SCORES], IN_ONE_GO, rebuild=True)
    assert live_epoch(lake, SCORES).number == 3
    assert answer(spark, lake, SCORES) == ANSWERS["team_scores"](LOG)
    assert twice(spark, lake, SCORES).isEmpty()


OTHER_CODE = "0123456789ab"


def edit(lake: Lake, **changes: object) -> None:
    file = lake.path / "savepoints" / "monday.json"
    said = json.loads(file.read_text())
    said["streams"]["team_scores@1"] |= changes
    file.write_text(json.dumps(said))


def swap_and_retire(lake: Lake) -> None:
    make_live(lake, STEPPED)
    retire(lake, SCORES)


def damage(lake: Lake) -> None:
    batch = savepoint(lake, "monday").streams["team_scores@1"].batch
    (saved_checkpoint(lake, "monday", SCORES) / "offsets" / str(batch)).unlink()


def garble(lake: Lake) -> None:
    (lake.path / "savepoints" / "monday.json").write_text('{"name": "monday"}')


OTHER_SETTINGS = SETTINGS.model_copy(update={"lateness": Lateness(allowed=timedelta(seconds=6))})


@pytest.mark.parametrize(
    ("before", "name", "results", "settings", "error", "said"),
    [
        (None, "sunday", [SCORES], SETTINGS, UnknownSavepoint, r"no savepoint 'sunday' in .* There are: monday\."),
        (None, "../monday", [SCORES], SETTINGS, UnknownSavepoint, "There is no savepoint '../monday'"),
        (None, "monday", [DECLARED["level_ups"]], SETTINGS, SavepointRefused, "has no stream of level_ups@1. It has: .*team"),
        (None, "monday", [SCORES], OTHER_SETTINGS, SettingsChanged, "the lake has '5 seconds', the settings say '6 seconds'"),
        (damage, "monday", [OFFERS, SCORES], SETTINGS, SavepointRefused, "'monday' is damaged: .*offsets/1 is missing"),
        (garble, "monday", [SCORES], SETTINGS, SavepointRefused, "'monday' cannot be read: .*'streams'"),
        (swap_and_retire, "monday", [SCORES], SETTINGS, SavepointRefused, "it was retired.* `parity replay --lake"),
        (
            lambda lake: edit(lake, code=OTHER_CODE), "monday", [OFFERS, SCORES], SETTINGS, CodeChanged,
            rf"team_scores@1 as other code left it: {OTHER_CODE}, .*; this is [0-9a-f]{{12}}.*`parity replay --lake \S* "
            r"--result team_scores` .*--trust-code",
        ),
    ],
    ids=["unknown", "a path", "not in it", "settings", "damaged", "unreadable", "retired", "code"],
)  # fmt: skip
def test_what_a_stream_cannot_start_from_is_refused_and_no_stream_is_touched(
    spark: SparkSession,
    saved: Lake,
    tmp_path: Path,
    before: Callable[[Lake], None] | None,
    name: str,
    results: list[Result],
    settings: Settings,
    error: type[ParityError],
    said: str,
) -> None:
    lake = copied(saved, tmp_path)
    if before is not None:
        before(lake)
    notes = {file.name: file.read_text() for file in (lake.path / "results").iterdir()}
    versions = {table: newest(lake, table) for table in lake.tables()}
    with pytest.raises(error, match=said):
        restore(spark, lake, name, results, settings)
    assert {file.name: file.read_text() for file in (lake.path / "results").iterdir()} == notes
    assert {table: newest(lake, table) for table in lake.tables()} == versions


def test_other_code_can_be_trusted_to_go_on(spark: SparkSession, saved: Lake, tmp_path: Path) -> None:
    lake = copied(saved, tmp_path)
    edit(lake, code=OTHER_CODE)
    restore(spark, lake, "monday", [SCORES], SETTINGS, trust_code=True)
    assert live_epoch(lake, SCORES) == current_epoch(lake, SCORES), "the new epoch is of this code"
    assert answer(spark, lake, SCORES) == answer(spark, saved, SCORES)


def lose(lake: Lake) -> None:
    shutil.rmtree(live_epoch(lake, SCORES).checkpoint)


@pytest.mark.parametrize(
    ("before", "name", "results", "error", "said"),
    [
        (None, "monday", [SCORES], SavepointRefused, "There is a savepoint 'monday' in .* --remove monday"),
        (None, "../x", [SCORES], SavepointRefused, r"'../x' cannot be the name of a savepoint.*letters, digits"),
        (None, "a.json", [SCORES], SavepointRefused, "'a.json' cannot be the name"),
        (None, "", [SCORES], SavepointRefused, "'' cannot be the name"),
        (None, "x", [], SavepointRefused, "No stream has written anything in .*Run `parity stream` first"),
        (None, "x", [DECLARED["level_ups"]], NothingToCompare, "The stream of level_ups@1 has not run"),
        (lose, "x", [SCORES], CheckpointLost, "The checkpoint of team_scores@1 is gone or damaged"),
        (
            lambda lake: note_replay(lake, STEPPED, "steps"), "x", EVERY, SavepointRefused,
            "team_scores@2 is being replayed .*--as-version 2` finishes it",
        ),
    ],
    ids=["taken", "a path", "a file", "empty", "no stream", "not run", "lost", "replaying"],
)  # fmt: skip
def test_what_cannot_be_recorded_is_refused_and_leaves_nothing(
    spark: SparkSession,
    saved: Lake,
    tmp_path: Path,
    before: Callable[[Lake], None] | None,
    name: str,
    results: list[Result],
    error: type[ParityError],
    said: str,
) -> None:
    lake = copied(saved, tmp_path)
    if before is not None:
        before(lake)
    with pytest.raises(error, match=said):
        take(spark, lake, name, results)
    assert sorted(path.name for path in (lake.path / "savepoints").iterdir()) == ["monday", "monday.json"]
    assert savepoints(lake) == savepoints(saved)


def test_a_version_that_is_being_replayed_is_not_left_out_unseen(saved: Lake, tmp_path: Path) -> None:
    lake = copied(saved, tmp_path)
    new = replace(DECLARED["level_ups"], version=3)
    note_replay(lake, new, "steps")
    assert [result.id for result in streams_of(lake) if result.name == "level_ups"] == ["level_ups@3"]


def test_a_stream_that_is_running_has_to_be_stopped_first(spark: SparkSession, saved: Lake, tmp_path: Path) -> None:
    lake = copied(saved, tmp_path)
    with exclusive(spark, lake.lock_file("stream-team_scores@1"), wait=False):
        with pytest.raises(AlreadyRunning, match="it holds stream-team_scores@1.lock .*stop it"):
            take(spark, lake, "x", [OFFERS, SCORES])
        with pytest.raises(AlreadyRunning, match="it holds stream-team_scores@1.lock"):
            restore(spark, lake, "monday", [OFFERS, SCORES], SETTINGS)
    assert live_epoch(lake, OFFERS).number == 1
    assert [each.name for each in savepoints(lake)] == ["monday"]


def test_half_made_copies_are_no_savepoint_and_are_replaced(spark: SparkSession, saved: Lake, tmp_path: Path) -> None:
    lake = copied(saved, tmp_path)
    half = lake.path / "savepoints" / "x" / "team_scores@1" / "offsets"
    half.mkdir(parents=True)
    (half / "77").touch()
    with pytest.raises(UnknownSavepoint, match="There is no savepoint 'x'"):
        savepoint(lake, "x")
    take(spark, lake, "x", [SCORES])
    assert not (half / "77").exists()
    assert [each.name for each in savepoints(lake)] == ["monday", "x"]
    remove(lake, "x")
    assert sorted(path.name for path in (lake.path / "savepoints").iterdir()) == ["monday", "monday.json"]
