"""Maintenance: what it removes nobody can miss, and what it must not remove stays. Beside streams that run, too."""

import itertools
import json
import shutil
import threading
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from datetime import timedelta
from functools import reduce
from pathlib import Path

import pytest
from deliveries import heartbeat, land, pop
from game import catalogue
from laws.logs import WINDOWS, Arrival, Log, write_log
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F
from typer.testing import CliRunner

from batch_layer.recompute import recompute
from cli.main import app
from ingestion.ingest import ingest
from lakehouse import compaction, folding
from lakehouse.arrivals import ARRIVALS
from lakehouse.changelogs import (
    Boundary,
    boundaries,
    boundary,
    changelog_files,
    changelog_name,
    read_changelog,
    read_kappa,
)
from lakehouse.commits import commits, newest
from lakehouse.compaction import maintenance_session, properties, vacuum
from lakehouse.errors import LogCompacted, NothingToCompare
from lakehouse.folding import fold
from lakehouse.identity import live_epoch, note_replay
from lakehouse.lake import Lake, create_lake, open_lake
from lakehouse.locks import exclusive
from lakehouse.log import first_streamable, log_at, newest_version, position
from lakehouse.maintenance import Upkeep, maintain
from lakehouse.settings import Lateness, Retention, Settings, Stream, load_settings
from lakehouse.tables import read_table
from lakehouse.versions import described
from reconciliation.keys import identity_schema, known_revisions, revised
from reconciliation.reconcile import reconcile
from reconciliation.verdict import Verdict
from reconciliation.workspace import workspace
from serving.status import lake_status
from speed_layer.replay import replay
from speed_layer.stream import stream
from transformations.changelog import ranking
from transformations.result import Result

RESULTS = catalogue(WINDOWS)
SCORES = RESULTS["team_scores"]
SETTINGS = load_settings().model_copy(
    update={
        "lateness": Lateness(allowed=timedelta(seconds=5)),
        "stream": Stream(commits_per_batch=1),
        "retention": Retention(revisions=timedelta(seconds=60)),
    }
)
IN_ONE = SETTINGS.model_copy(update={"stream": Stream(commits_per_batch=1000)})

FOLDED = [SCORES, RESULTS["player_sessions"]]
FOLD_POINT = 4
REVISED: Log = [
    [
        *(Arrival(f"pop {n}", 1_000 * n, "blue", "alice", 150) for n in range(1, 5)),
        Arrival("shown", 2_000, player="bob", kind="offer_shown", offer="o1"),
    ],
    [
        Arrival("loss", 8_000, "blue", "alice", -300),
        Arrival("click", 12_000, player="bob", kind="offer_clicked", offer="o1"),
        Arrival("red", 9_000, "red", "bob", 600),
    ],
    [
        Arrival("beat", 40_000, kind="heartbeat"),
        Arrival("late", 3_500, "blue", "alice", 250),
        Arrival("late click", 9_000, player="bob", kind="offer_clicked", offer="o1"),
    ],
    [
        Arrival("later", 45_000, "red", "alice", 7),
        Arrival("late again", 4_500, "blue", "alice", -400),
        Arrival("later click", 7_000, player="bob", kind="offer_clicked", offer="o1"),
    ],
    [Arrival("far beyond", 130_000, "red", "bob", 1), Arrival("back to life", 5_500, "blue", "alice", 500)],
    [
        Arrival("open", 131_000, "red", "bob", 2),
        Arrival("very late", 6_500, "blue", "alice", 3),
        Arrival("very late click", 6_000, player="bob", kind="offer_clicked", offer="o1"),
    ],
]

Told = dict[str, list[tuple[object, ...]]]


def told(spark: SparkSession, lake: Lake, result: Result, *, since: int = FOLD_POINT) -> Told:
    """What readers are told at each boundary since a version: the view, the engine's part of it, and its history."""

    def at_each(kind: str, frame: Callable[[Boundary], DataFrame]) -> tuple[str, DataFrame]:
        found = [each for each in boundaries(lake, result, live_epoch(lake, result)) if each.log_version >= since]
        newest_at = [next(group) for _, group in itertools.groupby(found, key=lambda each: each.log_version)]
        assert len(newest_at) > 1
        frames = [frame(at).withColumn("at", F.lit(at.log_version)) for at in newest_at]
        return kind, reduce(DataFrame.unionByName, frames)

    def alone(at: Boundary) -> DataFrame:
        own = read_changelog(spark, lake, result, at).where("cause = 'on_time'")
        return ranking(own, result, epoch=at.epoch, log_version=at.log_version)

    def revised_at(at: Boundary) -> DataFrame:
        with workspace(lake, result) as space:
            space.table("changelog", changelog_files(lake, result, at))
            known = known_revisions("changelog", epoch=at.epoch, batch=at.batch)
            rows = space.database.sql(revised(result, known, epoch=at.epoch)).fetchall()
        return spark.createDataFrame(rows, identity_schema(result).add("repaired", "boolean").add("times", "long"))

    kinds = [
        at_each("view", lambda at: read_kappa(spark, lake, result, at)),
        at_each("alone", alone),
        at_each("revised", revised_at),
    ]
    return {kind: sorted(map(tuple, rows.collect()), key=repr) for kind, rows in kinds}


def later_rows(spark: SparkSession, lake: Lake, result: Result) -> list[tuple[object, ...]]:
    rows = read_table(spark, lake, changelog_name(result)).where(F.col("log_version") > FOLD_POINT)
    return sorted(map(tuple, rows.collect()), key=repr)


def set_property(spark: SparkSession, lake: Lake, table: str, name: str, value: str) -> None:
    spark.sql(f"alter table delta.`{lake.table(table)}` set tblproperties ('{name}' = '{value}')")


def let_the_horizon_pass(spark: SparkSession, lake: Lake, table: str) -> None:
    set_property(spark, lake, table, "delta.deletedFileRetentionDuration", "interval 1 millisecond")


def stored(lake: Lake, table: str) -> int:
    return len(list(Path(lake.table(table)).glob("*.parquet")))


def versions_of_tables(lake: Lake) -> dict[str, int]:
    return {name: newest(lake, name) for name in lake.tables()}


def by_table(done: Iterator[Upkeep]) -> dict[str, Upkeep]:
    return {each.table: each for each in done}


@pytest.fixture(scope="module")
def revised_lake(spark: SparkSession, tmp_path_factory: pytest.TempPathFactory) -> Lake:
    """Late events have revised what was settled, before the fold point and after it. Tests take copies."""
    lake = create_lake(tmp_path_factory.mktemp("revised") / "lake")
    write_log(lake, REVISED, horizon=SETTINGS.retention.horizon)
    stream(spark, lake, FOLDED, SETTINGS)
    return lake


@pytest.fixture
def revisions(revised_lake: Lake, tmp_path: Path) -> Lake:
    return copied(revised_lake, tmp_path / "copy")


@pytest.fixture(scope="module")
def pulse_lake(spark: SparkSession, tmp_path_factory: pytest.TempPathFactory) -> Lake:
    lake = create_lake(tmp_path_factory.mktemp("pulse") / "lake")
    write_log(lake, PULSE, horizon=IN_ONE.retention.horizon)
    stream(spark, lake, [SCORES], IN_ONE)
    return lake


@pytest.fixture
def small(pulse_lake: Lake, tmp_path: Path) -> Lake:
    """Ten commits of the log, and a stream that took them in one micro-batch."""
    return copied(pulse_lake, tmp_path / "copy")


def copied(lake: Lake, path: Path) -> Lake:
    shutil.copytree(lake.path, path)
    return open_lake(path)


PULSE: Log = [[Arrival(f"pop {n}", 15_000 * n, "blue", "alice", 10 + n)] for n in range(10)]


def test_every_view_from_the_fold_on_is_what_it_was_and_the_stream_goes_on(
    spark: SparkSession, revisions: Lake
) -> None:
    seen = {each.id: (told(spark, revisions, each), later_rows(spark, revisions, each)) for each in FOLDED}
    done = by_table(maintain(spark, revisions, SETTINGS))
    for result in FOLDED:
        assert done[changelog_name(result)].rows_folded > 0
        assert (told(spark, revisions, result), later_rows(spark, revisions, result)) == seen[result.id]
        rest = read_table(spark, revisions, changelog_name(result)).where(F.col("log_version") <= FOLD_POINT)
        assert rest.groupBy(*result.identity, "cause").count().where("count > 1").isEmpty()

    versions = versions_of_tables(revisions)
    for each in maintain(spark, revisions, SETTINGS):
        assert (each.files_before, each.rows_folded, each.files_vacuumed) == (each.files_after, 0, 0)
    assert versions_of_tables(revisions) == versions, "a second run finds nothing to do"

    assert boundary(revisions, SCORES, FOLD_POINT).log_version == FOLD_POINT
    with pytest.raises(NothingToCompare, match="up to log version 4 have been folded. Ask at log version 4 or later"):
        boundary(revisions, SCORES, FOLD_POINT - 1)

    more = [Arrival("more", 140_000, "red", "bob", 5), Arrival("late once more", 4_700, "blue", "alice", 11)]
    write_log(revisions, [*REVISED, more], horizon=SETTINGS.retention.horizon)
    assert_agrees(spark, revisions, FOLDED, SETTINGS)


def assert_agrees(spark: SparkSession, lake: Lake, results: list[Result], settings: Settings) -> Verdict:
    stream(spark, lake, results, settings)
    for result in results:
        recompute(spark, lake, result, settings)
    verdict = reconcile(spark, lake, results, settings)
    for each in verdict.results:
        assert (each.differing, each.duplicate_revisions, each.engine_wrong, each.behind) == (0, 0, 0, 0)
        assert each.equal > 1
    return verdict


def test_a_compaction_is_no_news_for_anybody(spark: SparkSession, small: Lake) -> None:
    events = log_at(spark, small, 5).count()
    done = by_table(maintain(spark, small, IN_ONE))
    assert (done[ARRIVALS].files_before, done[ARRIVALS].files_after) == (10, 1)
    assert newest_version(small) == 10 < newest(small, ARRIVALS)
    assert log_at(spark, small, 5).count() == events
    for _ in range(2):
        assert [layer["lag_versions"] for layer in lake_status(small, [SCORES])["layers"][:1]] == [0]
        assert [each["lag_versions"] for each in described(small, "team_scores")] == [0]
        stream(spark, small, [SCORES], IN_ONE)
    assert boundary(small, SCORES).log_version == 10


def test_a_replay_after_a_compaction_reads_the_commits_one_by_one_and_ends(spark: SparkSession, small: Lake) -> None:
    list(maintain(spark, small, IN_ONE))
    new = replace(SCORES, version=2)
    three = IN_ONE.model_copy(update={"stream": Stream(commits_per_batch=4)})
    replay(spark, small, new, three)
    versions = [each.log_version for each in boundaries(small, new, live_epoch(small, new))]
    assert versions == [10, 8, 4]
    answers = [read_kappa(spark, small, each, boundary(small, each)) for each in (SCORES, new)]
    one, other = ({(row.window_start, row.bubbles) for row in rows.collect()} for rows in answers)
    assert one == other and len(one) == 10


def test_what_is_beyond_the_horizon_goes_and_the_answers_stay(spark: SparkSession, small: Lake) -> None:
    recompute(spark, small, SCORES, IN_ONE)
    recompute(spark, small, SCORES, IN_ONE)
    list(maintain(spark, small, IN_ONE))
    done = by_table(maintain(spark, small, IN_ONE))
    assert all(each.files_vacuumed == 0 for each in done.values())
    assert stored(small, ARRIVALS) == 11, "within the horizon the old files stay"
    tables = {ARRIVALS, "batch_team_scores@1"}
    for table in tables:
        let_the_horizon_pass(spark, small, table)
    done = by_table(maintain(spark, small, IN_ONE))
    assert {name for name, each in done.items() if each.files_vacuumed} == tables
    assert stored(small, ARRIVALS) == 1
    assert log_at(spark, small, 5).count() == 5
    verdict = reconcile(spark, small, [SCORES], IN_ONE)
    assert verdict.results[0].differing == 0 and verdict.results[0].equal > 1
    stream(spark, small, [SCORES], IN_ONE)

    assert first_streamable(small) == 11
    note = small.result_file(SCORES.id).read_text()
    for refused in (
        lambda: stream(spark, small, [SCORES], IN_ONE, rebuild=True),
        lambda: replay(spark, small, replace(SCORES, version=2), IN_ONE),
    ):
        with pytest.raises(
            LogCompacted, match="before version 11 has been compacted.*--way steps` reads the log as a whole"
        ):
            refused()
    assert small.result_file(SCORES.id).read_text() == note, "the live epoch is still the live one"


def test_the_log_keeps_what_a_live_version_or_a_savepoint_has_yet_to_read(spark: SparkSession, small: Lake) -> None:
    write_log(small, [*PULSE, [Arrival("new", 200_000)]], horizon=IN_ONE.retention.horizon)
    list(maintain(spark, small, IN_ONE))
    let_the_horizon_pass(spark, small, ARRIVALS)
    done = by_table(maintain(spark, small, IN_ONE))
    assert (done[ARRIVALS].needed_by, done[ARRIVALS].files_vacuumed) == (("team_scores@1",), 0)
    stream(spark, small, [SCORES], IN_ONE)
    save(small, "friday", {SCORES.id: {"epoch": 1, "log_version": 7}})
    done = by_table(maintain(spark, small, IN_ONE))
    assert (done[ARRIVALS].needed_by, done[ARRIVALS].files_vacuumed) == (("savepoint friday",), 0)
    (small.path / "savepoints" / "friday.json").unlink()
    assert by_table(maintain(spark, small, IN_ONE))[ARRIVALS].files_vacuumed == 11


def save(lake: Lake, name: str, streams: dict[str, dict[str, int]]) -> None:
    """A savepoint of which only these things matter."""
    other = {"batch": 0, "table_version": 0, "code": None, "settings": {}, "since": 0, "history": None}
    told = {"name": name, "taken_at": "2026-03-01T10:00:00.000Z", "log_version": 0}
    (lake.path / "savepoints").mkdir(exist_ok=True)
    full = {result: {**other, **stream} for result, stream in streams.items()}
    (lake.path / "savepoints" / f"{name}.json").write_text(json.dumps({**told, "streams": full}))


def epochs(spark: SparkSession, lake: Lake) -> dict[int, int]:
    counted = read_table(spark, lake, changelog_name(SCORES)).groupBy("epoch").count().collect()
    return {row.epoch: row["count"] for row in counted}


def test_rows_of_a_dead_epoch_go_unless_a_savepoint_names_it_and_a_replay_is_left_alone(
    spark: SparkSession, small: Lake
) -> None:
    stream(spark, small, [SCORES], IN_ONE, rebuild=True)
    write_log(small, [*PULSE, [Arrival("far", 900_000)]], horizon=IN_ONE.retention.horizon)
    stream(spark, small, [SCORES], IN_ONE)
    assert epochs(spark, small) == {1: 10, 2: 11}
    save(small, "friday", {SCORES.id: {"epoch": 1, "log_version": 10}})
    assert by_table(maintain(spark, small, IN_ONE))[changelog_name(SCORES)].rows_folded == 0
    (small.path / "savepoints" / "friday.json").unlink()
    note_replay(small, SCORES, "engine")
    assert changelog_name(SCORES) not in by_table(maintain(spark, small, IN_ONE))
    note_replay(small, SCORES, None)
    streamed = by_table(maintain(spark, small, IN_ONE))[changelog_name(SCORES)]
    assert (streamed.rows_folded, epochs(spark, small)) == (10, {2: 11})
    assert read_kappa(spark, small, SCORES, boundary(small, SCORES)).count() == 11
    set_property(spark, small, changelog_name(SCORES), "delta.deletedFileRetentionDuration", "interval 1 millisecond")
    old = boundary(small, SCORES, 10)
    assert vacuum(maintenance_session(spark), small, changelog_name(SCORES)) > 0
    assert read_kappa(spark, small, SCORES, old).count() == 10, "a boundary from before the fold is read after it"


def test_a_savepoint_in_the_live_epoch_holds_the_fold_back(spark: SparkSession, revisions: Lake) -> None:
    seen = told(spark, revisions, SCORES, since=3)
    save(revisions, "friday", {SCORES.id: {"epoch": 1, "log_version": 3}})
    assert fold(spark, revisions, SCORES, SETTINGS) > 0
    assert told(spark, revisions, SCORES, since=3) == seen


def test_a_changelog_left_open_by_a_crash_is_closed_again_and_a_fold_leaves_it_closed(
    spark: SparkSession, revisions: Lake, monkeypatch: pytest.MonkeyPatch
) -> None:
    lake, name = revisions, changelog_name(SCORES)
    set_property(spark, lake, name, "delta.appendOnly", "false")  # what a SIGKILL in the middle of a fold leaves behind
    monkeypatch.setattr(folding, "LEAST_SHARE", 2)
    assert fold(spark, lake, SCORES, SETTINGS) == 0
    assert properties(spark, lake, name)["delta.appendOnly"] == "true"
    monkeypatch.undo()
    assert fold(spark, lake, SCORES, SETTINGS) > 0
    assert properties(spark, lake, name)["delta.appendOnly"] == "true"


def test_each_commit_is_made_under_the_lock_of_its_table(
    spark: SparkSession, revisions: Lake, monkeypatch: pytest.MonkeyPatch
) -> None:
    """On a local disk two processes can lose a commit otherwise."""
    locked: Counter[str] = Counter()

    @contextmanager
    def counted(session: SparkSession, file: Path, *, wait: bool) -> Iterator[None]:
        with exclusive(session, file, wait=wait):
            version = newest(revisions, file.stem)
            yield
            locked[file.stem] += newest(revisions, file.stem) - version

    before = versions_of_tables(revisions)
    for module in (compaction, folding):
        monkeypatch.setattr(module, "exclusive", counted)
    monkeypatch.setattr(compaction, "A_HANDFUL", 2)
    list(maintain(spark, revisions, SETTINGS))
    made = {name: version - before[name] for name, version in versions_of_tables(revisions).items()}
    assert made == {name: locked[name] for name in made}
    assert made[ARRIVALS] and all(made[changelog_name(each)] for each in FOLDED)


class Enough(Exception):
    """Ends a continuous query."""


def test_a_stream_and_the_ingestion_go_on_while_maintenance_runs(
    spark: SparkSession, lake: Lake, landing: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(compaction, "A_HANDFUL", 1)
    monkeypatch.setattr(folding, "LEAST_SHARE", 0.0001)
    numbers = itertools.count()
    results = [RESULTS[name] for name in ("team_scores", "player_sessions")]
    settings = SETTINGS.model_copy(
        update={"stream": Stream(commits_per_batch=5, interval=timedelta(milliseconds=10)),
                "retention": Retention(revisions=timedelta(seconds=5))}
    )  # fmt: skip
    stop = threading.Event()
    failures: list[BaseException] = []

    def deliver(count: int = 1) -> None:
        for n in itertools.islice(numbers, count):
            late = [pop(f"late {n} {back}", max(10 * n - back, 0), bubbles=7) for back in (40, 50)]
            land(landing, f"{n:03}.jsonl", [pop(f"e{n}", 10 * n, bubbles=n), *late, heartbeat(f"b{n}", 10 * n + 9)])

    def watched(run: Callable[[], None]) -> threading.Thread:
        def body() -> None:
            try:
                run()
            except BaseException as failure:
                failures.append(failure)

        thread = threading.Thread(target=body)
        thread.start()
        return thread

    def ingesting() -> None:
        while not stop.is_set():
            deliver()
            ingest(spark, lake, landing, settings)

    def streaming() -> None:
        def until_stopped() -> None:
            if stop.is_set():
                raise Enough

        with pytest.raises(Enough):
            stream(spark, lake, results, settings, continuous=True, meanwhile=until_stopped)

    deliver(2)
    ingest(spark, lake, landing, settings)
    threads = [watched(ingesting), watched(streaming)]
    runs: list[dict[str, Upkeep]] = []
    try:
        while not failures and len(runs) < 20 and not _all_done(runs, results):
            runs.append(by_table(maintain(spark, lake, settings)))
    finally:
        stop.set()
        for thread in threads:
            thread.join()
    assert not failures, failures
    assert _all_done(runs, results)
    verdict = assert_agrees(spark, lake, results, IN_ONE)
    assert position(lake).seq == 4 * next(numbers) == read_table(spark, lake, ARRIVALS).count()
    assert verdict.exit_code == 0 and all(each.equal > 5 for each in verdict.results)


def _all_done(runs: list[dict[str, Upkeep]], results: list[Result]) -> bool:
    """Whether the log has been compacted more than once, and each changelog folded."""
    compactions = sum(run[ARRIVALS].files_after < run[ARRIVALS].files_before for run in runs)
    folded = {name for run in runs for name, each in run.items() if each.rows_folded > 0}
    return compactions > 1 and folded >= {changelog_name(each) for each in results}


def test_somebody_who_streams_from_the_changelog_does_not_see_a_fold(
    spark: SparkSession, revisions: Lake, tmp_path: Path
) -> None:
    name = changelog_name(SCORES)

    def copied_rows() -> int:
        query = spark.readStream.format("delta").load(revisions.table(name)).writeStream.format("parquet")
        query = query.option("path", str(tmp_path / "copy")).option("checkpointLocation", str(tmp_path / "checkpoint"))
        query.trigger(availableNow=True).start().awaitTermination()
        return spark.read.parquet(str(tmp_path / "copy")).count()

    rows = copied_rows()
    assert fold(spark, revisions, SCORES, SETTINGS) > 0
    assert [said["folded"] for said in commits(revisions, name) if "folded" in said] == [FOLD_POINT]
    assert copied_rows() == rows


def test_the_command_tells_what_it_did(small: Lake, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.chdir(tmp_path)
    done = CliRunner().invoke(app, ["maintain", "--lake", str(small.path), "--format", "json"])
    assert done.exit_code == 0, done.output
    assert "Removed the reports of 0 reconciliations and 0 validations that are older than 90 days" in done.stderr
    found = {each["table"]: each for each in json.loads(done.stdout)}
    assert (found[ARRIVALS]["files_before"], found[ARRIVALS]["files_after"], found[ARRIVALS]["needed_by"]) == (
        10,
        1,
        [],
    )
    text = CliRunner().invoke(app, ["maintain", "--lake", str(small.path)]).stdout.split()
    assert text[:3] == ["table", "files", "before"] and text[text.index(ARRIVALS) + 1 :][:4] == ["1", "1", "0", "0"]
