"""Which lines are events, and the reason for each that is none: what `judge` says of all that are known by name."""

import json
from typing import Any

import pyarrow as pa
import pytest
from deliveries import START
from game import KINDS
from judged_lines import ACCEPTED, LINES, REJECTED, line
from lines_at_the_start import CLOCKS, as_bytes, judged_at_the_start

from transformations.durations import to_millis
from transformations.lines import lines_of
from transformations.lines.schema import TIMES, judged_schema


@pytest.fixture(scope="module")
def judged() -> dict[str, dict[str, Any]]:
    """The row of each line, by its name. Moments are in milliseconds."""
    table = judged_at_the_start(*LINES.values())
    for name in (*TIMES, "event_time"):
        column = table[name].cast(pa.timestamp("ms", "UTC")).cast(pa.int64())
        table = table.set_column(table.schema.get_field_index(name), name, column)
    return dict(zip(LINES, table.to_pylist(), strict=True))


@pytest.mark.parametrize("name", REJECTED)
def test_a_line_that_is_no_event_gets_its_reason(judged: dict[str, dict[str, Any]], name: str) -> None:
    _, reason = REJECTED[name]
    assert judged[name]["reason"] == reason
    assert judged[name]["event_time"] is None


@pytest.mark.parametrize("name", ACCEPTED)
def test_a_sound_line_is_an_event(judged: dict[str, dict[str, Any]], name: str) -> None:
    assert judged[name]["reason"] is None
    assert judged[name]["event_id"] == json.loads(ACCEPTED[name])["event_id"]
    assert judged[name]["event_time"] is not None


def test_of_a_line_with_a_wrong_field_no_column_is_filled(judged: dict[str, dict[str, Any]]) -> None:
    """So no column holds a time that a calendar does not have."""
    for name, (_, reason) in REJECTED.items():
        filled = {column for column, value in judged[name].items() if value is not None} - {"reason", "raw"}
        by_the_clock = reason.startswith(CLOCKS)
        assert ({"event_id", "kind", "occurred_at"} <= filled) == by_the_clock, name
        assert bool(filled) == by_the_clock, name


def test_every_line_keeps_its_bytes(judged: dict[str, dict[str, Any]]) -> None:
    for name, text in LINES.items():
        assert judged[name]["raw"] == as_bytes(text), name


def test_a_sound_line_gives_all_its_fields(judged: dict[str, dict[str, Any]]) -> None:
    start = to_millis(START)
    assert judged["a pop"] == {
        "event_id": "e",
        "kind": "bubbles_popped",
        "player_id": "alice",
        "team_id": "blue",
        "bubbles": 7,
        "reaction_ms": 231,
        "league": None,
        "offer_id": None,
        "occurred_at": start + 3120,
        "sent_at": start + 3400,
        "received_at": start + 3600,
        "event_time": start + 3120,
        "reason": None,
        "raw": line().encode(),
    }


@pytest.mark.parametrize(
    ("name", "seconds"),
    [
        ("a time with an offset", 3.12),
        ("a time with an offset behind UTC", 3.12),
        ("a time in whole seconds", 3),
        ("a time in microseconds", 3.12),
        ("a time in nanoseconds", 3.12),
        ("a time in tenths", 3.1),
    ],
)
def test_a_time_is_its_moment_in_utc_cut_to_milliseconds(
    judged: dict[str, dict[str, Any]], name: str, seconds: float
) -> None:
    assert judged[name]["occurred_at"] == to_millis(START) + round(seconds * 1000)


def test_no_line_at_all_has_no_rows() -> None:
    assert judged_at_the_start().equals(judged_schema(KINDS).empty_table())


def test_a_last_line_needs_no_line_feed_and_an_empty_one_is_a_line() -> None:
    assert lines_of(b"") == []
    assert lines_of(b"\n") == [b""]
    assert lines_of(b"a\nb") == lines_of(b"a\nb\n") == [b"a", b"b"]
    assert lines_of(b"a\r\n\nb\n\n") == [b"a\r", b"", b"b", b""]
