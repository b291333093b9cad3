"""Lines of every kind, by name: those that are no event with the reason, and those that are one."""

import json
from collections.abc import Mapping
from typing import Any

from deliveries import at

NOT_UTF8 = "not UTF-8"
EMPTY = "empty line"
TOO_DEEP = "nested deeper than 100 levels"
NOT_AN_OBJECT = "not a JSON object"
FUTURE = "time in the future: more than 10 minutes after it was received"
RECEIVED_LATER = "time in the future: received more than 10 minutes after the clock of ingestion"
PAST = "time before the floor of 2000-01-01T00:00:00+00:00"
LEAVE_OUT = object()

SOUND = {
    "event_id": "e",
    "kind": "bubbles_popped",
    "player_id": "alice",
    "team_id": "blue",
    "bubbles": 7,
    "reaction_ms": 231,
    "occurred_at": at(3.12),
    "sent_at": at(3.4),
    "received_at": at(3.6),
}
OFFER = {"event_id": "e", "kind": "offer_shown", "player_id": "alice", "offer_id": "o-1", "occurred_at": at(0)}
LEAGUE = {"event_id": "e", "kind": "league_changed", "player_id": "alice", "league": "gold", "occurred_at": at(0)}
HEARTBEAT = {"event_id": "e", "kind": "heartbeat", "occurred_at": at(0)}


def line(base: Mapping[str, Any] = SOUND, **changes: Any) -> str:
    changed = {**base, **changes}
    return json.dumps({name: value for name, value in changed.items() if value is not LEAVE_OUT})


def with_number(text: str) -> str:
    """A pop whose bubbles are written just so."""
    return line(bubbles="@").replace('"@"', text)


def undated(**changes: Any) -> str:
    """A line that leaves the judgement of its time to the clock of ingestion."""
    return line(sent_at=LEAVE_OUT, received_at=LEAVE_OUT, **changes)


def nested(levels: int) -> str:
    return line(extra="@").replace('"@"', "[" * levels + "]" * levels)


def missing(name: str) -> str:
    return f"missing field: {name}"


def ill_typed(name: str, expected: str, found: str) -> str:
    return f"ill-typed field: {name} (expected {expected}, found {found})"


def not_a_time(name: str = "occurred_at", found: str = "string") -> str:
    return ill_typed(name, "time with a zone", found)


def not_whole(found: str, name: str = "bubbles") -> str:
    return ill_typed(name, "whole number", found)


TOO_LARGE = "number outside 32 bits: bubbles"

REJECTED: dict[str, tuple[str | bytes, str]] = {
    # the line
    "a page of a proxy": ("<html><h1>502</h1></html>", NOT_AN_OBJECT),
    "a truncated line": (line()[:40], NOT_AN_OBJECT),
    "an object in single quotes": (str(SOUND), NOT_AN_OBJECT),
    "two objects": (f"{line()} {line()}", NOT_AN_OBJECT),
    "two objects with a comma": (f"{line()},{line()}", NOT_AN_OBJECT),
    "trailing garbage": (f"{line()} x", NOT_AN_OBJECT),
    "a trailing comma": (f"{line()},", NOT_AN_OBJECT),
    "a trailing bracket": (f"{line()}]", NOT_AN_OBJECT),
    "garbage that looks like the parser's sentinel": (f'{line()},"~"]', NOT_AN_OBJECT),
    "an array": ("[1, 2]", NOT_AN_OBJECT),
    "an array of an event": (f"[{line()}]", NOT_AN_OBJECT),
    "a text": ('"hello"', NOT_AN_OBJECT),
    "a number": ("7", NOT_AN_OBJECT),
    "null": ("null", NOT_AN_OBJECT),
    "an empty object": ("{}", missing("event_id")),
    "an empty line": ("", EMPTY),
    "a blank line": ("   ", EMPTY),
    "an empty line of a file with CRLF": ("\r", EMPTY),
    "duplicate keys": (line()[:-1] + ', "bubbles": 8}', NOT_AN_OBJECT),
    "a raw line break's escape outside a text": (line() + "\\n", NOT_AN_OBJECT),
    "a byte order mark": ("\ufeff" + line(), NOT_AN_OBJECT),
    "a byte that is no UTF-8": (line(event_id="@").encode().replace(b"@", b"\xff"), NOT_UTF8),
    "Latin-1": (line(player_id="@").encode().replace(b"@", "Zoë".encode("latin-1")), NOT_UTF8),
    "an overlong slash": (line(player_id="@").encode().replace(b"@", b"\xc0\xaf"), NOT_UTF8),
    "a surrogate in UTF-8": (line(player_id="@").encode().replace(b"@", b"\xed\xa0\x80"), NOT_UTF8),
    "a raw NUL in a text": (line(player_id="@").encode().replace(b"@", b"\x00"), NOT_AN_OBJECT),
    "NaN": (with_number("NaN"), NOT_AN_OBJECT),
    "a leading zero": (with_number("007"), NOT_AN_OBJECT),
    "a plus sign": (with_number("+7"), NOT_AN_OBJECT),
    "a comment": (line()[:-1] + "/* 7 */}", NOT_AN_OBJECT),
    # ids and texts
    "no id": (line(event_id=LEAVE_OUT), missing("event_id")),
    "null as id": (line(event_id=None), missing("event_id")),
    "an empty id": (line(event_id=""), missing("event_id")),
    "a number as id": (line(event_id=42), ill_typed("event_id", "text", "bigint")),
    "an object as id": (line(event_id={"a": 1}), ill_typed("event_id", "text", "object")),
    "an array as id": (line(event_id=["a"]), ill_typed("event_id", "text", "array")),
    "a number for a text": (line(player_id=42), ill_typed("player_id", "text", "bigint")),
    "true for a text": (line(team_id=True), ill_typed("team_id", "text", "boolean")),
    "a name in other letters": (line(event_id=LEAVE_OUT, EVENT_ID="e"), missing("event_id")),
    # numbers
    "half a bubble": (with_number("1.5"), not_whole("decimal")),
    "one and no tenths": (with_number("1.0"), not_whole("decimal")),
    "an exponent": (with_number("1e2"), not_whole("double")),
    "2**31": (with_number(str(2**31)), TOO_LARGE),
    "-2**31 - 1": (with_number(str(-(2**31) - 1)), TOO_LARGE),
    "2**63": (with_number(str(2**63)), TOO_LARGE),
    "38 digits": (with_number("9" * 38), TOO_LARGE),
    "50 digits": (with_number("9" * 50), TOO_LARGE),
    "a text for a number": (line(bubbles="7"), not_whole("string")),
    "true for a number": (line(bubbles=True), not_whole("boolean")),
    "an array for a number": (line(bubbles=[7]), not_whole("array")),
    "null for a number": (line(bubbles=None), missing("bubbles")),
    # kinds and their fields
    "no kind": (line(kind=LEAVE_OUT), missing("kind")),
    "an unknown kind": (line(kind="raid_started"), "unknown kind"),
    "an empty kind": (line(kind=""), "unknown kind"),
    "a kind in other letters": (line(kind="Heartbeat"), "unknown kind"),
    "a number as kind": (line(kind=1), ill_typed("kind", "text", "bigint")),
    "a pop without player": (line(player_id=LEAVE_OUT), missing("player_id")),
    "a pop without team": (line(team_id=LEAVE_OUT), missing("team_id")),
    "a pop without bubbles": (line(bubbles=LEAVE_OUT), missing("bubbles")),
    "an offer shown to nobody": (line(OFFER, player_id=LEAVE_OUT), missing("player_id")),
    "an offer shown without offer": (line(OFFER, offer_id=LEAVE_OUT), missing("offer_id")),
    "an offer clicked by nobody": (line(OFFER, kind="offer_clicked", player_id=LEAVE_OUT), missing("player_id")),
    "an offer clicked without offer": (line(OFFER, kind="offer_clicked", offer_id=LEAVE_OUT), missing("offer_id")),
    "a league without player": (line(LEAGUE, player_id=LEAVE_OUT), missing("player_id")),
    "no league": (line(LEAGUE, league=LEAVE_OUT), missing("league")),
    "a heartbeat without time": (line(HEARTBEAT, occurred_at=LEAVE_OUT), missing("occurred_at")),
    "an optional text for a number": (line(reaction_ms="fast"), not_whole("string", "reaction_ms")),
    "an optional fraction": (line(reaction_ms=1.5), not_whole("decimal", "reaction_ms")),
    "an optional number outside 32 bits": (line(reaction_ms=2**40), "number outside 32 bits: reaction_ms"),
    # times
    "no time": (line(occurred_at=LEAVE_OUT), missing("occurred_at")),
    "null as time": (line(occurred_at=None), missing("occurred_at")),
    "a time without zone": (line(occurred_at="2026-03-01T10:00:03.120"), not_a_time()),
    "a date only": (line(occurred_at="2026-03-01"), not_a_time()),
    "an impossible date": (line(occurred_at="2026-02-30T10:00:00Z"), not_a_time()),
    "the 29th of February of a common year": (line(occurred_at="2025-02-29T10:00:00Z"), not_a_time()),
    "the 13th month": (line(occurred_at="2026-13-01T10:00:00Z"), not_a_time()),
    "a leap second": (line(occurred_at="2016-12-31T23:59:60Z"), not_a_time()),
    "hour 24": (line(occurred_at="2026-02-28T24:00:00Z"), not_a_time()),
    "an impossible zone": (line(occurred_at="2026-03-01T10:00:00+25:00"), not_a_time()),
    "a zone without colon": (line(occurred_at="2026-03-01T10:00:00+0200"), not_a_time()),
    "a zone by name": (line(occurred_at="2026-03-01T10:00:00[Europe/Berlin]"), not_a_time()),
    "a blank for the T": (line(occurred_at="2026-03-01 10:00:00Z"), not_a_time()),
    "blanks around a time": (line(occurred_at=f" {at(0)} "), not_a_time()),
    "a line break behind a time": (line(occurred_at=f"{at(0)}\n"), not_a_time()),
    "a time as number": (line(occurred_at=1_772_359_203), not_a_time(found="bigint")),
    "Arabic digits": (line(occurred_at="٢٠٢٦-03-01T10:00:00Z"), not_a_time()),
    "five digits of a year": (line(occurred_at="12026-03-01T10:00:00Z"), not_a_time()),
    "an ill-typed time of sending": (line(sent_at=5), not_a_time("sent_at", "bigint")),
    "a time of reception without zone": (line(received_at="2026-03-01T10:00:03"), not_a_time("received_at")),
    "the year 9998": (undated(occurred_at="9998-12-31T23:59:59.999-18:00"), FUTURE),
    "the year 9999": (undated(occurred_at="9999-01-01T00:00:00Z"), not_a_time()),
    "the year 2099": (line(occurred_at="2099-01-01T00:00:00Z", sent_at=LEAVE_OUT), FUTURE),
    "before 1970": (undated(occurred_at="1969-07-20T20:17:40Z"), PAST),
    "the year 2": (undated(occurred_at="0002-01-01T00:00:00+18:00"), PAST),
    "the year 1": (undated(occurred_at="0001-12-31T23:59:59Z"), not_a_time()),
    "the year 0": (undated(occurred_at="0000-01-01T00:00:00Z"), not_a_time()),
    "before the year 1, by its zone": (undated(occurred_at="0001-01-01T00:30:00+01:00"), not_a_time()),
    "after the year 9999, by its zone": (undated(occurred_at="9999-12-31T23:30:00-01:00"), not_a_time()),
    "sent after the year 9999": (line(sent_at="9999-12-31T23:30:00-01:00"), not_a_time("sent_at")),
    "received in the year 0": (line(received_at="0000-12-31T23:59:59Z"), not_a_time("received_at")),
    "received in 2099": (line(received_at="2099-01-01T00:00:00Z", sent_at=LEAVE_OUT), RECEIVED_LATER),
    "all in 2099": (
        line(**dict.fromkeys(("occurred_at", "sent_at", "received_at"), "2099-01-01T00:00:00Z")),
        RECEIVED_LATER,
    ),
    "just before the floor": (undated(occurred_at="1999-12-31T23:59:59.999Z"), PAST),
    "just before the floor, by its zone": (undated(occurred_at="2000-01-01T00:59:59.999+01:00"), PAST),
    # depth
    "101 levels": (nested(100), TOO_DEEP),
    "101 levels of objects": (line(extra="@").replace('"@"', '{"a": ' * 100 + "1" + "}" * 100), TOO_DEEP),
    "101 levels in the id": (line(event_id="@").replace('"@"', "[" * 100 + "]" * 100), TOO_DEEP),
    "985 levels": (nested(985), TOO_DEEP),
    "1,500 levels": (nested(1500), TOO_DEEP),
    "200,000 levels": (nested(200_000), TOO_DEEP),
    "1,000 brackets that are not closed": ("[" * 1000, TOO_DEEP),
    "half a line with 1,000 flat brackets": (line(extra=[[]] * 1000)[:-2], NOT_AN_OBJECT),
    # half a character: the log's UTF-8 cannot hold it, and two such ids would become one
    "half a surrogate pair as id": (line(event_id="@").replace("@", "\\ud800"), NOT_AN_OBJECT),
}

LONG = "x" * 100_000
ACCEPTED: dict[str, str] = {
    "a pop": line(),
    "an offer shown": line(OFFER),
    "an offer clicked": line(OFFER, kind="offer_clicked"),
    "a change of league": line(LEAGUE),
    "a heartbeat": line(HEARTBEAT),
    "no optional field": undated(reaction_ms=LEAVE_OUT),
    "optional fields that are null": line(reaction_ms=None, sent_at=None, received_at=None),
    "an id with quotes": line(event_id="""it's "me" \\ and `you`"""),
    "an id with line breaks": line(event_id="a\nb\r\n\tc"),
    "an id with markup": line(event_id="<script>alert('1')</script>&amp;{{x}}"),
    "an id with a NUL": line(event_id="a\u0000b"),
    "an id with an emoji and accents": line(event_id="🫧 Zoë"),
    "an id with escaped accents": json.dumps({**SOUND, "event_id": "🫧 Zoë"}, ensure_ascii=True),
    "an id of 100 kB": line(event_id=LONG),
    "a blank id": line(event_id=" "),
    "a line of 10 MB": line(extra="x" * 10_000_000),
    "a carriage return at the end": line() + "\r",
    "blanks around": f" \t {line()} \t",
    "unknown fields": line(extra={"a": [1, {"b": None}]}, colour="red"),
    "100 levels": nested(99),
    "1,000 brackets, flat": line(extra=[[{}]] * 1000),
    "1,000 brackets in a text": line(extra='"[{\\' * 1000),
    "negative bubbles": line(bubbles=-12),
    "no bubbles": line(bubbles=0),
    "2**31 - 1": with_number(str(2**31 - 1)),
    "-2**31": with_number(str(-(2**31))),
    "a field of another kind, ill-typed": line(OFFER, bubbles="many"),
    "a time with an offset": line(occurred_at="2026-03-01T12:00:03.120+02:00"),
    "a time with an offset behind UTC": line(occurred_at="2026-03-01T04:30:03.120-05:30"),
    "a time in whole seconds": line(occurred_at="2026-03-01T10:00:03Z"),
    "a time in microseconds": line(occurred_at="2026-03-01T10:00:03.120999Z"),
    "a time in nanoseconds": line(occurred_at="2026-03-01T10:00:03.120999999Z"),
    "a time in tenths": line(occurred_at="2026-03-01T10:00:03.1Z"),
    "the floor": undated(occurred_at="2000-01-01T00:00:00Z"),
    "the 29th of February of a leap year": undated(occurred_at="2024-02-29T00:00:00Z"),
}

LINES: dict[str, str | bytes] = {**{name: text for name, (text, _) in REJECTED.items()}, **ACCEPTED}
