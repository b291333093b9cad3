"""The players' phones: some have a wrong clock, and all of them ride the subway at times and buffer there.

Times are true ones, in milliseconds, unless a name says that the phone's own clock is meant.
"""

import random

from simulator.game.rhythm import HOUR, MINUTE

WRONG_CLOCKS = 0.03
SLOWEST, FASTEST = -2 * HOUR, 3 * HOUR
LEAST_ERROR = 2 * MINUTE
"""Well above the 30 s from which a reader corrects a clock, or the network would decide whether it does."""

SHORTEST_RIDE, LONGEST_RIDE = 5 * MINUTE, 2 * HOUR
LONGEST_PAUSE = 24 * HOUR
"""A ride takes 34 minutes on average and the pause before it 12 hours: 4.5 % of the time is underground."""
BATTERY_DIES = 0.04
"""The share of rides after which the phone stays off for hours before it delivers."""


class Phone:
    """One player's phone. It has ridden for some days before the start, so it may be underground by then."""

    def __init__(self, rng: random.Random, *, start: int, clock_error: int) -> None:
        self._rng = rng
        self.clock_error = clock_error
        self._begin = self._end = self._surface = start - 3 * 24 * HOUR

    def sends(self, at: int) -> int:
        """When the phone sends what happened `at` that moment. Moments must not run backwards."""
        while at >= self._end:
            self._next_ride()
        if at < self._begin:
            return at + 5 + int(self._rng.random() * 1_000)
        return self._surface + int(self._rng.random() * 3_000)

    def sends_besides(self, at: int, wait: int) -> int:
        """When it sends what happened besides, some milliseconds later than at once; nothing is drawn for it."""
        return (self._surface if self._begin <= at < self._end else at + 5) + wait

    def _next_ride(self) -> None:
        self._begin = self._end + int(self._rng.random() * LONGEST_PAUSE)
        length = self._rng.random() * self._rng.random()  # short rides are more common
        self._end = self._begin + SHORTEST_RIDE + int(length * (LONGEST_RIDE - SHORTEST_RIDE))
        self._surface = self._end
        if self._rng.random() < BATTERY_DIES:
            self._surface += self._rng.randint(2 * HOUR, 18 * HOUR)


def phones(rng: random.Random, *, players: int, start: int) -> list[Phone]:
    """A phone for each player; 3 % of them, and at least one, have a wrong clock: slow and fast in turn."""
    wrong = rng.sample(range(players), max(1, round(players * WRONG_CLOCKS)))
    errors = dict.fromkeys(range(players), 0)
    for turn, player in enumerate(wrong):
        fast = turn % 2 == 1
        errors[player] = rng.randint(LEAST_ERROR, FASTEST) if fast else rng.randint(SLOWEST, -LEAST_ERROR)
    return [Phone(rng, start=start, clock_error=error) for error in errors.values()]
