"""Lines that nobody should accept: each way to break one takes a sound pop and returns what arrives."""

import random
from collections.abc import Callable

from simulator.lines import Record, as_line

Breakage = Callable[[random.Random, Record], str]


def not_json(rng: random.Random, pop: Record) -> str:
    """A page of a proxy, an object in Python's notation, or two objects that share a line."""
    line = as_line(pop)
    return rng.choice(["<html><h1>502 Bad Gateway</h1></html>", str(pop), f"{line} {line}"])


def truncated(rng: random.Random, pop: Record) -> str:
    line = as_line(pop)
    return line[: rng.randint(1, len(line) - 1)]


def missing_field(rng: random.Random, pop: Record) -> str:
    missing = rng.choice(["event_id", "kind", "player_id", "team_id", "bubbles", "occurred_at"])
    return as_line({field: value for field, value in pop.items() if field != missing})


def wrong_type(rng: random.Random, pop: Record) -> str:
    field, value = rng.choice([("bubbles", "seven"), ("bubbles", "7"), ("bubbles", True), ("player_id", 42)])
    return as_line(pop | {field: value})


def half_a_bubble(_rng: random.Random, pop: Record) -> str:
    return as_line(pop | {"bubbles": 1.5})


def beyond_32_bits(rng: random.Random, pop: Record) -> str:
    return as_line(pop | {"bubbles": rng.choice([2**31, -(2**31) - 1, 10**12])})


def unknown_kind(rng: random.Random, pop: Record) -> str:
    return as_line(pop | {"kind": rng.choice(["bubbles_poped", "raid_started", ""])})


def no_zone(_rng: random.Random, pop: Record) -> str:
    return as_line(pop | {"occurred_at": str(pop["occurred_at"]).removesuffix("Z")})


def from_the_future(_rng: random.Random, pop: Record) -> str:
    """A phone that lives in 2099. Without `sent_at` nobody can tell by how much its clock is wrong."""
    return _in_year("2099", pop)


def from_before_2000(_rng: random.Random, pop: Record) -> str:
    """A phone that lost its clock, again without `sent_at`: with it the time could be corrected."""
    return _in_year("1970", pop)


def empty(_rng: random.Random, _pop: Record) -> str:
    return ""


def _in_year(year: str, pop: Record) -> str:
    moved = pop | {"occurred_at": f"{year}-01-01" + str(pop["occurred_at"])[10:]}
    return as_line({field: value for field, value in moved.items() if field != "sent_at"})


BREAKAGES: tuple[Breakage, ...] = (
    not_json,
    truncated,
    missing_field,
    wrong_type,
    half_a_bubble,
    beyond_32_bits,
    unknown_kind,
    no_zone,
    from_the_future,
    from_before_2000,
    empty,
)


class Breaker:
    """Breaks lines in every way in turn, in a new order each time: no way is left to luck."""

    def __init__(self, rng: random.Random) -> None:
        self._rng = rng
        self._bag: list[Breakage] = []

    def broken(self, pop: Record) -> tuple[str, bool]:
        """The broken line, and whether it is one from the future."""
        if not self._bag:
            self._bag = self._rng.sample(BREAKAGES, len(BREAKAGES))
        breakage = self._bag.pop()
        return breakage(self._rng, pop), breakage is from_the_future
