"""Landing lines drawn at random: sound ones in every spelling that JSON has, and the same with something wrong in them."""

import json
import random
from collections.abc import Callable
from typing import Any

from deliveries import at
from judged_lines import HEARTBEAT, LEAGUE, LINES, OFFER, SOUND
from nasty_lines import AROUND, VALUES, made

Event = dict[str, Any]
KNOWN = [known for text in LINES.values() if len(known := text if isinstance(text, bytes) else text.encode()) < 3000]
NAMES = (*SOUND, "league", "offer_id", "extra", "EVENT_ID", "kind ", "")
SHORT_VALUES = [value for value in VALUES if len(value) < 1100]
RIGHT_VALUES = (
    "null", "0", "-0", "-12", "2147483647", "-2147483648", "2147483648", "1e3", "1.5", '"gold"', '""', '"\\u0061"', "[]",
    "9" * 38, "9" * 39, "0." + "0" * 37 + "1", "0." + "0" * 38 + "1", "9" * 37 + ".5", "9" * 38 + ".5", "1." + "0" * 38,
    "{}", '[{"a": ["b", {}]}, 1]', '{"event_id": "other", "x": null}', '"2026-03-01T09:59:00Z"', '"x{[[["', "false",
)  # fmt: skip
PIECES = (
    b'"', b"\\", b"{", b"}", b"[", b"]", b",", b":", b"null", b"true", b"1.5", b"-0", b"0", b"1e5", b"-", b"00", b"\t", b" ",
    b"\r", b"\x0b", b"\x00", b"\x7f", b"\xc3\xa9", b"\xff", b"\xed\xa0\x80", b"\\u0041", b"\\ud83d\\ude00", b"\\ud800", b"\\/",
    b"\\x", b"NaN",
    b"'", b"/*", b"#", b"2147483648", b"9223372036854775808", b"123456789012345678901234567890123456789", b"0.1", b"1.", b".5",
    b'"a":1,', b'"bubbles":3,', b'"kind":"heartbeat",', b'"event_id":"e",', b'"x":{"a":1,"a":2},', b'"x":[{"b":"\\ud800"}],',
    b"Z", b"z",
    b"\xe2\x80\xa8", b"\xef\xbb\xbf", b"\xc2\x85", b"\xc2\xa0",
)  # fmt: skip


def drawn_lines(chance: random.Random, count: int) -> list[bytes]:
    """So many lines: those that are known by name first, then drawn ones, of which about half are events."""
    drawn = (_drawn(chance, number).replace(b"\n", b" ") for number in range(count - len(KNOWN)))
    return [*KNOWN, *drawn]


def _drawn(chance: random.Random, number: int) -> bytes:
    way = chance.random()
    if way < 0.1:
        return made(chance, number)
    if way < 0.25:
        return bitten(chance, chance.choice(KNOWN))
    event = _event(chance, number)
    if way < 0.6:
        chance.choice(CHANGES)(chance, event)
    text = _spelt(chance, event)
    return bitten(chance, text) if way > 0.85 else text


def _event(chance: random.Random, number: int) -> Event:
    """The values of a sound line; those that are to be written in a certain way are bytes."""
    event: Event = dict(chance.choice((SOUND, SOUND, OFFER, {**OFFER, "kind": "offer_clicked"}, LEAGUE, HEARTBEAT)))
    event |= {"event_id": f"{number:x}", "occurred_at": at(chance.uniform(-1e6, 3000))}
    if chance.random() < 0.5:
        event |= {"sent_at": at(chance.uniform(0, 3000)), "received_at": at(chance.uniform(0, 3000))}
    if chance.random() < 0.3:
        event |= {"player_id": chance.choice(("Zoë", "🫧", "a\tb", 'say "x"', "", "\x7f", "\u2028"))}
    return event


def _other_value(chance: random.Random, event: Event) -> None:
    values = RIGHT_VALUES if chance.random() < 0.6 else SHORT_VALUES
    event[chance.choice(NAMES)] = chance.choice(values).encode("utf-8", "surrogatepass")


def _field_less(chance: random.Random, event: Event) -> None:
    del event[chance.choice(list(event))]


def _field_of_another_kind(chance: random.Random, event: Event) -> None:
    event[chance.choice(("league", "offer_id", "team_id"))] = chance.choice(("gold", "", 7))
    event[chance.choice(("bubbles", "reaction_ms"))] = chance.choice((3, 2**31, "3"))


def _long(chance: random.Random, event: Event) -> None:
    event["extra"] = "x" * chance.choice((600, 700, 750, 800, 1500))


def _nested(chance: random.Random, event: Event) -> None:
    levels = chance.choice((1, 2, 97, 98, 99, 100, 101, 150))
    opening, closing = chance.choice(((b"[", b"]"), (b'{"a": ', b"}")))
    event["extra"] = opening * levels + chance.choice((b"1", b'"]"')) + closing * levels


CHANGES: tuple[Callable[[random.Random, Event], None], ...] = (
    _other_value, _other_value, _other_value, _field_less, _field_of_another_kind, _long, _nested,
)  # fmt: skip


def _spelt(chance: random.Random, event: Event) -> bytes:
    """The event as a line, its fields in any order, with any blanks and escapes, and now and then a key twice."""
    names = chance.sample(list(event), len(event))
    if chance.random() < 0.03:
        names.insert(chance.randrange(len(names) + 1), chance.choice(names))
    blank = chance.choice((b"", b"", b" ", b"\t", b"\r", b"  "))
    pairs = (blank + _text(chance, name) + b":" + blank + _value(chance, event[name]) + blank for name in names)
    around = [chance.choice(AROUND).encode() if chance.random() < 0.05 else blank for _ in range(2)]
    return around[0] + b"{" + b",".join(pairs) + b"}" + around[1]


def _value(chance: random.Random, value: Any) -> bytes:
    if isinstance(value, bytes):
        return value
    return _text(chance, value) if isinstance(value, str) else json.dumps(value).encode()


def _text(chance: random.Random, text: str) -> bytes:
    if chance.random() < 0.01:
        return '"{}"'.format("".join(f"\\u{ord(sign):04x}" for sign in text if sign < "\uffff")).encode()
    return json.dumps(text, ensure_ascii=chance.random() < 0.2).encode()


def bitten(chance: random.Random, line: bytes) -> bytes:
    """The line with one to three pieces more, less or other, from anywhere."""
    bitten = bytearray(line)
    for _ in range(chance.choice((1, 1, 1, 2, 3))):
        place = chance.randrange(len(bitten) + 1)
        end = min(len(bitten), place + chance.choice((1, 1, 2, 5, 20)))
        way = chance.random()
        if way < 0.4:
            bitten[place:place] = chance.choice(PIECES)
        elif way < 0.6:
            del bitten[place:end]
        elif way < 0.8:
            bitten[place:end] = bytes(chance.choices(b'0123456789"{}[],:. TZ-+eE\\nul', k=end - place))
        else:
            other = chance.choice(KNOWN)
            begin = chance.randrange(len(other) + 1)
            bitten[place:place] = other[begin : begin + chance.choice((1, 3, 10, 40))]
    return bytes(bitten)
