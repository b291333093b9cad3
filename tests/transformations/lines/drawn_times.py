"""Lines drawn for their times: most are events, at the edges of calendar and tolerances; in others a part of a time is wrong."""

import json
import random
from collections.abc import Callable
from datetime import UTC, datetime, timedelta

from transformations.clock import Clock
from transformations.durations import milliseconds, to_millis

CLOCK = Clock()
INGESTED = to_millis(datetime(2026, 3, 1, 11, tzinfo=UTC))
DEVICE, FUTURE = milliseconds(CLOCK.device_tolerance), milliseconds(CLOCK.future_tolerance)
MINUTE, HOUR, DAY = 60_000, 3_600_000, 86_400_000
EDGE = (-2, -1, 0, 0, 1, 2)
LEAP_DAYS = [to_millis(datetime(year, 3, 1, tzinfo=UTC)) for year in (2000, 2001, 2004, 2023, 2024, 2025, 2026)]
FAR_LEAP_DAYS = [
    to_millis(datetime(y, 3, 1, tzinfo=UTC)) for y in (4, 100, 400, 1582, 1900, 1970, 2100, 2400, 9900, 9996)
]
FIRST, LAST = (to_millis(datetime(year, 1, 1, tzinfo=UTC)) for year in (2, 9999))
ZONES = (0, 1, -1, 60, -60, 330, -345, 14 * 60, 17 * 60 + 59, -(17 * 60 + 59), 18 * 60, -18 * 60)
Times = dict[str, int | None]


def drawn_times(chance: random.Random, count: int) -> list[bytes]:
    return [_line(chance, number) for number in range(count)]


def _line(chance: random.Random, number: int) -> bytes:
    times = chance.choice(TIMES)(chance)
    texts = {name: _text(chance, moment) for name, moment in times.items() if moment is not None}
    if chance.random() < 0.3:
        name = chance.choice(list(texts))
        texts[name] = chance.choice(FLAWS)(chance, texts[name])
    return json.dumps({"event_id": f"{number}", "kind": "heartbeat", **texts}, ensure_ascii=False).encode()


def _plain(chance: random.Random) -> Times:
    floor = CLOCK.floor_millis
    days = [leap_day + chance.choice((-DAY, 0, DAY)) for leap_day in LEAP_DAYS]
    moment = chance.choice((chance.randint(floor, INGESTED), chance.choice(days), floor, INGESTED + FUTURE))
    return {"occurred_at": moment + chance.choice(EDGE)}


def _delayed(chance: random.Random) -> Times:
    """The error of the clock is at its tolerance, or ordinary."""
    occurred = INGESTED - chance.randint(HOUR, 10 * DAY)
    sent = occurred + chance.randint(0, MINUTE)
    error = chance.choice((DEVICE, -DEVICE, chance.randint(-DEVICE, DEVICE))) + chance.choice(EDGE)
    return {"occurred_at": occurred, "sent_at": sent, "received_at": sent + error}


def _wrong_clock(chance: random.Random) -> Times:
    """By any number of years: an event in any case, if the line says when it was sent."""
    far = (
        chance.randint(FIRST, LAST),
        chance.choice(FAR_LEAP_DAYS),
        FIRST - 18 * HOUR,
        LAST + 18 * HOUR - 1,
        FIRST,
        LAST,
    )
    occurred = _within(chance.choice(far) + chance.choice((-DAY, 0, 0, DAY)) + chance.choice(EDGE))
    sent = _within(occurred + chance.choice((0, 0, 1, MINUTE)))
    return {"occurred_at": occurred, "sent_at": sent, "received_at": INGESTED - chance.randint(0, HOUR)}


def _beyond_the_years(chance: random.Random) -> Times:
    """As by a wrong clock, but in a year that no time may have."""
    occurred = chance.choice((FIRST - 1, LAST)) + chance.choice((-300, -10, 0, 0, 10, 300)) * DAY + chance.choice(EDGE)
    occurred = min(max(occurred, FIRST - 364 * DAY), LAST + 364 * DAY)
    return {"occurred_at": occurred, "sent_at": occurred, "received_at": INGESTED}


def _never(chance: random.Random) -> Times:
    """No time of the event; with those of sending and receiving a missing one, taken for 1970, would be plausible."""
    return {"occurred_at": None, "sent_at": chance.randint(0, HOUR), "received_at": INGESTED}


def _received_ahead(chance: random.Random) -> Times:
    """Received at the tolerance after the clock of ingestion, and occurred at it as well."""
    received = INGESTED + chance.choice((FUTURE, 0, MINUTE)) + chance.choice(EDGE)
    return {"occurred_at": INGESTED + chance.choice((FUTURE, 0)) + chance.choice(EDGE), "received_at": received}


def _occurred_ahead(chance: random.Random) -> Times:
    """Occurred at the tolerance after it was received, as the line says or once its clock is corrected."""
    received = INGESTED - chance.randint(-MINUTE, DAY)
    event_time = min(received, INGESTED) + FUTURE + chance.choice(EDGE)
    if chance.random() < 0.5:
        return {"occurred_at": event_time, "received_at": received}
    wrong = chance.choice((-1, 1)) * chance.randint(DEVICE + 1, 10 * DAY)
    return {"occurred_at": event_time - wrong, "sent_at": received - wrong, "received_at": received}


def _at_the_floor(chance: random.Random) -> Times:
    wrong = chance.choice((-1, 1)) * chance.randint(DEVICE + 1, 10 * DAY)
    received = CLOCK.floor_millis + chance.randint(0, HOUR)
    event_time = CLOCK.floor_millis + chance.choice(EDGE)
    return {"occurred_at": event_time - wrong, "sent_at": received - wrong, "received_at": received}


TIMES: tuple[Callable[[random.Random], Times], ...] = (
    _plain, _plain, _delayed, _delayed, _wrong_clock, _wrong_clock, _wrong_clock, _received_ahead, _occurred_ahead, _at_the_floor,
    _beyond_the_years, _never,
)  # fmt: skip


def _within(moment: int) -> int:
    """A moment that some zone can write in the years 2 to 9998."""
    return min(max(moment, FIRST - 18 * HOUR), LAST + 18 * HOUR - 1)


def _text(chance: random.Random, moment: int) -> str:
    """The moment as one of the texts that mean it: mostly the usual one, else in any zone, with any digits that are cut off."""
    usual = chance.random() < 0.4
    fits = [zone for zone in ZONES if FIRST <= moment + zone * MINUTE < LAST]
    zone = 0 if usual or not fits or chance.random() < 0.05 else chance.choice(fits)
    local = datetime(1970, 1, 1) + timedelta(milliseconds=moment + zone * MINUTE)  # noqa: DTZ001
    day = local.isoformat(timespec="seconds")
    fraction = f"{local.microsecond // 1000:03}"
    if not usual:
        more = "".join(chance.choices("09", k=chance.randint(0, 6)))
        fraction = (fraction.rstrip("0") if not more and chance.random() < 0.5 else fraction + more)[:9]
    written = "Z" if usual or (zone == 0 and chance.random() < 0.5) else _zone(zone, chance)
    return f"{day}{'.' if fraction else ''}{fraction}{written}"


def _zone(minutes: int, chance: random.Random) -> str:
    sign = "-" if minutes < 0 or (minutes == 0 and chance.random() < 0.5) else "+"
    return f"{sign}{abs(minutes) // 60:02}:{abs(minutes) % 60:02}"


def _part(place: slice, *others: str) -> Callable[[random.Random, str], str]:
    """Another part at this place of a time."""

    def replaced(chance: random.Random, text: str) -> str:
        return text[: place.start] + chance.choice(others) + text[place.stop :]

    return replaced


def _other_end(chance: random.Random, text: str) -> str:
    return text[:19] + chance.choice(ENDS)


def _any_sign(chance: random.Random, text: str) -> str:
    place = chance.randrange(len(text))
    return text[:place] + chance.choice(("", *"0123456789TZtz:.+- ,/٢\n")) + text[place + chance.choice((0, 1)) :]


ENDS = (
    "", "Z", "z", ".Z", ".1Z", ".123456789Z", ".1234567890Z", ",5Z", ".1", " Z", "Z ", "Z\n", "ZZ", ".5z", "+00", "+0000",
    "+00:0", "+18:00", "-18:00", "+18:01", "-18:01", "+18:59", "+17:59", "+17:60", "-17:60", "+19:00", "-19:00", "+24:00",
    "+99:99", "+1:00", "+01:00:00", "[Europe/Berlin]", "UTC", "Z[UTC]", " +01:00", "\u221201:00",
)  # fmt: skip
FLAWS: tuple[Callable[[random.Random, str], str], ...] = (
    _part(slice(0, 4), "0000", "0001", "0002", "1900", "2000", "2023", "2024", "9998", "9999", "12026", "026", "-202"),
    _part(slice(5, 7), "00", "01", "02", "02", "06", "12", "13", "2"),
    _part(slice(8, 10), "00", "01", "28", "29", "30", "31", "32", "9"),
    _part(slice(5, 10), "02-29", "02-30", "04-31", "12-31", "12-32", "00-00"),
    _part(slice(10, 11), "t", " ", "", "_"),
    _part(slice(11, 13), "00", "23", "24", "7"),
    _part(slice(14, 16), "59", "60", "7"),
    _part(slice(17, 19), "59", "60", "61", "7"),
    _part(slice(16, 19), "", ":"),
    _other_end,
    _other_end,
    _any_sign,
)  # fmt: skip
