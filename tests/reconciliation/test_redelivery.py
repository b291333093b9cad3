"""The second control on a handful of pops, each with bubbles of its own, so that a sum says which events are in it."""

import json
from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import timedelta

import pytest
from deliveries import START, at, heartbeat, land, pop
from pyspark.sql import SparkSession

from ingestion.ingest import ingest
from lakehouse.lake import Lake, create_lake
from lakehouse.log import newest_version
from lakehouse.settings import Lateness, load_settings
from pipelines.game.results.team_scores import team_scores
from reconciliation.redelivery import Answers, Redelivery, redelivery
from reconciliation.sentences import delayed

MINUTE = 60


@dataclass(frozen=True)
class Delivered:
    """A lake whose busiest ten minutes, by the time of reception, are from the tenth on."""

    lake: Lake
    silent: int
    log_version: int

    def twice(self, spark: SparkSession, *, minutes: int = 1, policy: str = "correct") -> Redelivery:
        scores, lateness = team_scores(size=timedelta(minutes=minutes)), Lateness.model_validate({"policy": policy})
        found = redelivery(spark, self.lake, scores, self.log_version, lateness)
        assert found is not None
        return found


@pytest.fixture(scope="module")
def delivered(spark: SparkSession, tmp_path_factory: pytest.TempPathFactory) -> Delivered:
    directory = tmp_path_factory.mktemp("redelivery")
    lake, landing, settings = create_lake(directory / "lake"), directory / "landing", load_settings()
    landing.mkdir()
    land(landing, "1.jsonl", [heartbeat("dawn", 0)])
    ingest(spark, lake, landing, settings)
    silent = newest_version(lake)
    tick = json.loads(heartbeat("tick", 12 * MINUTE)) | {"received_at": at(12 * MINUTE)}
    blue, red = {"team": "blue", "player": "alice"}, {"team": "red", "player": "dave"}  # his partition is read first
    land(landing, "2.jsonl", [
        pop("before", 5 * MINUTE, bubbles=1, received_at=at(5 * MINUTE + 1), **blue),
        pop("popped before, received within", 10 * MINUTE - 1, bubbles=2, received_at=at(10 * MINUTE + 2), **blue),
        pop("within", 11 * MINUTE, bubbles=4, received_at=at(11 * MINUTE + 1), **blue),
        pop("of the same minute", 11 * MINUTE + 30, bubbles=8, received_at=at(11 * MINUTE + 31), **red),
        json.dumps(tick),
        pop("from the subway", 6 * MINUTE + 10, bubbles=64, received_at=at(12 * MINUTE + 30), **red),
        pop("last within", 19 * MINUTE, bubbles=16, received_at=at(19 * MINUTE + 1), **red),
        pop("popped within, received after", 20 * MINUTE - 2, bubbles=32, received_at=at(20 * MINUTE + 1), **blue),
    ])  # fmt: skip
    ingest(spark, lake, landing, settings)
    return Delivered(lake, silent, newest_version(lake))


@pytest.fixture(scope="module")
def found(spark: SparkSession, delivered: Delivered) -> Redelivery:
    return delivered.twice(spark)


def minutes(found: Redelivery, sums: Sequence[int]) -> dict[int, int]:
    """The buckets that are not zero, by the minute after the start."""
    return {
        (start - START) // timedelta(minutes=1): each for start, each in zip(found.starts, sums, strict=True) if each
    }


def test_the_busiest_ten_minutes_are_held_back_and_shown_with_half_an_hour_around_them(found: Redelivery) -> None:
    assert found.held_from == START + timedelta(minutes=10)
    assert found.held_until == START + timedelta(minutes=20)
    assert found.starts[0] == START - timedelta(minutes=20)
    assert found.starts[-1] == START + timedelta(minutes=49)


def test_by_processing_time_the_delay_empties_ten_minutes_and_fills_the_next(found: Redelivery) -> None:
    scores = found.processing_time
    assert minutes(found, scores.as_received) == {5: 1, 10: 2, 11: 4 + 8, 12: 64, 19: 16, 20: 32}
    assert minutes(found, scores.held_back) == {5: 1, 20: 2 + 4 + 8 + 16 + 32 + 64}
    assert (scores.differing, scores.keys) == (7, 8)
    assert found.spike == (START + timedelta(minutes=20), 126, 32)


def test_by_event_time_the_delay_changes_nothing(found: Redelivery) -> None:
    scores = found.event_time
    assert minutes(found, scores.as_received) == {5: 1, 6: 64, 9: 2, 11: 4 + 8, 19: 16 + 32}
    assert scores.held_back == scores.as_received
    assert (scores.differing, scores.keys) == (0, 7)


def test_the_high_water_mark_of_each_delivery_says_which_of_its_events_are_late(found: Redelivery) -> None:
    """As received, the heartbeat makes the one from the subway late; in the backlog, his partition does it to hers."""
    assert found.held == 5
    assert found.late == {"as_received": 1, "held_back": 2}


def test_where_late_events_are_dropped_the_answers_by_event_time_differ_too(
    spark: SparkSession, delivered: Delivered
) -> None:
    dropped = delivered.twice(spark, policy="drop")
    assert minutes(dropped, dropped.event_time.as_received) == {5: 1, 9: 2, 11: 4 + 8, 19: 16 + 32}
    assert minutes(dropped, dropped.event_time.held_back) == {5: 1, 6: 64, 11: 8, 19: 16 + 32}
    assert (dropped.event_time.differing, dropped.event_time.keys) == (3, 7)
    assert delayed(dropped).endswith("; by event time 3 of 7 differ too.")


def test_longer_windows_are_held_back_as_a_whole(spark: SparkSession, delivered: Delivered) -> None:
    quarters = delivered.twice(spark, minutes=15)
    assert (quarters.held_from, quarters.held_until) == (START, START + timedelta(minutes=15))
    assert minutes(quarters, quarters.processing_time.as_received) == {0: 1 + 2 + 4 + 8 + 64, 15: 16 + 32}
    assert minutes(quarters, quarters.processing_time.held_back) == {15: 127}
    assert minutes(quarters, quarters.event_time.held_back) == {0: 1 + 2 + 4 + 8 + 64, 15: 16 + 32}


def test_the_sentence_names_the_differing_scores_the_spike_and_that_event_time_has_neither(found: Redelivery) -> None:
    assert delayed(found) == (
        "Held back for 10 minutes from 2026-03-01 10:10 UTC, the same events give 7 of 8 keys of team_scores from 09:40 to 10:50 "
        "another value by processing time, with a false spike of 126 bubbles in the minute from 10:20 (32 without the "
        "delay); by event time all 7 are identical."
    )


def test_days_are_told_with_their_dates_and_a_column_as_people_say_it() -> None:
    days = [START + timedelta(days=place) for place in range(7)]
    by_processing = Answers(7, 2, as_received=[4, 4, 4, 4, 4, 4, 4], held_back=[4, 4, 4, 0, 8, 4, 4])
    by_event = Answers(7, 0, as_received=[4] * 7, held_back=[4] * 7)
    found = Redelivery(
        *("doors", "times_opened", days[3], days[4], timedelta(days=1), days),
        *(by_processing, by_event, 4, {"as_received": 0, "held_back": 0}),
    )
    assert delayed(found) == (
        "Held back for 1 day from 2026-03-04 10:00 UTC, the same events give 2 of 7 keys of doors from 2026-03-01 10:00 to "
        "2026-03-08 10:00 another value by processing time, with a false spike of 8 times opened in the day from 2026-03-05 "
        "10:00 (4 without the delay); by event time all 7 are identical."
    )


def test_a_delay_without_a_spike_is_not_said_to_have_one(found: Redelivery) -> None:
    level = replace(found.processing_time, held_back=found.processing_time.as_received)
    assert "spike" not in delayed(replace(found, processing_time=level))


def test_a_log_without_a_score_has_nothing_to_deliver(spark: SparkSession, delivered: Delivered) -> None:
    assert redelivery(spark, delivered.lake, team_scores(), delivered.silent, Lateness()) is None
