"""Ingestion on real tables: what goes where, whatever the micro-batches, the retries and the crashes."""

import json
import os
import shutil
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
from deliveries import START, heartbeat, land, note_landings, pop
from pyspark.sql import SparkSession
from pyspark.sql.types import StringType, StructField, StructType

import speed_layer.ingest
import speed_layer.intake
from lakehouse.commits import newest
from lakehouse.errors import AlreadyRunning, CheckpointLost, ParityError, SettingsChanged, StreamFailed
from lakehouse.lake import Lake, create_lake
from lakehouse.landings import noted_at
from lakehouse.locks import exclusive
from lakehouse.log import EVENTS, SCHEMAS, position
from lakehouse.settings import Settings, load_settings
from lakehouse.tables import read_table
from speed_layer.ingest import ingest
from transformations.durations import to_millis

MONTH = 30 * 24 * 3600
TABLES = ("events", "duplicates", "quarantine")
CONFLICT = "copy of an event with other content"
TRUNCATED = b'{"event_id": "cut off", "ki'
FROM_2099 = {"occurred_at": "2099-01-01T00:00:00Z"}

DELIVERY: dict[str, list[str]] = {
    "1 first.jsonl": [
        pop("a", 0),
        pop("b", 30),
        "not JSON",
        pop("a", 0),
        heartbeat("beat", 60),
    ],
    "2 behind.jsonl": [
        pop("c", 10),
        pop("a", 0, sent_at="2026-03-01T10:05:00Z", received_at="2026-03-01T10:05:01Z"),
        pop("b", 31),
        pop("from 2099", 0, **FROM_2099, received_at="2026-03-01T10:00:01Z"),
        pop("from 2099, undated", 0, **FROM_2099),
    ],
    "3 nothing new.jsonl": [pop("b", 30), pop("b", 30, bubbles=99), ""],
    "4 a month later.jsonl": [pop("far", MONTH), pop("a", 0), pop("c", 11), pop("far", MONTH), pop("d", 400)],
}

LOG = [
    # place in the log, id, event time and mark in seconds, file, line
    (1, "a", 0, 0, "1 first.jsonl", 1),
    (2, "b", 30, 30, "1 first.jsonl", 2),
    (3, "beat", 60, 60, "1 first.jsonl", 5),
    (4, "c", 10, 60, "2 behind.jsonl", 1),
    (5, "far", MONTH, MONTH, "4 a month later.jsonl", 1),
    (6, "d", 400, MONTH, "4 a month later.jsonl", 5),
]
COPIES = {
    ("a", "1 first.jsonl", 4),
    ("a", "2 behind.jsonl", 2),
    ("b", "3 nothing new.jsonl", 1),
    ("a", "4 a month later.jsonl", 2),
    ("far", "4 a month later.jsonl", 4),
}
FUTURE = "time in the future: more than 10 minutes after it was received"
REJECTED = {
    ("1 first.jsonl", 3): "not a JSON object",
    ("2 behind.jsonl", 3): CONFLICT,
    ("2 behind.jsonl", 4): FUTURE,
    ("2 behind.jsonl", 5): FUTURE,
    ("3 nothing new.jsonl", 2): CONFLICT,
    ("3 nothing new.jsonl", 3): "empty line",
    ("4 a month later.jsonl", 3): CONFLICT,
    ("4 a month later.jsonl", 6): "not a JSON object",
}


def clock() -> datetime:
    """The clock of ingestion: two months after the start."""
    return START + timedelta(days=60)


def deliver(landing: Path) -> None:
    for name, lines in DELIVERY.items():
        land(landing, name, lines)
    truncated = landing / "4 a month later.jsonl"
    status = truncated.stat()
    truncated.write_bytes(truncated.read_bytes() + TRUNCATED)
    os.utime(truncated, ns=(status.st_atime_ns, status.st_mtime_ns))


def log_rows(spark: SparkSession, lake: Lake) -> list[tuple[Any, ...]]:
    """The rows of the log as `LOG` writes them, in its order."""
    rows = read_table(spark, lake, "events").selectExpr(
        "seq", "event_id", "unix_millis(event_time) as time", "unix_millis(high_water) as mark", "file", "line"
    )

    def seconds(millis: int) -> float:
        return (millis - to_millis(START)) / 1000

    return [
        (r.seq, r.event_id, seconds(r.time), seconds(r.mark), r.file, r.line) for r in rows.orderBy("seq").collect()
    ]


def places(spark: SparkSession, lake: Lake, table: str) -> list[tuple[str, int]]:
    """File and line of every row of a table."""
    return sorted((row.file, row.line) for row in read_table(spark, lake, table).select("file", "line").collect())


def versions(lake: Lake) -> dict[str, int]:
    return {table: newest(lake, table) for table in TABLES}


@pytest.fixture(scope="module")
def delivered(tmp_path_factory: pytest.TempPathFactory) -> Path:
    landing = tmp_path_factory.mktemp("delivered")
    deliver(landing)
    return landing


@pytest.fixture(scope="module")
def ingested(spark: SparkSession, delivered: Path, tmp_path_factory: pytest.TempPathFactory) -> Callable[[int], Lake]:
    """The lake into which the delivery was ingested with so many files a micro-batch; each is made once."""
    lakes: dict[int, Lake] = {}

    def lake_of(files_per_batch: int) -> Lake:
        if files_per_batch not in lakes:
            lake = create_lake(tmp_path_factory.mktemp("lake") / str(files_per_batch))
            ingest(spark, lake, delivered, load_settings(), files_per_batch=files_per_batch, clock=clock)
            lakes[files_per_batch] = lake
        return lakes[files_per_batch]

    return lake_of


@pytest.fixture(scope="module", params=[1, 2, 100], ids=lambda files: f"{files} files a batch")
def lake_of_any_cut(request: pytest.FixtureRequest, ingested: Callable[[int], Lake]) -> Lake:
    return ingested(request.param)


def test_the_log_has_every_first_arrival_in_order_with_its_mark(spark: SparkSession, lake_of_any_cut: Lake) -> None:
    assert log_rows(spark, lake_of_any_cut) == LOG


def test_copies_are_kept_apart_over_any_distance_in_time(spark: SparkSession, lake_of_any_cut: Lake) -> None:
    rows = read_table(spark, lake_of_any_cut, "duplicates").collect()
    assert len(rows) == len(COPIES)
    assert {(row.event_id, row.file, row.line) for row in rows} == COPIES


def test_rejected_lines_keep_their_reason_and_their_bytes(
    spark: SparkSession, delivered: Path, lake_of_any_cut: Lake
) -> None:
    rows = read_table(spark, lake_of_any_cut, "quarantine").collect()
    assert len(rows) == len(REJECTED)
    assert {(row.file, row.line): row.reason for row in rows} == REJECTED
    for row in rows:
        assert bytes(row.raw) == (delivered / row.file).read_bytes().split(b"\n")[row.line - 1]


def test_every_line_is_in_exactly_one_table(spark: SparkSession, delivered: Path, lake_of_any_cut: Lake) -> None:
    assert sorted(place for table in TABLES for place in places(spark, lake_of_any_cut, table)) == all_lines(delivered)


def all_lines(landing: Path) -> list[tuple[str, int]]:
    found = []
    for file in landing.glob("*.jsonl"):
        lines = file.read_bytes().split(b"\n")
        found += [(file.name, number) for number in range(1, len(lines) + (1 if lines[-1] else 0))]
    return sorted(found)


def test_a_phone_from_2099_does_not_move_the_mark(ingested: Callable[[int], Lake]) -> None:
    assert position(ingested(1)).high_water == START + timedelta(seconds=MONTH)


def test_each_commit_says_where_the_log_stands(ingested: Callable[[int], Lake]) -> None:
    """One commit a micro-batch, also for those that add nothing: after a crash they tell how far ingestion came."""
    lake = ingested(1)
    found = [position(lake, version) for version in range(newest(lake, "events") + 1)]
    seconds = [None if at.high_water is None else (at.high_water - START).total_seconds() for at in found]
    assert [(at.batch, at.seq) for at in found] == [(-1, 0), (0, 3), (1, 4), (2, 4), (3, 6)]
    assert seconds == [None, 60, 60, 60, MONTH]


def test_a_commit_is_one_file(ingested: Callable[[int], Lake]) -> None:
    """Or none: a reader's micro-batch must not split a commit."""
    files = (Path(ingested(2).table("events")) / "_delta_log").glob("*.json")
    added = [sum("add" in json.loads(line) for line in file.read_text().splitlines()) for file in files]
    assert max(added) == 1


def test_rows_say_when_in_which_batch_and_by_which_code_they_came(
    spark: SparkSession, ingested: Callable[[int], Lake]
) -> None:
    for table in TABLES:
        rows = read_table(spark, ingested(1), table).selectExpr(
            "batch", "unix_millis(ingested_at) as at", "fingerprint"
        )
        found = rows.collect()
        assert found, f"{table} is empty"
        for row in found:
            assert row.at == to_millis(clock())
            assert (ingested(1).code(row.fingerprint) / "events.py").is_file()


def test_accepted_rows_keep_their_line(spark: SparkSession, ingested: Callable[[int], Lake]) -> None:
    for table in ("events", "duplicates"):
        found = read_table(spark, ingested(2), table).collect()
        assert found, f"{table} is empty"
        for row in found:
            assert row.raw == DELIVERY[row.file][row.line - 1]


def test_a_second_run_adds_nothing(spark: SparkSession, delivered: Path, lake_of_any_cut: Lake) -> None:
    before = versions(lake_of_any_cut)
    ingest(spark, lake_of_any_cut, delivered, load_settings(), clock=clock)
    assert versions(lake_of_any_cut) == before


def forget_commit(lake: Lake, batch: int) -> None:
    """As if the process had died between the last append and Spark's own note of the batch."""
    commits = lake.checkpoint("ingest") / "commits"
    (commits / str(batch)).unlink()
    (commits / f".{batch}.crc").unlink(missing_ok=True)


def test_a_batch_that_is_retried_after_its_commit_adds_nothing(
    spark: SparkSession, delivered: Path, ingested: Callable[[int], Lake]
) -> None:
    lake = ingested(2)
    before = versions(lake)
    forget_commit(lake, 1)
    ingest(spark, lake, delivered, load_settings(), clock=clock)
    assert (lake.checkpoint("ingest") / "commits" / "1").exists(), "the batch was not tried again"
    assert versions(lake) == before
    assert log_rows(spark, lake) == LOG


def ingest_until(
    table: str, spark: SparkSession, lake: Lake, landing: Path, settings: Settings, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Ingest, and die where `table` should have been appended to."""
    append = speed_layer.intake.append

    def dying(*arguments: Any, **options: Any) -> None:
        if arguments[2] == table:
            raise RuntimeError("died here")
        append(*arguments, **options)

    with monkeypatch.context() as patched:
        patched.setattr(speed_layer.intake, "append", dying)
        with pytest.raises(StreamFailed, match="The streaming query of ingest failed"):
            ingest(spark, lake, landing, settings)


@pytest.mark.parametrize("table", ["duplicates", "events"])
def test_a_crash_between_the_appends_leaves_each_line_exactly_once(
    spark: SparkSession, lake: Lake, delivered: Path, settings: Settings, monkeypatch: pytest.MonkeyPatch, table: str
) -> None:
    ingest_until(table, spark, lake, delivered, settings, monkeypatch)
    assert newest(lake, "quarantine") == 1
    assert newest(lake, "duplicates") == (1 if table == "events" else 0)
    assert newest(lake, "events") == 0
    ingest(spark, lake, delivered, settings)
    assert log_rows(spark, lake) == LOG
    assert sorted(place for name in TABLES for place in places(spark, lake, name)) == all_lines(delivered)


def test_a_batch_is_not_finished_by_other_rules_than_it_was_begun_with(
    spark: SparkSession, lake: Lake, landing: Path, settings: Settings, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A line of 1999 is in quarantine. With another floor it would be accepted, and be in the log as well."""
    land(landing, "a.jsonl", [pop("a", 0), pop("old", 0, occurred_at="1999-12-31T23:59:59Z")])
    ingest_until("events", spark, lake, landing, settings, monkeypatch)
    earlier = settings.clock.model_copy(update={"floor": datetime(1990, 1, 1, tzinfo=UTC)})
    changed = settings.model_copy(update={"clock": earlier})
    with pytest.raises(SettingsChanged, match=r"floor was '2000-01-01T00:00:00Z', is '1990-01-01T00:00:00Z'"):
        ingest(spark, lake, landing, changed)
    assert newest(lake, "events") == 0
    ingest(spark, lake, landing, settings)
    land(landing, "b.jsonl", [pop("older", 0, occurred_at="1999-12-31T23:59:58Z")])
    ingest(spark, lake, landing, changed)  # between two batches the rules may change
    assert places(spark, lake, "events") == [("a.jsonl", 1), ("b.jsonl", 1)]
    assert places(spark, lake, "quarantine") == [("a.jsonl", 2)]


def test_files_are_judged_by_the_clock_at_which_they_were_noted_whenever_they_are_read(
    spark: SparkSession, lake: Lake, landing: Path, settings: Settings, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A line that was in the future then must not be accepted now, and in the log as well as in quarantine."""
    first, second = START, START + timedelta(hours=1)
    land(landing, "a.jsonl", [pop("a", 0), pop("ahead", 1800)])
    with monkeypatch.context() as patched:
        patched.setattr(speed_layer.ingest, "ingest_batch", lambda *_: 1 / 0)
        with pytest.raises(StreamFailed):
            ingest(spark, lake, landing, settings, clock=lambda: first)
    land(landing, "b.jsonl", [pop("b", 1), pop("not ahead any more", 1800)])
    ingest(spark, lake, landing, settings, clock=lambda: second)
    assert [noted_at(lake, number) for number in (0, 1)] == [first, second]
    for table in TABLES[::2]:
        rows = read_table(spark, lake, table).selectExpr("batch", "unix_millis(ingested_at) as at").collect()
        assert {(row.batch, row.at) for row in rows} <= {(0, to_millis(first)), (1, to_millis(second))}
    assert places(spark, lake, "quarantine") == [("a.jsonl", 2)]
    assert places(spark, lake, "events") == [("a.jsonl", 1), ("b.jsonl", 1), ("b.jsonl", 2)]


def test_a_lost_checkpoint_is_refused(
    spark: SparkSession, delivered: Path, ingested: Callable[[int], Lake], tmp_path: Path
) -> None:
    lake = Lake(shutil.copytree(ingested(2).path, tmp_path / "copy"))
    shutil.rmtree(lake.checkpoint("ingest"))
    before = versions(lake)
    with pytest.raises(CheckpointLost, match="the log has micro-batch 1"):
        ingest(spark, lake, delivered, load_settings(), clock=clock)
    assert versions(lake) == before


def test_a_second_ingestion_is_refused(spark: SparkSession, lake: Lake, delivered: Path, settings: Settings) -> None:
    with exclusive(spark, lake.lock_file("ingest"), wait=False), pytest.raises(AlreadyRunning, match=r"ingest\.lock"):
        ingest(spark, lake, delivered, settings)
    assert lake.tables() == []


def test_an_empty_landing_makes_an_empty_log_that_goes_on_later(
    spark: SparkSession, lake: Lake, landing: Path, settings: Settings
) -> None:
    ingest(spark, lake, landing, settings)
    assert versions(lake) == dict.fromkeys(TABLES, 0)
    assert position(lake).high_water is None
    land(landing, "empty.jsonl", [])
    land(landing, "only rejects.jsonl", ["nonsense"])
    ingest(spark, lake, landing, settings)
    assert position(lake).high_water is None
    land(landing, "a.jsonl", [pop("a", 0)], modified=-1000)
    ingest(spark, lake, landing, settings)
    assert log_rows(spark, lake) == [(1, "a", 0, 0, "a.jsonl", 1)]
    assert places(spark, lake, "quarantine") == [("only rejects.jsonl", 1)]


def test_a_file_that_grew_adds_its_new_lines_and_the_old_ones_are_copies(
    spark: SparkSession, lake: Lake, landing: Path, settings: Settings
) -> None:
    land(landing, "a.jsonl", [pop("a", 0), "nonsense"])
    ingest(spark, lake, landing, settings)
    land(landing, "a.jsonl", [pop("a", 0), "nonsense", pop("b", 1)])
    ingest(spark, lake, landing, settings)
    assert [row[1] for row in log_rows(spark, lake)] == ["a", "b"]
    assert places(spark, lake, "duplicates") == [("a.jsonl", 1)]


def test_a_landing_file_that_is_gone_is_named_and_can_be_put_back(
    spark: SparkSession, lake: Lake, landing: Path, settings: Settings
) -> None:
    land(landing, "a.jsonl", [pop("a", 0)])
    note_landings(lake, landing, files_per_batch=10)
    away = (landing / "a.jsonl").rename(landing / "a.away")
    with pytest.raises(ParityError, match=r"Landing files are gone before they were read: .*a\.jsonl"):
        ingest(spark, lake, landing, settings)
    away.rename(landing / "a.jsonl")
    ingest(spark, lake, landing, settings)
    assert [row[1] for row in log_rows(spark, lake)] == ["a"]


def test_a_lake_that_is_older_than_a_kind_of_event_is_refused(
    spark: SparkSession, lake: Lake, landing: Path, settings: Settings, monkeypatch: pytest.MonkeyPatch
) -> None:
    ingest(spark, lake, landing, settings)
    log = SCHEMAS[EVENTS]
    monkeypatch.setitem(SCHEMAS, EVENTS, StructType([*log.fields, StructField("room_id", StringType())]))
    with pytest.raises(ParityError, match="has no column for room_id: .* Ingest into a new lake"):
        ingest(spark, lake, landing, settings)
