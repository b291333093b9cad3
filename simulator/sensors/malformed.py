"""Lines that nobody should accept: each way to break one takes a sound reading and returns what arrives."""

import random
from collections.abc import Callable

from simulator.lines import as_line
from simulator.sensors.happening import Record

Breakage = Callable[[random.Random, Record], str]


def of_no_sensor(rng: random.Random, reading: Record) -> str:
    """Measured, but nobody knows by which sensor."""
    if rng.random() < 0.5:
        return as_line(reading | {"sensor_id": None})
    return as_line({field: value for field, value in reading.items() if field != "sensor_id"})


def truncated(rng: random.Random, reading: Record) -> str:
    line = as_line(reading)
    return line[: rng.randint(1, len(line) - 1)]


def two_in_a_line(_rng: random.Random, reading: Record) -> str:
    return f"{as_line(reading)} {as_line(reading)}"


def no_number(rng: random.Random, reading: Record) -> str:
    """What a broken sensor says: JSON has no NaN."""
    return as_line(reading).replace(
        f'"temperature": {reading["temperature"]}', f'"temperature": {rng.choice(["NaN", "-"])}'
    )


def a_text(rng: random.Random, reading: Record) -> str:
    return as_line(reading | {"temperature": rng.choice(["21.5", "21,5", "ERR"])})


def too_fine(_rng: random.Random, reading: Record) -> str:
    """A raw value, with more digits than anybody has measured."""
    return as_line(reading | {"temperature": 21.503})


def too_great(_rng: random.Random, reading: Record) -> str:
    return as_line(reading | {"temperature": 10**17})


def unknown_kind(rng: random.Random, reading: Record) -> str:
    return as_line(reading | {"kind": rng.choice(["humidity_read", "temperature", ""])})


def no_zone(_rng: random.Random, reading: Record) -> str:
    return as_line(reading | {"occurred_at": str(reading["occurred_at"]).removesuffix("Z")})


def from_the_future(_rng: random.Random, reading: Record) -> str:
    """A clock that was set wrong. Without `sent_at` nobody can tell by how much."""
    return _in_year("2099", reading)


def from_1970(_rng: random.Random, reading: Record) -> str:
    """A gateway that has just got its power back."""
    return _in_year("1970", reading)


def empty(_rng: random.Random, _reading: Record) -> str:
    return ""


def _in_year(year: str, reading: Record) -> str:
    moved = reading | {"occurred_at": f"{year}-01-01" + str(reading["occurred_at"])[10:]}
    return as_line({field: value for field, value in moved.items() if field != "sent_at"})


BREAKAGES: tuple[Breakage, ...] = (
    truncated, two_in_a_line, no_number, a_text, too_fine, too_great, unknown_kind, no_zone, from_the_future, from_1970, empty,
)  # fmt: skip


class Breaker:
    """Breaks lines in every way in turn, in a new order each time: no way is left to luck."""

    def __init__(self, rng: random.Random) -> None:
        self._rng = rng
        self._bag: list[Breakage] = []

    def broken(self, reading: Record) -> tuple[str, bool]:
        """The broken line, and whether it is one from the future."""
        if not self._bag:
            self._bag = self._rng.sample(BREAKAGES, len(BREAKAGES))
        breakage = self._bag.pop()
        return breakage(self._rng, reading), breakage is from_the_future
