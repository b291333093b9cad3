"""Each phenomenon of the story is in a day with the default settings, in about its share."""

from collections import Counter, defaultdict
from datetime import datetime, timedelta
from itertools import pairwise

import pytest
from simulated import Line, Simulated

MINUTES = timedelta(minutes=1)
HOURS = timedelta(hours=1)


@pytest.mark.parametrize(
    ("kind", "least", "most"),
    [
        ("bubbles_popped", 0.88, 0.93),
        ("offer_shown", 0.04, 0.06),
        ("offer_clicked", 0.015, 0.025),
        ("league_changed", 0.008, 0.015),
    ],
)
def test_each_kind_has_its_share(a_day: Simulated, kind: str, least: float, most: float) -> None:
    assert least < len(a_day.of_kind(kind)) / len(a_day.events) < most


def test_the_fields_stand_in_the_order_of_the_format(a_day: Simulated) -> None:
    order = ["event_id", "kind", "player_id", "team_id", "bubbles", "reaction_ms", "offer_id", "league"]
    order += ["occurred_at", "sent_at", "received_at"]
    for event in a_day.events.values():
        assert list(event.record) == [field for field in order if field in event.record]


def test_some_lines_leave_out_what_is_optional(a_day: Simulated) -> None:
    pops = a_day.of_kind("bubbles_popped")
    assert 0.03 < sum("reaction_ms" not in pop.record for pop in pops) / len(pops) < 0.05
    undated = [event for event in a_day.events.values() if None in (event.sent_at, event.received_at)]
    assert 0.008 < len(undated) / len(a_day.events) < 0.013


def test_heartbeats_come_every_ten_minutes_without_delay(a_day: Simulated) -> None:
    beats = a_day.of_kind("heartbeat")
    assert len(beats) == 144
    gaps = {later.occurred_at - earlier.occurred_at for earlier, later in pairwise(beats)}
    assert gaps == {10 * MINUTES}
    assert all(beat.received_at == beat.sent_at == beat.occurred_at for beat in beats)


def test_the_night_is_quiet_and_the_evening_is_a_rush(a_day: Simulated) -> None:
    by_hour = Counter(event.event_time.hour for event in a_day.events.values())
    assert by_hour[20] > 8 * by_hour[3]


def levels_up(pops: list[Line]) -> tuple[bool, bool]:
    """Whether the running sum, in the order of event time, reaches 500, and whether it ends there."""
    total, reached = 0, False
    for pop in sorted(pops, key=lambda pop: (pop.event_time, pop.id)):
        total += pop.bubbles
        reached |= total >= 500
    return reached, total >= 500


def test_team_minutes_level_up_some_only_by_late_events_and_a_few_are_undone(a_day: Simulated) -> None:
    minutes: dict[tuple[object, datetime], list[Line]] = defaultdict(list)
    for pop in a_day.of_kind("bubbles_popped"):
        minutes[pop.record["team_id"], pop.event_time.replace(second=0, microsecond=0)].append(pop)
    reached = [pops for pops in minutes.values() if levels_up(pops)[0]]
    in_time = [[pop for pop in pops if pop.delay < 5 * MINUTES] for pops in reached]
    assert 30 <= len(reached) <= 150
    assert sum(not levels_up(pops)[0] for pops in in_time) >= 5
    assert sum(not levels_up(pops)[1] for pops in reached) >= 3


def test_bubbles_are_1_to_20_but_for_rare_corrections(a_day: Simulated) -> None:
    bubbles = [pop.bubbles for pop in a_day.of_kind("bubbles_popped")]
    assert {*range(1, 21)} <= {*bubbles} <= {*range(-30, -4), *range(1, 21)}
    assert 0 < sum(number < 0 for number in bubbles) / len(bubbles) < 0.01


def test_most_events_arrive_within_seconds_some_within_hours_and_a_few_next_day(a_day: Simulated) -> None:
    delays = [event.delay for event in a_day.events.values()]
    assert sum(delay < timedelta(seconds=10) for delay in delays) / len(delays) > 0.94
    assert 0.03 < sum(delay > MINUTES for delay in delays) / len(delays) < 0.055
    assert sum(delay > HOURS for delay in delays) > 100
    assert 10 < sum(delay > 3 * HOURS for delay in delays) < 500
    assert max(delays) < 20.1 * HOURS


def test_what_a_phone_buffered_in_the_subway_is_delivered_together(a_day: Simulated) -> None:
    deliveries: dict[object, list[datetime]] = defaultdict(list)
    for event in a_day.events.values():
        if event.delay > 5 * MINUTES and event.received_at is not None:
            deliveries[event.record["player_id"]].append(event.received_at)
    bursts = sum(
        sum(later - earlier > MINUTES for earlier, later in pairwise(times)) + 1 for times in deliveries.values()
    )
    assert a_day.delivered.late / bursts > 5


def test_about_two_percent_of_the_events_are_delivered_again_now_or_hours_later(a_day: Simulated) -> None:
    times = Counter(copy.id for copy in a_day.copies)
    assert 0.018 < len(times) / len(a_day.events) < 0.022
    assert set(times.values()) == {1, 2}
    assert any(copy.file == a_day.events[copy.id].file for copy in a_day.copies)
    assert any(copy.delay - a_day.events[copy.id].delay > 2 * HOURS for copy in a_day.copies)


def test_a_copy_has_the_event_time_of_its_original_up_to_the_crossings_where_the_clock_is_wrong(
    a_day: Simulated,
) -> None:
    for copy in [*a_day.copies, *a_day.contradictions]:
        apart = abs(copy.event_time - a_day.events[copy.id].event_time)
        assert apart < timedelta(seconds=8) if copy.clock_error else apart == timedelta(0)
    assert any(copy.clock_error for copy in a_day.copies)


def test_a_handful_of_copies_contradict_their_original_in_the_bubbles(a_day: Simulated) -> None:
    assert 5 <= len(a_day.contradictions) <= 20
    for other in a_day.contradictions:
        original = a_day.events[other.id]
        assert other.bubbles != original.bubbles
        assert other.content | {"bubbles": 0} == original.content | {"bubbles": 0}


def test_about_three_percent_of_the_players_have_a_clock_that_is_wrong_by_a_fixed_time(
    a_day: Simulated,
) -> None:
    lines = Counter(line.record.get("player_id") for line in a_day.well_formed)
    errors: dict[object, list[timedelta]] = defaultdict(list)
    for line in a_day.well_formed:
        if line.clock_error:
            errors[line.record["player_id"]].append(-line.clock_error)
    errors = {player: seen for player, seen in errors.items() if len(seen) > lines[player] / 2}
    assert len(errors) == 6
    for seen in errors.values():
        assert max(seen) - min(seen) < timedelta(seconds=10)
        assert -2.01 * HOURS < min(seen) < max(seen) < 3.01 * HOURS
    assert {seen[0] > timedelta(0) for seen in errors.values()} == {False, True}


def test_the_network_alone_is_never_taken_for_a_wrong_clock(a_day: Simulated) -> None:
    said = [(line.sent_at, line.received_at) for line in a_day.well_formed if not line.clock_error]
    crossings = [received - sent for sent, received in said if sent and received]
    quick = [each for each in crossings if timedelta(0) <= each < timedelta(seconds=9)]
    slow = [each for each in crossings if timedelta(seconds=20) <= each <= timedelta(seconds=28)]
    at_tolerance = [each for each in crossings if abs(each) in (timedelta(seconds=29.999), timedelta(seconds=30))]
    assert len(quick) + len(slow) + len(at_tolerance) == len(crossings)
    assert 0 < len(slow) + len(at_tolerance) < 0.01 * len(crossings)


def test_clicks_follow_their_offers_by_minutes_to_hours_and_some_never_do(a_day: Simulated) -> None:
    shown: dict[object, Line] = {}
    for offer in sorted(a_day.of_kind("offer_shown"), key=lambda offer: offer.event_time):
        shown.setdefault(offer.record["offer_id"], offer)  # it may be shown again
    clicks = a_day.of_kind("offer_clicked")
    # Both times carry up to 8 s of the network where the phone's clock is wrong; a few have a time that is wrong by hours.
    waits = sorted(click.event_time - shown[click.record["offer_id"]].event_time for click in clicks)
    assert timedelta(seconds=45) < waits[len(waits) // 100]
    assert 0.03 < sum(wait > HOURS for wait in waits) / len(waits) < 0.2
    assert 0.3 < len({click.record["offer_id"] for click in clicks}) / len(shown) < 0.5
    for click in clicks:
        assert click.record["player_id"] == shown[click.record["offer_id"]].record["player_id"]


def test_about_one_line_in_three_hundred_is_malformed_in_every_way(a_day: Simulated) -> None:
    assert 0.002 < a_day.delivered.malformed / len(a_day.lines) < 0.004
    assert {reason for reason, lines in a_day.rejected.items() if lines} == {
        "empty line",
        "not JSON",
        "missing field",
        "unknown kind",
        "wrong type",
        "fraction",
        "outside 32 bits",
        "no zone",
        "future",
        "before 2000",
    }
