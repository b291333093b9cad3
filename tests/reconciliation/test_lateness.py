"""The choice of the lateness on a log whose numbers can be counted by hand, and against what a stream repaired."""

from dataclasses import replace
from datetime import timedelta
from fractions import Fraction

import pytest
from deliveries import at, heartbeat, land, pop
from game import catalogue
from pyspark.sql import SparkSession

from ingestion.ingest import ingest
from lakehouse.changelogs import boundary, read_changelog
from lakehouse.errors import NothingToCompare
from lakehouse.lake import Lake, create_lake
from lakehouse.log import newest_version
from lakehouse.settings import Lateness, load_settings
from reconciliation.choice import Choice, Option, advice
from reconciliation.choice_chart import choice_chart
from reconciliation.lateness import lateness_choice
from speed_layer.stream import stream

SECONDS = timedelta(seconds=1)
RESULTS = catalogue()
CONTROL = [  # seconds of event time and of arrival
    pop("in time", 10, received_at=at(11)),
    pop("next minute", 70, received_at=at(72)),
    pop("overdue by 10 s", 50, received_at=at(80)),
    pop("third minute", 160, team="red", received_at=at(161)),
    pop("overdue by 40 s", 65, received_at=at(165)),
    pop("overdue by 100 s", 20, team="red", received_at=at(170)),
    heartbeat("nobody says when it was received", 300),
    pop("open", 310, received_at=at(312)),
]


@pytest.fixture(scope="module")
def small(spark: SparkSession, tmp_path_factory: pytest.TempPathFactory) -> Lake:
    directory = tmp_path_factory.mktemp("lateness")
    lake, landing = create_lake(directory / "lake"), directory / "landing"
    landing.mkdir()
    land(landing, "1.jsonl", CONTROL)
    ingest(spark, lake, landing, load_settings())
    return lake


def chosen(spark: SparkSession, lake: Lake, current: timedelta, *names: str) -> Choice:
    results = [RESULTS[name] for name in names or ("team_scores",)]
    return lateness_choice(spark, lake, results, newest_version(lake), current)


@pytest.fixture(scope="module")
def choice(spark: SparkSession, small: Lake) -> Choice:
    return chosen(spark, small, 10 * SECONDS)


def option(choice: Choice, seconds: int) -> Option:
    return next(each for each in choice.options if each.allowed == seconds * SECONDS)


def test_the_range_goes_from_zero_to_the_first_that_makes_nothing_late(choice: Choice) -> None:
    assert [each.allowed / SECONDS for each in choice.options] == [0, 1, 10, 30, 60, 120]
    assert (choice.events, choice.results, choice.left_out) == (7, {"team_scores": 5}, {})


def test_late_events_and_repairs_are_those_counted_by_hand(choice: Choice) -> None:
    assert [each.late_events for each in choice.options] == [3, 3, 3, 2, 1, 0]
    assert [each.repaired for each in choice.options] == [3, 3, 3, 2, 1, 0]


def test_a_lateness_equal_to_the_delay_is_still_too_small_and_a_millisecond_more_is_not(
    spark: SparkSession, small: Lake, choice: Choice
) -> None:
    assert choice.current.allowed == 10 * SECONDS and choice.current.repaired == 3
    assert chosen(spark, small, timedelta(milliseconds=10_001)).current.repaired == 2


def test_a_result_waits_from_the_end_of_its_window_to_the_arrival_that_settles_it(choice: Choice) -> None:
    """Without lateness: two windows wait 12 s, one 41 s; one is over before it ends; one is open. And with a minute."""
    none, minute = option(choice, 0), option(choice, 60)
    assert (none.median_wait, none.p99_wait, none.not_settled) == (12 * SECONDS, 41 * SECONDS, 1)
    assert (minute.median_wait, minute.p99_wait, minute.not_settled) == (50 * SECONDS, 101 * SECONDS, 1)


@pytest.mark.parametrize(("percent", "seconds"), [(1, 120), (19, 120), (20, 60), (40, 30), (60, 0)])
def test_the_smallest_lateness_that_keeps_to_the_budget_is_recommended(
    choice: Choice, percent: int, seconds: int
) -> None:
    given = replace(choice, budget=Fraction(percent, 100))
    assert given.recommended is option(choice, seconds)


def test_the_advice_compares_with_the_current_lateness(choice: Choice) -> None:
    assert "at most 1 % of the results is 2 minutes. It repairs 0 % (the current 10 seconds: 60.0 %)" in advice(choice)


def test_the_stream_repairs_as_many_results_as_were_counted(spark: SparkSession, small: Lake) -> None:
    """Of sessions: late events of windows are counted by the engine as long as it holds them."""
    sessions, choice = RESULTS["player_sessions"], chosen(spark, small, 10 * SECONDS, "player_sessions")
    settings = load_settings().model_copy(update={"lateness": Lateness(allowed=choice.current.allowed)})
    stream(spark, small, [sessions], settings)
    changelog = read_changelog(spark, small, sessions, boundary(small, sessions))
    repaired = changelog.where("cause = 'late'").select(*sessions.identity).distinct().count()
    assert repaired == choice.current.repaired > 0


def test_sessions_go_by_the_time_of_the_event_and_what_is_never_repaired_is_left_out(
    spark: SparkSession, small: Lake
) -> None:
    """Alice's pops are one session: 3 of 7 came behind the mark, by 20, 95 and 140 s."""
    choice = chosen(spark, small, 10 * SECONDS, "player_sessions", "team_scores", "lifetime_totals", "pop_streaks")
    assert choice.results == {"player_sessions": 1, "team_scores": 5}
    assert list(choice.left_out) == ["lifetime_totals", "pop_streaks"]
    assert [each.repairs["player_sessions"] for each in choice.options] == [1, 1, 1, 1, 1, 1, 0]
    assert [each.late_events for each in choice.options] == [7, 3, 3, 2, 2, 1, 0]
    assert choice.needed("player_sessions").allowed == timedelta(minutes=5)


def test_there_is_nothing_to_choose_for_results_without_repairs(spark: SparkSession, small: Lake) -> None:
    with pytest.raises(NothingToCompare, match="lifetime_totals: no row is late for it. Name another --result"):
        chosen(spark, small, 10 * SECONDS, "lifetime_totals")


def test_the_chart_marks_the_current_lateness_and_the_recommended_one(choice: Choice) -> None:
    layout = choice_chart(choice)["layout"]
    assert {(label["text"], label["x"]) for label in layout["annotations"]} == {("now", 2), ("within 1 %", 5)}
