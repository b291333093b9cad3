"""Which lines are events, and the reason for each that is none. All lines are judged together."""

import json
from datetime import timedelta
from types import SimpleNamespace

import pytest
from deliveries import START
from judged import judged_table, rows_of
from judged_lines import ACCEPTED, LINES, REJECTED

from transformations.durations import to_millis


@pytest.fixture(scope="module")
def judged() -> dict[str, SimpleNamespace]:
    """What became of each line, by its name. The clock of ingestion stands an hour after the start."""
    table = judged_table(list(LINES.values()), ingested_at=START + timedelta(hours=1))
    return dict(zip(LINES, rows_of(table), strict=True))


@pytest.mark.parametrize("name", REJECTED)
def test_a_line_that_is_no_event_gets_its_reason(judged: dict[str, SimpleNamespace], name: str) -> None:
    _, reason = REJECTED[name]
    assert judged[name].reason == reason


@pytest.mark.parametrize("name", ACCEPTED)
def test_a_sound_line_is_an_event(judged: dict[str, SimpleNamespace], name: str) -> None:
    assert judged[name].reason is None


@pytest.mark.parametrize("name", [name for name in ACCEPTED if "id" in name.split()])
def test_an_id_is_kept_to_the_letter(judged: dict[str, SimpleNamespace], name: str) -> None:
    assert judged[name].event_id == json.loads(ACCEPTED[name])["event_id"]


def test_every_line_keeps_its_bytes(judged: dict[str, SimpleNamespace]) -> None:
    for name, text in LINES.items():
        assert judged[name].raw == (text if isinstance(text, bytes) else text.encode()), name


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
    judged: dict[str, SimpleNamespace], name: str, seconds: float
) -> None:
    assert judged[name].occurred_at == to_millis(START) + round(seconds * 1000)


@pytest.mark.parametrize(
    ("name", "bubbles"),
    [
        ("negative bubbles", -12),
        ("no bubbles", 0),
        ("2**31 - 1", 2**31 - 1),
        ("-2**31", -(2**31)),
        ("a heartbeat", None),
    ],
)
def test_a_whole_number_is_kept_to_the_unit(judged: dict[str, SimpleNamespace], name: str, bubbles: int | None) -> None:
    assert judged[name].bubbles == bubbles


def test_optional_fields_that_are_missing_are_null(judged: dict[str, SimpleNamespace]) -> None:
    for name in ("no optional field", "optional fields that are null"):
        row = judged[name]
        assert (row.reaction_ms, row.sent_at, row.received_at) == (None, None, None)


def test_a_sound_line_gives_all_its_fields(judged: dict[str, SimpleNamespace]) -> None:
    row, start = judged["a pop"], to_millis(START)
    assert (row.event_id, row.kind, row.player_id, row.bubbles, row.reaction_ms) == (
        "e",
        "bubbles_popped",
        "alice",
        7,
        231,
    )
    assert (row.occurred_at, row.sent_at, row.received_at) == (start + 3120, start + 3400, start + 3600)
