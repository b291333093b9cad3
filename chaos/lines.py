"""What a landed line is, judged by a reader of its own: Python's JSON, and the rules of docs/landing-format.md.

The proof shares no code with ingestion: two that share a reader share its mistakes. Only the lines of the simulator come here, so
what no simulated phone sends (a hundred levels of nesting, say) has no rule here.
"""

import json
import re
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Any

from chaos.subject import FIELDS, OPTIONAL

SECOND, MINUTE = 1_000, 60_000
WRONG_CLOCK, FUTURE, FLOOR = 30 * SECOND, 10 * MINUTE, 946_684_800_000
TIME = re.compile(r"(\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d)(?:\.(\d{1,9}))?(Z|[+-]\d\d:\d\d)")


class NoEvent(ValueError):
    """The line is no event. Why, nobody asks here."""


@dataclass(frozen=True)
class Event:
    """An event as its line says it; times in milliseconds since 1970."""

    event_id: str
    kind: str
    occurred_at: int
    event_time: int
    fields: dict[str, Any]

    @property
    def content(self) -> tuple[Any, ...]:
        """What two honest copies share."""
        return self.kind, self.occurred_at, tuple(sorted(self.fields.items()))


def event_of(line: bytes, *, now: int) -> Event | None:
    """The event that a line is, none if it has to be quarantined; `now` bounds every time in it."""
    try:
        return _event(_object(line), now)
    except NoEvent:
        return None


def _object(line: bytes) -> dict[str, Any]:
    try:
        found = json.loads(line.decode("utf-8"), object_pairs_hook=_without_repeats, parse_constant=_refused)
        json.dumps(found, ensure_ascii=False).encode()  # half a pair of surrogates is no text
    except (ValueError, RecursionError):
        raise NoEvent from None
    if not isinstance(found, dict):
        raise NoEvent
    return {name: value for name, value in found.items() if value is not None}  # null counts as missing


def _without_repeats(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    if len(dict(pairs)) != len(pairs):
        raise NoEvent
    return dict(pairs)


def _refused(_: str) -> None:
    raise NoEvent


def _event(said: dict[str, Any], now: int) -> Event:
    event_id, kind = said.get("event_id"), said.get("kind")
    if not isinstance(event_id, str) or not event_id or not isinstance(kind, str) or kind not in FIELDS:
        raise NoEvent
    fields = {name: _typed(said[name], kind_of) for name, kind_of in FIELDS[kind].items() if name in said}
    if any(name not in fields for name in FIELDS[kind] if name not in OPTIONAL):
        raise NoEvent
    if "occurred_at" not in said:
        raise NoEvent
    occurred, sent, received = _moment(said["occurred_at"]), _known(said, "sent_at"), _known(said, "received_at")
    error = 0 if sent is None or received is None else received - sent
    happened = occurred + (error if abs(error) > WRONG_CLOCK else 0)
    arrived = now if received is None else received
    if arrived > now + FUTURE or not FLOOR <= happened <= min(arrived, now) + FUTURE:
        raise NoEvent
    return Event(event_id, kind, occurred, happened, fields)


def _typed(value: Any, expected: type) -> Any:
    if type(value) is not expected:  # true is no number, though Python has it as one
        raise NoEvent
    if isinstance(value, int) and not -(2**31) <= value < 2**31:
        raise NoEvent
    return value


def _known(said: dict[str, Any], name: str) -> int | None:
    return _moment(said[name]) if name in said else None


def _moment(said: Any) -> int:
    found = TIME.fullmatch(said) if isinstance(said, str) else None
    if found is None or found[1][:4] in ("0000", "0001", "9999"):
        raise NoEvent
    try:
        whole = datetime.fromisoformat(found[1] + found[3].replace("Z", "+00:00"))
    except ValueError:
        raise NoEvent from None
    if abs(whole.utcoffset() or timedelta()) > timedelta(hours=18):
        raise NoEvent
    since = whole - datetime(1970, 1, 1, tzinfo=UTC)
    return since // timedelta(milliseconds=1) + int((found[2] or "").ljust(3, "0")[:3])  # finer digits are cut off
