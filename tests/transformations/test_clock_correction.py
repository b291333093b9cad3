"""Device clocks: by how much an event is moved, and which times no event can have. All lines are judged in one pass."""

import json
from datetime import timedelta
from typing import Any

import pytest
from deliveries import START, at
from judged import judged_table, rows_of

from transformations.clock import Clock
from transformations.durations import to_millis

INGESTED = 7200
"""The clock of ingestion, in seconds after the start."""
FUTURE = "time in the future: more than 10 minutes after it was received"
RECEIVED_LATER = "time in the future: received more than 10 minutes after the clock of ingestion"
PAST = "time before the floor of 2000-01-01T00:00:00+00:00"


def dated(
    occurred: float | str, sent: float | str | None = None, received: float | str | None = None, **more: Any
) -> str:
    """A heartbeat with its times in seconds after the start, or as written."""
    times = {"occurred_at": occurred, "sent_at": sent, "received_at": received}
    event = {"event_id": "e", "kind": "heartbeat", **more}
    return json.dumps(event | {name: at(t) if isinstance(t, (int, float)) else t for name, t in times.items()})


MOVED: dict[str, tuple[str, float]] = {
    "an ordinary delay moves nothing": (dated(0, sent=1, received=3), 0),
    "an error of just the tolerance moves nothing": (dated(0, sent=1, received=31), 0),
    "an error above the tolerance moves by all of it": (dated(0, sent=1, received=31.001), 30.001),
    "a fast clock of just the tolerance moves nothing": (dated(100, sent=101, received=71), 100),
    "a fast clock above the tolerance moves by all of it": (dated(100, sent=101, received=70.999), 69.999),
    "a clock three hours fast": (dated(10800, sent=10801, received=3), 2),
    "a clock two hours slow": (dated(-7200, sent=-7199, received=3), 2),
    "buffered for 90 minutes with a right clock": (dated(0, sent=5400, received=5402), 0),
    "buffered for 90 minutes with a fast clock": (dated(10800, sent=16200, received=5402), 2),
    "no time of sending": (dated(0, received=500), 0),
    "no time of reception": (dated(0, sent=500), 0),
    "neither time": (dated(0), 0),
    "a phone from 2099 that says when it sent": (
        dated("2099-01-01T00:00:00Z", sent="2099-01-01T00:00:05Z", received=60),
        55,
    ),
    "a phone that lost its clock but says when it sent": (
        dated("1970-01-01T00:00:10Z", sent="1970-01-01T00:00:20Z", received=60),
        50,
    ),
    "a pop is corrected like a heartbeat": (
        dated(0, sent=1, received=101, kind="bubbles_popped", player_id="a", team_id="b", bubbles=1),
        100,
    ),
}
JUDGED: dict[str, tuple[str, str | None]] = {
    "ten minutes after reception is still allowed": (dated(700, received=100), None),
    "a millisecond more is the future": (dated(700.001, received=100), FUTURE),
    "after reception, though before the clock of ingestion": (dated(2000, received=100), FUTURE),
    "before reception, though after the clock of ingestion": (dated(INGESTED + 601, received=INGESTED + 600), FUTURE),
    "received after the clock of ingestion": (dated(0, received=INGESTED + 600.001), RECEIVED_LATER),
    "received ten minutes after it is still allowed": (dated(INGESTED + 600, received=INGESTED + 600), None),
    "received in 2099, and sent and occurred": (dated(*["2099-01-01T00:00:00Z"] * 3), RECEIVED_LATER),
    "moved beyond the clock of ingestion": (dated(INGESTED + 100, sent=0, received=INGESTED + 600), FUTURE),
    "moved to just the tolerance": (dated(550, sent=550, received=INGESTED + 600), None),
    "ten minutes after ingestion is still allowed": (dated(INGESTED + 600), None),
    "a millisecond more than that is the future": (dated(INGESTED + 600.001), FUTURE),
    "the time of sending does not replace that of reception": (dated(INGESTED + 601, sent=INGESTED + 601), FUTURE),
    "corrected into the allowed": (dated(10800, sent=10801, received=3), None),
    "corrected into the future": (dated(1000, sent=1, received=100), FUTURE),
    "corrected to before the floor": (
        dated("2000-01-01T00:00:59Z", sent=60, received=0),
        PAST,
    ),
    "a heartbeat from 2099": (dated("2099-01-01T00:00:00Z"), FUTURE),
    "a time just before the floor": (dated("1999-12-31T23:59:59.999Z"), PAST),
    "the floor itself": (dated("2000-01-01T00:00:00Z"), None),
}


@pytest.fixture(scope="module")
def judged() -> dict[str, tuple[int | None, str | None]]:
    """Event time in milliseconds and reason, by the name of the case."""
    cases = {name: line for table in (MOVED, JUDGED) for name, (line, _) in table.items()}
    table = judged_table(list(cases.values()), ingested_at=START + timedelta(seconds=INGESTED))
    return {name: (row.event_time, row.reason) for name, row in zip(cases, rows_of(table), strict=True)}


@pytest.mark.parametrize("name", MOVED)
def test_an_event_is_moved_by_its_clocks_error_only(
    judged: dict[str, tuple[int | None, str | None]], name: str
) -> None:
    _, seconds = MOVED[name]
    assert judged[name] == (to_millis(START) + round(seconds * 1000), None)


@pytest.mark.parametrize("name", JUDGED)
def test_a_time_is_judged_after_its_correction(judged: dict[str, tuple[int | None, str | None]], name: str) -> None:
    _, reason = JUDGED[name]
    assert judged[name][1] == reason


def test_the_tolerances_and_the_floor_are_those_of_the_clock() -> None:
    clock = Clock(
        device_tolerance=timedelta(seconds=5),
        future_tolerance=timedelta(seconds=1),
        floor=START - timedelta(seconds=10),
    )
    lines = [
        dated(-6, sent=-5, received=0),
        dated(-6, sent=-5, received=1),
        dated(1),
        dated(2),
        dated(-10),
        dated(-11),
    ]
    found = rows_of(judged_table(lines, ingested_at=START, clock=clock))
    times = [row.event_time and (row.event_time - to_millis(START)) // 1000 for row in found]
    assert times == [-6, 0, 1, None, -10, None]
    assert [row.reason for row in found] == [
        None,
        None,
        None,
        "time in the future: more than 1 second after it was received",
        None,
        f"time before the floor of {clock.floor.isoformat()}",
    ]
