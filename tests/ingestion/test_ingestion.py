"""Ingestion on real tables: what becomes of each line, whichever engine reads it and whatever the micro-batches."""

import json
import os
from collections.abc import Callable
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
from deliveries import START, heartbeat, land, pop
from engines import Engine, run_by
from logged import arrivals, assert_whole, places, rows
from pyspark.sql import SparkSession

from ingestion.ingest import ingest
from lakehouse.arrivals import ARRIVALS, DUPLICATE, EVENT, QUARANTINED
from lakehouse.commits import newest
from lakehouse.lake import Lake, create_lake
from lakehouse.log import duplicates_at, log_at, position, quarantine_at
from lakehouse.settings import Settings, load_settings
from transformations.durations import to_millis

MONTH = 30 * 24 * 3600
FATES = (EVENT, DUPLICATE, QUARANTINED)
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


def log_rows(lake: Lake) -> list[tuple[Any, ...]]:
    """The rows of the log as `LOG` writes them, in its order."""
    found = rows(lake, EVENT, "seq", "event_id", "event_time", "high_water", "file", "line")

    def seconds(moment: datetime) -> float:
        return (moment - START).total_seconds()

    return [
        (seq, event_id, seconds(time), seconds(mark), file, line) for seq, event_id, time, mark, file, line in found
    ]


@pytest.fixture(scope="module")
def delivered(tmp_path_factory: pytest.TempPathFactory) -> Path:
    landing = tmp_path_factory.mktemp("delivered")
    deliver(landing)
    return landing


Ingested = Callable[[Engine, int], Lake]


@pytest.fixture(scope="module")
def ingested(request: pytest.FixtureRequest, delivered: Path, tmp_path_factory: pytest.TempPathFactory) -> Ingested:
    """The lake into which an engine ingested the delivery with so many files a micro-batch; each is made once."""
    lakes: dict[tuple[Engine, int], Lake] = {}

    def lake_of(engine: Engine, files_per_batch: int) -> Lake:
        if (engine, files_per_batch) not in lakes:
            lake = create_lake(tmp_path_factory.mktemp("lake") / str(files_per_batch))
            spark = request.getfixturevalue("spark") if engine == "spark" else None
            settings = run_by(engine, load_settings())
            ingest(spark, lake, delivered, settings, files_per_batch=files_per_batch, clock=clock)
            lakes[engine, files_per_batch] = lake
        return lakes[engine, files_per_batch]

    return lake_of


@pytest.fixture(
    scope="module",
    params=[("embedded", 1), ("embedded", 2), ("embedded", 100), ("spark", 2)],
    ids=lambda cut: f"{cut[0]}, {cut[1]} files a batch",
)
def lake_of_any_cut(request: pytest.FixtureRequest, ingested: Ingested) -> Lake:
    return ingested(*request.param)


def test_the_log_has_every_first_arrival_in_order_with_its_mark(lake_of_any_cut: Lake) -> None:
    assert log_rows(lake_of_any_cut) == LOG


def test_copies_are_kept_apart_over_any_distance_in_time(lake_of_any_cut: Lake) -> None:
    found = rows(lake_of_any_cut, DUPLICATE, "event_id", "file", "line")
    assert len(found) == len(COPIES)
    assert set(found) == COPIES


def test_rejected_lines_keep_their_reason_and_their_bytes(delivered: Path, lake_of_any_cut: Lake) -> None:
    found = rows(lake_of_any_cut, QUARANTINED, "file", "line", "reason", "raw")
    assert len(found) == len(REJECTED)
    assert {(file, line): reason for file, line, reason, _ in found} == REJECTED
    for file, line, _, raw in found:
        assert raw == (delivered / file).read_bytes().split(b"\n")[line - 1]


def test_every_line_has_exactly_one_row(delivered: Path, lake_of_any_cut: Lake) -> None:
    assert sorted(place for fate in FATES for place in places(lake_of_any_cut, fate)) == all_lines(delivered)
    assert_whole(lake_of_any_cut)


def all_lines(landing: Path) -> list[tuple[str, int]]:
    found = []
    for file in landing.glob("*.jsonl"):
        lines = file.read_bytes().split(b"\n")
        found += [(file.name, number) for number in range(1, len(lines) + (1 if lines[-1] else 0))]
    return sorted(found)


def test_of_a_line_that_is_no_event_nothing_is_believed(lake_of_any_cut: Lake) -> None:
    """What its fields say stays in its bytes: a reader that forgets the fate must not add them up."""
    told = arrivals(lake_of_any_cut).filter(arrivals(lake_of_any_cut)["reason"].is_valid())
    columns = (
        "event_id",
        "kind",
        "event_time",
        "occurred_at",
        "player_id",
        "bubbles",
        "id_high",
        "content_hash",
        "seq",
    )
    assert told.num_rows and all(told[name].null_count == told.num_rows for name in columns)


def test_spark_reads_the_three_fates_apart(spark: SparkSession, ingested: Ingested) -> None:
    lake = ingested("embedded", 2)
    version = position(lake).version
    assert [row.event_id for row in log_at(spark, lake, version).orderBy("seq").collect()] == [row[1] for row in LOG]
    assert {(row.event_id, row.file, row.line) for row in duplicates_at(spark, lake, version).collect()} == COPIES
    assert {(row.file, row.line): row.reason for row in quarantine_at(spark, lake, version).collect()} == REJECTED


def test_a_phone_from_2099_does_not_move_the_mark(ingested: Ingested) -> None:
    assert position(ingested("embedded", 1)).high_water == START + timedelta(seconds=MONTH)


def test_each_commit_says_where_the_log_stands(ingested: Ingested) -> None:
    """One commit a micro-batch, also for those that add nothing: after a crash they tell how far ingestion came."""
    lake = ingested("embedded", 1)
    found = [position(lake, version) for version in range(newest(lake, ARRIVALS) + 1)]
    seconds = [None if at.high_water is None else (at.high_water - START).total_seconds() for at in found]
    assert [(at.batch, at.seq) for at in found] == [(-1, 0), (0, 3), (1, 4), (2, 4), (3, 6)]
    assert seconds == [None, 60, 60, 60, MONTH]


def test_a_commit_is_one_file(ingested: Ingested) -> None:
    """Or none: a reader's micro-batch must not split a commit."""
    files = (Path(ingested("embedded", 2).table(ARRIVALS)) / "_delta_log").glob("*.json")
    added = [sum("add" in json.loads(line) for line in file.read_text().splitlines()) for file in files]
    assert max(added) == 1


def test_rows_say_when_in_which_batch_and_by_which_code_they_came(ingested: Ingested) -> None:
    lake = ingested("embedded", 1)
    for fate in FATES:
        found = rows(lake, fate, "batch", "ingested_at", "fingerprint", "file")
        assert found, f"there is no {fate}"
        for batch, at, fingerprint, file in found:
            assert to_millis(at) == to_millis(clock()) and batch == list(DELIVERY).index(file)
            assert (lake.code(fingerprint) / "transformations" / "lines" / "judge.py").is_file()


def test_accepted_rows_keep_their_line(ingested: Ingested) -> None:
    for fate in (EVENT, DUPLICATE):
        found = rows(ingested("embedded", 2), fate, "file", "line", "raw")
        assert found, f"there is no {fate}"
        for file, line, raw in found:
            assert raw.decode() == DELIVERY[file][line - 1]


def test_an_empty_landing_makes_an_empty_log_that_goes_on_later(lake: Lake, landing: Path, settings: Settings) -> None:
    ingest(None, lake, landing, settings)
    assert newest(lake, ARRIVALS) == 0
    assert position(lake).high_water is None
    land(landing, "empty.jsonl", [])
    land(landing, "only rejects.jsonl", ["nonsense"])
    ingest(None, lake, landing, settings)
    assert position(lake).high_water is None
    land(landing, "a.jsonl", [pop("a", 0)], modified=-1000)
    ingest(None, lake, landing, settings)
    assert log_rows(lake) == [(1, "a", 0, 0, "a.jsonl", 1)]
    assert places(lake, QUARANTINED) == [("only rejects.jsonl", 1)]
    assert_whole(lake)
