"""Lines that a parser, a calendar or a stack may stumble over: picked by hand, and generated from a seed.

    NASTY_SEED=7 pytest tests/ingestion/test_any_line.py

runs other ones. None of them may stop ingestion, and Spark and the audit, which reads with Python, have to count them alike.
"""

import json
import os
import random
from collections.abc import Callable

from deliveries import at
from judged_lines import HEARTBEAT, LEAGUE, LEAVE_OUT, OFFER, SOUND, line, nested, undated, with_number

SEED = int(os.environ.get("NASTY_SEED", "18"))
FIRST, LAST = "0002-01-01T00:00:00.000Z", "9998-12-31T23:59:59.999Z"


def corrected(occurred: str, sent: str | None = None) -> str:
    """A phone whose clock says so while it sends: with the time of reception it is an event of the start, or far from it."""
    return line(occurred_at=occurred, sent_at=occurred if sent is None else sent, received_at=at(60))


def brackets(text: str) -> str:
    """A sound line with these brackets in a field that nobody declares."""
    return line(extra="@").replace('"@"', text)


ALONE: dict[str, str | bytes] = {
    "beyond the year 9999, by its zone": line(HEARTBEAT, occurred_at="9999-12-31T23:59:59-01:00"),
    "before the year 1, by its zone": line(HEARTBEAT, occurred_at="0001-01-01T00:00:00+18:00"),
    "the year 0": line(HEARTBEAT, occurred_at="0000-02-29T00:00:00Z"),
    "the last moment that is allowed": undated(occurred_at=LAST),
    "corrected to the year 12022": corrected(LAST, sent=FIRST),
    "corrected to before the year 1": corrected(FIRST, sent=LAST),
    "an event by a clock that stands at the first day": corrected(FIRST),
    "an event by a clock that stands at the last day": corrected("9998-12-31T23:59:59.999999999-18:00"),
    "received at the last moment that is allowed": line(sent_at=LEAVE_OUT, received_at=LAST),
    "sent before the year 1": line(sent_at="0001-01-01T00:00:00+01:00"),
    "as deep as Python reads on a good day": nested(985),
    "a bracket 3,000,000 times": "[" * 3_000_000,
    "empty arrays, 300,000 of them": brackets(f"[{','.join(['[]'] * 300_000)}]"),
    "brackets behind 200,000 escaped quotes": line(extra='"' * 200_000 + "[{" * 200),
    "a number beyond every exponent": with_number("1e999999999"),
    "no UTF-8 and no end": b"\xff" * 300,
}
"""Each of these is a micro-batch of its own."""

YEARS = ("0000", "0001", "0999", "1582", "1899", "1970", "2000", "2024", "2025", "2026", "2099", "9998", "9999")
DAYS = ("01-01", "02-28", "02-29", "02-30", "03-01", "10-10", "12-31", "13-01", "00-10")
HOURS = ("00:00:00", "10:00:03", "23:59:59", "23:59:60", "24:00:00", "12:60:00", "1:02:03")
FRACTIONS = ("", "", ".1", ".120", ".999999", ".999999999", ".9999999999", ".", ",5")
ZONES = (
    "Z",
    "Z",
    "z",
    "",
    "+00:00",
    "-00:00",
    "+01:00",
    "-01:00",
    "+05:45",
    "+14:00",
    "+18:00",
    "-18:00",
    "+18:01",
    "+23:59",
)
MORE_ZONES = ("-23:59", "+24:00", "+10:60", "+0100", "+01", " UTC", "+01:00:30", "[Europe/Berlin]")
VALUES = (
    "NaN", "Infinity", "-Infinity", "-0", "-0.0", "007", "+7", ".5", "5.", "1e5", "1E+999999999", "1e-999999999", "0x10",
    "9" * 999, "9" * 1001, "9" * 4301, "0." + "1" * 2000, "1_000", "true", "True", "nul", "'x'", "{}", "[]", "[1,]", '{"a":1,}',
    '{"a": 1, "a": 2}',
    '{"a": 1, "\\u0061": 2}', '{"": 0}', '{"occurred_at": 5}', '"\\ud800"', '"\\udc00\\ud800"', '"\\ud83e\\udee7"',
    '"\\u0000"', '"\\u2028"', '"\u2028\u2029\u0085"', '"\x7f"', '"\t"', '"\x00"', '"\x1b[31m"',
    '"\ufeff"', '"\\x41"', '"\\', "/* 1 */ 1",
    '"' + "\\" * 50 + '"', '"' + "\\\\" * 20_000 + '"', '"[[{{' + "[" * 300 + '"', '"\\"' + "{" * 300 + '"',
)  # fmt: skip
AROUND = (" ", "\t", "\r", "\x0b", "\x0c", "\xa0", "\ufeff", "\x1e", "\x00", "x", ",", "]", "}", "{}", "//")


def wide(count: int, seed: int = SEED) -> list[bytes]:
    """So many generated lines."""
    chance = random.Random(seed)
    return [made(chance, number).replace(b"\n", b" ") for number in range(count)]


def made(chance: random.Random, number: int) -> bytes:
    """One line, whose flaw is one of several, or none; every tenth has a second one."""
    base = {
        **chance.choice((SOUND, SOUND, OFFER, LEAGUE, HEARTBEAT)),
        "event_id": f"{number if chance.random() < 0.9 else 0}",
    }
    text = chance.choice(FLAWS)(chance, base).encode("utf-8", "surrogatepass")
    return _bitten(chance, text) if chance.random() < 0.1 else text


def _wild_time(chance: random.Random) -> str:
    zone = chance.choice(ZONES + MORE_ZONES) if chance.random() < 0.5 else chance.choice(ZONES)
    day = f"{chance.choice(YEARS)}-{chance.choice(DAYS)}"
    return f"{day}{chance.choice('TTTTTTt ')}{chance.choice(HOURS)}{chance.choice(FRACTIONS)}{zone}"


def _possible_time(chance: random.Random) -> str:
    """One that the landing format allows, in any year that it has."""
    day = f"{chance.randint(1, 9999):04}-{chance.randint(1, 12):02}-{chance.randint(1, 28):02}"
    hour = f"{chance.randint(0, 23):02}:{chance.randint(0, 59):02}:{chance.randint(0, 59):02}"
    zone = chance.choice(
        ("Z", f"{chance.choice('+-')}{chance.randint(0, 17):02}:{chance.choice((0, 15, 30, 45, 59)):02}")
    )
    return f"{day}T{hour}{chance.choice(FRACTIONS[:6])}{zone}"


def _wrong_clock(chance: random.Random, base: dict[str, object]) -> str:
    """Both of its times are off by the same: mostly an event, whatever the year."""
    moment = chance.choice((_possible_time, _possible_time, _wild_time))(chance)
    return line(base, occurred_at=moment, sent_at=moment, received_at=at(chance.uniform(0, 3000)))


def _wrong_times(chance: random.Random, base: dict[str, object]) -> str:
    names = chance.sample(("occurred_at", "sent_at", "received_at"), chance.randint(1, 3))
    return line(base, **{name: _wild_time(chance) for name in names})


def _odd_value(chance: random.Random, base: dict[str, object]) -> str:
    name = chance.choice(("extra", "extra", "bubbles", "player_id", "event_id", "occurred_at", "Occurred_At"))
    return line(base, **{name: "@"}).replace('"@"', chance.choice(VALUES))


def _odd_name(chance: random.Random, base: dict[str, object]) -> str:
    name = chance.choice(("occurred_at", "event_id", "kind"))
    other = chance.choice(
        (name.upper(), name.replace("_", "\\u005f"), f"{name} ", f"\\u0000{name}", f'{name}": 1, "{name}')
    )
    return line(base).replace(f'"{name}"', f'"{other}"')


def _deep(chance: random.Random, base: dict[str, object]) -> str:
    levels = chance.choice((1, 50, 98, 99, 100, 101, 102, 500, 950, 985, 999, 1001, 3000))
    opening, closing = chance.choice((("[", "]"), ('{"[": ', "}"), ('[{"]}": ', "}]")))
    text = opening * levels + chance.choice(("1", '"]"', '"\\"["')) + closing * (levels - chance.choice((0, 0, 0, 1)))
    return line(base, extra="@").replace('"@"', text)


def _surrounded(chance: random.Random, base: dict[str, object]) -> str:
    return f"{chance.choice((*AROUND, ''))}{line(base)}{chance.choice((*AROUND, ''))}"


def _other_letters(_: random.Random, base: dict[str, object]) -> str:
    return json.dumps({**base, "player_id": "🫧 Zoë\u2028"}, ensure_ascii=False)


FLAWS: tuple[Callable[[random.Random, dict[str, object]], str], ...] = (
    _wrong_clock, _wrong_clock, _wrong_times, _odd_value, _odd_value, _odd_name, _deep, _surrounded, _other_letters,
)  # fmt: skip


def _bitten(chance: random.Random, text: bytes) -> bytes:
    """The line with a byte more, less or other, or without its end."""
    place = chance.randrange(len(text))
    byte = bytes([chance.randrange(256)])
    return chance.choice(
        (
            text[:place] + byte + text[place:],
            text[:place] + text[place + 1 :],
            text[:place],
            text[:place] + byte + text[place + 1 :],
        )
    )
