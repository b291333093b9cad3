"""What a landed line is, judged by a reader of its own: Python's JSON, and the rules of docs/landing-format.md.

The proof shares no code with ingestion, but for what a pipeline declares: two that share a reader share its mistakes. Only the
lines of simulators come here, so what none of them sends (a hundred levels of nesting, say) has no rule here.
"""

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from decimal import MAX_EMAX, MIN_EMIN, Context, Decimal
from typing import Any

from transformations.kind import MOST_DIGITS, FieldType, Kind
from transformations.kind import Decimal as OfDecimal

BITS: Mapping[FieldType, int] = {"whole number": 32, "long whole number": 64}
EXACT = Context(prec=1100, Emax=MAX_EMAX, Emin=MIN_EMIN)
"""More digits than a number of a line may have."""
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


def event_of(line: bytes, kinds: Mapping[str, Kind], *, now: int) -> Event | None:
    """The event that a line is, none if it has to be quarantined; `now` bounds every time in it."""
    try:
        return _event(_object(line), kinds, now)
    except NoEvent:
        return None


def _object(line: bytes) -> dict[str, Any]:
    try:
        found = json.loads(
            line.decode("utf-8"),
            object_pairs_hook=_without_repeats,
            parse_constant=_refused,
            parse_float=EXACT.create_decimal,
        )
        json.dumps(found, ensure_ascii=False, default=str).encode()  # half a pair of surrogates is no text
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


def _event(said: dict[str, Any], kinds: Mapping[str, Kind], now: int) -> Event:
    event_id, kind = said.get("event_id"), said.get("kind")
    if not isinstance(event_id, str) or not event_id or not isinstance(kind, str) or kind not in kinds:
        raise NoEvent
    fields = {each.name: _typed(said[each.name], each.type) for each in kinds[kind].fields if each.name in said}
    if any(each.required and each.name not in fields for each in kinds[kind].fields):
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


def _typed(value: Any, expected: FieldType) -> Any:
    """The value by the rules of docs/landing-format.md; true is no number, though Python has it as one."""
    if isinstance(expected, OfDecimal):
        return _decimal(value, expected.scale)
    if expected == "texts":
        if type(value) is not list or any(type(each) is not str for each in value):
            raise NoEvent
        return tuple(value)
    if expected == "time":
        return _moment(value)
    bits = BITS.get(expected)
    if type(value) is not ({"text": str, "true or false": bool}.get(expected, int)):
        raise NoEvent
    if bits is not None and not -(2 ** (bits - 1)) <= value < 2 ** (bits - 1):
        raise NoEvent
    return value


def _decimal(value: Any, scale: int) -> Decimal:
    """A number by what it is worth, however it is written. It is never rounded."""
    if type(value) is int:
        value = Decimal(value)
    if not isinstance(value, Decimal):
        raise NoEvent
    sign, digits, power = value.normalize(EXACT).as_tuple()
    assert isinstance(power, int)  # infinity and the like are no JSON
    if value and (power < -scale or len(digits) + power + scale > MOST_DIGITS):
        raise NoEvent
    return Decimal((sign if value else 0, digits, power))


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
