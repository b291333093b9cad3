"""How often each edge of the story is in landing files, counted from the lines alone, with nothing of the simulator."""

import re
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable
from datetime import datetime, timedelta
from itertools import pairwise

from simulated import Line, Simulated

TOLERANCE, MS, HOUR = timedelta(seconds=30), timedelta(milliseconds=1), timedelta(hours=1)


def overtaking(day: Simulated) -> int:
    """Copies that arrived before the event that had been sent before them: the first arrival was sent later."""
    return sum(
        copy.sent_at < day.events[copy.id].sent_at  # type: ignore[operator]
        for copy in day.copies
        if copy.sent_at and day.events[copy.id].sent_at
    )


def another_crossing(day: Simulated) -> int:
    """Honest copies that give another event time than the first arrival."""
    return sum(copy.event_time != day.events[copy.id].event_time for copy in day.copies)


def apart(by: timedelta) -> Callable[[Simulated], int]:
    return lambda day: sum(
        line.received_at - line.sent_at == by for line in day.events.values() if line.received_at and line.sent_at
    )


def happened_long_ago(day: Simulated) -> int:
    """Sent at once by a phone that was above ground: hours late, though the same phone sent something else of then at once."""
    prompt: dict[object, list[datetime]] = defaultdict(list)
    for event in day.events.values():
        if event.received_at and event.delay < timedelta(minutes=1):
            prompt[event.record.get("player_id")].append(event.event_time)
    return sum(_was_above_ground(event, prompt) for event in day.events.values() if event.delay > HOUR)


def _was_above_ground(late: Line, prompt: dict[object, list[datetime]]) -> bool:
    near = timedelta(minutes=5)
    times = prompt[late.record.get("player_id")]
    return any(abs(time - late.event_time) < near for time in times) or (
        late.received_at is not None and any(late.received_at - near < time < late.received_at - MS for time in times)
    )


def sent_wrong(day: Simulated) -> int:
    """Sent after it was received, by a phone that is right otherwise; received in its turn."""
    out_of_turn = _out_of_turn(day)
    return sum(-line.clock_error > HOUR for line in _of_right_clocks(day) if line.id not in out_of_turn)


def received_wrong(ahead: bool) -> Callable[[Simulated], int]:
    """Received before it was sent, or a minute after, out of turn: all lines around it say another time."""

    def count(day: Simulated) -> int:
        out_of_turn = _out_of_turn(day)
        wrong = [line for line in _of_right_clocks(day) if line.id in out_of_turn]
        return sum(
            TOLERANCE < line.clock_error < timedelta(minutes=2) if ahead else -line.clock_error > HOUR for line in wrong
        )

    return count


def _of_right_clocks(day: Simulated) -> list[Line]:
    lines = Counter(line.record.get("player_id") for line in day.well_formed)
    wrong = Counter(line.record.get("player_id") for line in day.well_formed if line.clock_error)
    return [
        line
        for line in day.events.values()
        if wrong[line.record.get("player_id")] < lines[line.record.get("player_id")] / 2
    ]


def _out_of_turn(day: Simulated) -> set[str]:
    """Events that were received, as they say, before the one that arrived before them or after the one that arrived next."""
    told = [event for event in day.events.values() if event.received_at]
    backwards = [pair for pair in pairwise(told) if pair[0].received_at > pair[1].received_at]  # type: ignore[operator]
    return {event.id for pair in backwards for event in pair}


def zone(suffix: str) -> Callable[[Simulated], int]:
    return lambda day: sum(
        str(line.record["occurred_at"]).endswith(suffix) for line in [*day.events.values(), *day.copies]
    )


def digits(count: int) -> Callable[[Simulated], int]:
    form = re.compile(r"T\d\d:\d\d:\d\d" + (rf"\.\d{{{count}}}" if count else "") + r"(Z|[+-]\d\d:\d\d)")
    return lambda day: sum(form.search(str(line.record["occurred_at"])) is not None for line in day.events.values())


def copies_elsewhere(day: Simulated) -> int:
    """Copies that write the moment of their event in another way."""
    return sum(copy.record["occurred_at"] != day.events[copy.id].record["occurred_at"] for copy in day.copies)


def several_teams(day: Simulated) -> int:
    return _several((pop.record["player_id"], pop.record["team_id"]) for pop in day.of_kind("bubbles_popped"))


def shown_twice(day: Simulated) -> int:
    return _several((offer.record["offer_id"], offer.id) for offer in day.of_kind("offer_shown"))


def ties(kind: str) -> Callable[[Simulated], int]:
    """Instants at which one player did a thing twice."""
    return lambda day: _several(((line.record["player_id"], line.event_time), line.id) for line in day.of_kind(kind))


def _several(pairs: Iterable[tuple[object, object]]) -> int:
    """How many of the first have several of the second."""
    found: dict[object, set[object]] = defaultdict(set)
    for one, other in pairs:
        found[one].add(other)
    return sum(len(others) > 1 for others in found.values())


EDGES: dict[str, Callable[[Simulated], int]] = {
    "copies that overtake": overtaking,
    "retries with another crossing": another_crossing,
    **{
        f"a clock that is {sign} by 30 s and {by} ms": apart(way * (TOLERANCE + by * MS))
        for sign, way in (("slow", 1), ("fast", -1))
        for by in (-1, 0, 1)
    },
    "a wrong time of the event": happened_long_ago,
    "a wrong time of sending": sent_wrong,
    "a fast server": received_wrong(ahead=True),
    "a slow server": received_wrong(ahead=False),
    **{f"times in the zone {suffix}": zone(suffix) for suffix in ("+02:00", "-09:30", "+05:45", "-03:30")},
    "copies that write the time otherwise": copies_elsewhere,
    **{f"seconds with {count} digits": digits(count) for count in (0, 1, 6, 9)},
    "players in several teams": several_teams,
    "offers shown twice": shown_twice,
    "ties of pops": ties("bubbles_popped"),
    "ties of changes of league": ties("league_changed"),
}
