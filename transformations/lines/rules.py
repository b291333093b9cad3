"""The rules of a landing line, one by one: what it says, and the first reason why it is no event. One sample line:

    {"event_id": "7f3a…", "kind": "door_opened", "door_id": "north", "badge": 231,
     "occurred_at": "2026-03-01T10:00:03.120Z", "sent_at": "…", "received_at": "…"}

This is the specification. `judge` reads sound lines by columns, which is quicker, and asks here about every other.
"""

from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple

from ..clock import Clock
from ..kind import FieldType, Kind
from .nesting import LEVELS, too_deep
from .schema import TIMES, said_types
from .strict_json import BLANKS, object_of
from .values import complaint, value_of


class Judgement(NamedTuple):
    """The values of a line, moments in milliseconds, and why it is no event. If a field is not right, there are no values."""

    values: Mapping[str, Any] = {}
    reason: str | None = None


def judge_line(line: bytes, clock: Clock, *, ingested_at: int, kinds: Mapping[str, Kind]) -> Judgement:
    """What becomes of one line. `ingested_at` is the clock of ingestion, in milliseconds; `kinds` are by their names."""
    try:
        text = line.decode()
    except UnicodeDecodeError:
        return Judgement(reason="not UTF-8")
    if not text.strip(BLANKS):
        return Judgement(reason="empty line")
    if too_deep(text):
        return Judgement(reason=f"nested deeper than {LEVELS} levels")
    said = object_of(text)
    if said is None:
        return Judgement(reason="not a JSON object")
    reason = next(_complaints(said, kinds), None)
    if reason is not None:
        return Judgement(reason=reason)
    values = _values(said, kinds[said["kind"]])
    event_time = clock.event_time(*(values[name] for name in TIMES))
    reason = clock.implausible(event_time, values["received_at"], ingested_at=ingested_at)
    # A correction can lead out of every calendar; only that of an event has an event time.
    return Judgement({**values, "event_time": event_time if reason is None else None}, reason)


def _complaints(said: Mapping[str, Any], kinds: Mapping[str, Kind]) -> Iterator[str]:
    """The reasons against the fields of a line, in their order. What a kind does not declare may be anything."""
    yield from _complaint(said, "event_id", "text", required=True)
    if said["event_id"] == "":
        yield "missing field: event_id"
    yield from _complaint(said, "kind", "text", required=True)
    if said["kind"] not in kinds:
        yield "unknown kind"
    for field in kinds[said["kind"]].fields:
        yield from _complaint(said, field.name, field.type, required=field.required)
    for name in TIMES:
        yield from _complaint(said, name, "time", required=name == "occurred_at")


def _complaint(said: Mapping[str, Any], name: str, expected: FieldType, *, required: bool) -> Iterator[str]:
    """The reason against one field. A JSON null counts as missing."""
    value = said.get(name)
    if value is None:
        if required:
            yield f"missing field: {name}"
    elif value_of(value, expected) is None:
        yield complaint(name, value, expected)


def _values(said: Mapping[str, Any], kind: Kind) -> dict[str, Any]:
    """The values of a line whose fields are all right; those of its kind and no others."""
    return {name: value_of(said.get(name), expected) for name, expected in said_types([kind]).items()}
