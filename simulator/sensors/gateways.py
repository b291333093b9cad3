"""The gateways that sensors report to: each is offline at times and keeps what it gets; the clocks of some drift.

A gateway sets its clock when it is online again and has delivered what it kept. Until the next time the clock of a drifting
one goes wrong more and more, past the 30 s from which a reader corrects it.
"""

import random
from collections.abc import Sequence

MINUTE = 60_000
HOUR = 60 * MINUTE
SHORTEST, LONGEST = 6 * MINUTE, 150 * MINUTE
LONGEST_PAUSE = 14 * HOUR
EMPTIES_WITHIN = 5_000
"""What was kept is delivered within so many milliseconds."""
DRIFTING = 0.2
DRIFTS = (0.0003, 0.0015, 0.006, 0.02)
"""How much a clock that drifts goes wrong, of the time that passes: in an hour a second, or more than one minute."""


class Gateway:
    """One gateway. It has run for a day before the start, so it may be offline by then."""

    def __init__(self, rng: random.Random, *, start: int, drift: float) -> None:
        self._rng = rng
        self.drift = drift
        self._set = self._begin = self._end = start - 24 * HOUR

    def sends(self, at: int) -> int:
        """When it sends what happened `at` that moment. Moments must not run backwards."""
        while at >= self._end:
            self._next_stretch()
        if at < self._begin:
            return at + 5 + int(self._rng.random() * 400)
        return self._end + int(self._rng.random() * EMPTIES_WITHIN)

    def error(self, at: int) -> int:
        """How much its clock is wrong, of a moment not before those that it was asked about."""
        return int(self.drift * (at - self._set))

    def _next_stretch(self) -> None:
        self._set = self._end
        self._begin = self._end + int(self._rng.random() * LONGEST_PAUSE)
        length = self._rng.random() * self._rng.random()  # short ones are more common
        self._end = self._begin + SHORTEST + int(length * (LONGEST - SHORTEST))


def gateways(rng: random.Random, *, count: int, start: int) -> Sequence[Gateway]:
    """So many gateways; a fifth of them, and at least one, have a clock that drifts: slow and fast in turn."""
    drifting = rng.sample(range(count), max(1, round(count * DRIFTING)))
    drifts = dict.fromkeys(range(count), 0.0)
    for turn, gateway in enumerate(drifting):
        drifts[gateway] = DRIFTS[-1 - turn // 2 % len(DRIFTS)] * (1 if turn % 2 else -1)
    return [Gateway(rng, start=start, drift=drift) for drift in drifts.values()]
