"""Lines that were judged wrongly: requeued into the log once, or the whole log built anew beside the old one."""

from dataclasses import replace
from pathlib import Path

import pytest
from deliveries import at, heartbeat, land, pop
from game import catalogue
from logged import assert_whole, event_ids, indexed, rows, written
from pyspark.sql import SparkSession

import ingestion.reingest
from batch_layer.recompute import recompute
from ingestion.ingest import ingest
from ingestion.reingest import reingest
from ingestion.requeue import Requeued, requeue
from lakehouse.arrivals import ARRIVALS, EVENT
from lakehouse.commits import newest
from lakehouse.errors import AlreadyRunning, ParityError, SettingsChanged
from lakehouse.identity import live_epoch, noted
from lakehouse.lake import Lake, create_lake
from lakehouse.locks import exclusive_here
from lakehouse.log import position, waiting
from lakehouse.settings import ClockTolerances, Settings
from reconciliation.reconcile import reconcile
from reconciliation.versions import versions_compared
from speed_layer.replay import replay
from speed_layer.stream import stream
from transformations.durations import parse_duration

SCORES = catalogue()["team_scores"]
AHEAD = {"received_at": at(20)}
"""An hour ahead of its reception: the clock's tolerance rejects it, a wider one does not."""

DELIVERIES = (
    [pop("a", 10, bubbles=1), pop("ahead", 3600, bubbles=7, **AHEAD), "no event", pop("a", 10, bubbles=1)],
    [pop("b", 70, bubbles=2), pop("sent again", 3700, bubbles=3, **AHEAD), pop("a", 11)],
    [heartbeat("beat", 7200), pop("sent again", 3700, bubbles=3, received_at=at(3701))],
)


def wider(settings: Settings) -> Settings:
    return settings.model_copy(update={"clock": ClockTolerances(future=parse_duration("2 hours"))})


@pytest.fixture
def lake(tmp_path: Path, settings: Settings) -> Lake:
    landing = tmp_path / "landing"
    landing.mkdir()
    lake = create_lake(tmp_path / "lake")
    for number, lines in enumerate(DELIVERIES):
        land(landing, f"{number}.jsonl", lines)
    ingest(None, lake, landing, settings, files_per_batch=1)
    return lake


def counts(lake: Lake) -> tuple[int, int, int]:
    found = position(lake)
    return found.seq, found.duplicates, found.quarantined


def verdict(spark: SparkSession, lake: Lake, settings: Settings) -> str:
    recompute(spark, lake, SCORES, settings)
    found = reconcile(spark, lake, [SCORES], settings)
    assert found.audit.balanced, found.audit
    return found.status


def test_after_a_fix_quarantined_lines_enter_the_log_once_and_the_stream_repairs(
    spark: SparkSession, lake: Lake, settings: Settings
) -> None:
    stream(spark, lake, [SCORES], settings)
    assert counts(lake) == (4, 1, 4)
    assert requeue(lake, settings) == Requeued(accepted=0, copies=0, waiting=4)
    version = newest(lake, ARRIVALS)

    assert requeue(lake, wider(settings)) == Requeued(accepted=1, copies=1, waiting=2)
    assert event_ids(lake) == ["a", "b", "beat", "sent again", "ahead"]
    assert counts(lake) == (5, 2, 2) and newest(lake, ARRIVALS) == version + 1
    assert_whole(lake)
    assert {row.reason for row in waiting(spark, lake, position(lake).version).collect()} == {
        "not a JSON object",
        "copy of an event with other content",
    }
    assert requeue(lake, wider(settings)) == Requeued(accepted=0, copies=0, waiting=2)
    assert newest(lake, ARRIVALS) == version + 1, "nothing new, no commit"

    [(time, mark, *origin)] = [
        late
        for event_id, *late in rows(lake, EVENT, "event_id", "event_time", "high_water", "file", "line", "requeued")
        if event_id == "ahead"
    ]
    assert mark > time and origin == ["0.jsonl", 2, True]
    stream(spark, lake, [SCORES], settings)
    assert verdict(spark, lake, settings) == "agree"


def test_a_log_that_is_built_anew_by_the_same_rules_is_the_same(
    lake: Lake, settings: Settings, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(ingestion.reingest, "BYTES_A_STEP", 1)
    reingest(lake, settings, as_log=2)
    assert written(replace(lake, log=2), but=()) == written(lake, but=())
    assert newest(lake, "arrivals@2") == newest(lake, ARRIVALS), "one commit a micro-batch"
    monkeypatch.setattr(ingestion.reingest, "BYTES_A_STEP", 1_000_000)
    reingest(lake, settings, as_log=3)
    assert event_ids(replace(lake, log=3)) == event_ids(lake) and newest(lake, "arrivals@3") == 1
    reingest(lake, settings, as_log=3)
    assert newest(lake, "arrivals@3") == 1, "nothing has landed since"
    assert_whole(lake)
    assert indexed(replace(lake, log=2)) == indexed(replace(lake, log=3)) == indexed(lake)


def test_a_line_that_was_requeued_is_built_anew_once(lake: Lake, settings: Settings) -> None:
    """It has two rows, and is one line."""
    requeue(lake, wider(settings))
    new = reingest(lake, wider(settings), as_log=2)
    assert (new.arrivals, new.requeued, new.lines) == (9, 0, position(lake).lines)
    assert sorted(event_ids(replace(lake, log=2))) == sorted(event_ids(lake))


def test_a_version_is_replayed_from_the_new_log_and_compared_with_that_of_the_old_one(
    spark: SparkSession, lake: Lake, tmp_path: Path, settings: Settings
) -> None:
    stream(spark, lake, [SCORES], settings)
    requeue(lake, wider(settings))  # a line that was requeued is taken once
    reingest(lake, wider(settings), as_log=2)
    second, new = replace(lake, log=2), replace(SCORES, version=2)
    assert event_ids(second) == ["a", "ahead", "b", "sent again", "beat"]
    assert counts(second) == (5, 2, 2)

    replay(spark, second, new, settings)
    found = versions_compared(spark, lake, SCORES, new, settings)
    assert (found.equal, found.differing, found.only_left, found.only_right) == (3, 0, 0, 1)
    assert found.settings == {"log": ("1", "2")}

    land(tmp_path / "landing", "3.jsonl", [pop("more", 7300, bubbles=5), heartbeat("beat 2", 9000)])
    ingest(None, lake, tmp_path / "landing", settings)
    reingest(lake, wider(settings), as_log=2)
    stream(spark, lake, [new], settings)  # follows its own log, whichever lake it is given
    recompute(spark, lake, new, settings)
    judged = reconcile(spark, lake, [new], settings)
    assert (judged.status, judged.results[0].compared) == ("agree", 5)
    assert judged.audit.balanced
    with pytest.raises(
        ParityError, match="computed from different logs: team_scores@1 of log 1, team_scores@2 of log 2"
    ):
        reconcile(spark, lake, [SCORES, new], settings)


def test_what_a_new_log_refuses(lake: Lake, settings: Settings) -> None:
    with pytest.raises(ParityError, match="Log 1 is the one that `parity ingest` writes"):
        reingest(lake, settings, as_log=1)
    reingest(lake, settings, as_log=2)
    with pytest.raises(
        SettingsChanged, match="Log 2 of .* is made by other rules: future was '10 minutes', is '2 hours'"
    ):
        reingest(lake, wider(settings), as_log=2)


def test_a_version_can_begin_in_the_middle_of_the_log(spark: SparkSession, lake: Lake, settings: Settings) -> None:
    stream(spark, lake, [SCORES], settings)
    part, stepped = replace(SCORES, version=2), replace(SCORES, version=3)
    since = replace(lake, since=2)
    replay(spark, since, part, settings)
    replay(spark, since, stepped, settings, way="steps")
    assert live_epoch(lake, part).since == 2 and noted(lake, part)["settings"]["from_log_version"] == "2"
    requeue(lake, wider(settings))
    for version in (part, stepped):
        stream(spark, lake, [version], settings)
        recompute(spark, lake, version, settings)
        judged = reconcile(spark, lake, [version], settings)
        assert (judged.status, judged.results[0].compared) == ("agree", 3), "a, in the first commit, does not count"
        found = versions_compared(spark, lake, SCORES, version, settings)
        assert (found.status, found.equal) == ("same", 2) and found.after == at(10)


def test_a_requeue_and_a_reingestion_exclude_each_other(lake: Lake, settings: Settings) -> None:
    """A requeue gives a line a second row; a reingestion reads every line, and would see it with one or with two."""
    with exclusive_here(lake.lock_file("raw_lines"), wait=False):
        with pytest.raises(AlreadyRunning, match="raw_lines"):
            requeue(lake, settings)
        with pytest.raises(AlreadyRunning, match="raw_lines"):
            reingest(lake, settings, as_log=2)
