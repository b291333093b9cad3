"""Lines that are sound and yet at an edge: clocks at the tolerance, one wrong time of the three, other zones and fractions.

They come from a generator of their own, each kind in turn, and only where nothing else is the matter: the phone is above
ground, its clock is right, and the line is delivered once. No line is added, and a strict reader accepts each of them.
"""

import random
from collections.abc import Callable
from datetime import timedelta
from typing import NamedTuple

from simulator.game.rhythm import HOUR, MINUTE
from simulator.lines import EPOCH, timestamp

EVERY = 200
"""One event in so many is told oddly."""
TOLERANCE = 30_000
"""From more than this on, `received_at - sent_at` is taken for the error of a clock."""
ELSEWHERE = 0.2
"""The share of copies that write the same moment in another zone."""


class Said(NamedTuple):
    """The three times of a line in milliseconds, and how the phone writes its two: minutes from UTC, digits of a second."""

    occurred: int
    sent: int
    received: int
    zone: int = 0
    digits: int = 3

    @property
    def is_skewed(self) -> bool:
        """Whether a reader takes the phone's clock for wrong."""
        return abs(self.received - self.sent) > TOLERANCE

    @property
    def delay(self) -> int:
        """From the event to its reception, as a reader understands the times."""
        return (self.sent if self.is_skewed else self.received) - self.occurred

    @property
    def fields(self) -> dict[str, str | int]:
        """As the line has them. The server writes UTC with milliseconds, whatever the phone does."""
        own = {
            name: written(at, self.zone, self.digits)
            for name, at in zip(PHONE, (self.occurred, self.sent), strict=True)
        }
        return {**own, "received_at": timestamp(self.received)}


PHONE = ("occurred_at", "sent_at")
Oddity = Callable[[random.Random, Said], Said]


def written(at: int, zone: int, digits: int) -> str:
    """ISO 8601 in a zone, with so many digits of a second: fewer cut the time off, more are of a clock that has finer ones."""
    second, rest = divmod(at, 1000)
    local = (EPOCH + timedelta(seconds=second, minutes=zone)).isoformat()[:19]
    fraction = f".{f'{rest:03d}999999'[:digits]}" if digits else ""
    sign, minutes = "-" if zone < 0 else "+", abs(zone)
    return f"{local}{fraction}{f'{sign}{minutes // 60:02d}:{minutes % 60:02d}' if zone else 'Z'}"


def apart(by: int) -> Oddity:
    """The phone's clock is wrong by so much that reception lies exactly `by` behind what it says of sending."""

    def told(_rng: random.Random, said: Said) -> Said:
        error = said.received - said.sent - by
        return said._replace(occurred=said.occurred + error, sent=said.sent + error)

    return told


def happened_long_ago(rng: random.Random, said: Said) -> Said:
    """The clock was wrong when it happened, and set before it was sent."""
    return said._replace(occurred=said.occurred - rng.randint(HOUR, 3 * HOUR))


def sent_tomorrow(rng: random.Random, said: Said) -> Said:
    """The clock was right when it happened, and wrong when it was sent."""
    return said._replace(sent=said.sent + rng.randint(HOUR, 3 * HOUR))


def received_ahead(rng: random.Random, said: Said) -> Said:
    """One server of many is fast: not by much, or all others would seem late."""
    return said._replace(received=said.received + rng.randint(TOLERANCE + 1, MINUTE))


def received_behind(rng: random.Random, said: Said) -> Said:
    return said._replace(received=said.received - rng.randint(HOUR, 3 * HOUR))


def written_as(zone: int, digits: int) -> Oddity:
    return lambda _rng, said: said._replace(zone=zone, digits=digits)


ODDITIES: tuple[Oddity, ...] = (
    *(apart(sign * (TOLERANCE + by)) for sign in (1, -1) for by in (-1, 0, 1)),
    happened_long_ago,
    sent_tomorrow,
    received_ahead,
    received_behind,
    *(written_as(zone, digits) for zone, digits in ((120, 3), (-570, 3), (345, 6), (0, 6), (0, 9), (0, 1), (-210, 0))),
)


class Oddities:
    """Which events are told oddly is drawn before the first of them; the next one of which nothing else is the matter is."""

    def __init__(self, rng: random.Random, *, events: int) -> None:
        self._rng = rng
        self._turns = frozenset(rng.sample(range(events), -(-events // EVERY)))
        self._owed = 0
        self._bag: list[Oddity] = []

    def told(self, turn: int, said: Said, *, plain: bool) -> Said | None:
        """How the times of this turn are told, if oddly."""
        self._owed += turn in self._turns
        if not (self._owed and plain):
            return None
        self._owed -= 1
        if not self._bag:
            self._bag = self._rng.sample(ODDITIES, len(ODDITIES))
        odd = self._bag.pop()(self._rng, said)
        # A clock without the last digits says a time that is earlier.
        step = 10 ** max(3 - odd.digits, 0)
        return odd._replace(occurred=odd.occurred - odd.occurred % step, sent=odd.sent - odd.sent % step)

    def elsewhere(self, occurred: int) -> str | None:
        """The same moment as a copy writes it that comes by way of another zone, if it does."""
        return written(occurred, 60, 3) if self._rng.random() < ELSEWHERE else None

    def wait(self) -> int:
        """How long a phone takes to send what happened at the same instant as something else."""
        return self._rng.randrange(1_000)

    def overtakes(self) -> bool:
        """Whether the first copy of a retried event is quicker than the event: of every fifth."""
        return self._rng.random() < 0.2

    def slow_crossing(self) -> int:
        """Longer than the quickest retry and its crossing take, and still no wrong clock."""
        return self._rng.randint(20_000, 28_000)

    def crossing_again(self, first: int, *, slowest: int) -> int:
        """How long a copy takes of which the first delivery took so long: hardly ever as long again."""
        return (first + self._rng.randint(30, slowest)) % slowest + 30
