"""A model of the stream in plain Python: engine, repair and view over random logs that are cut at random.

It knows nothing of Spark and shares no code with the product. Times are whole numbers, windows are ten long.
"""

import random
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass

SIZE = 10
GOAL = 5
"""A window's sum is present from here on: late corrections can make it vanish."""


@dataclass(frozen=True)
class Event:
    version: int
    time: int
    bubbles: int
    high_water: int

    @property
    def window(self) -> int:
        return self.time // SIZE


@dataclass(frozen=True)
class Revision:
    """One row of the changelog."""

    window: int
    total: int
    cause: str
    version: int

    @property
    def deleted(self) -> bool:
        return self.total < GOAL


Precedence = Callable[[int, Revision], tuple[object, ...]]


def repairs_outrank(_place: int, row: Revision) -> tuple[object, ...]:
    return (row.cause == "late", row.version)


def newest_wins(place: int, _row: Revision) -> tuple[object, ...]:
    return (place,)


class Interleaving:
    """A random log with a random cut into micro-batches, and the changelog that the stream makes of it."""

    def __init__(self, seed: int) -> None:
        rng = random.Random(seed)
        self.allowed = rng.choice([5, 10, 20])
        self.events = list(self._log(rng))
        self.last = self.events[-1].version
        self.boundaries: list[int] = []
        self.changelog: list[Revision] = []
        self._stream(rng)

    def _log(self, rng: random.Random) -> Iterator[Event]:
        now = high_water = 0
        for version in range(rng.randint(4, 8)):
            for _ in range(rng.randint(1, 6)):
                now += rng.randint(0, 6)
                time = max(0, now - rng.choice([0, 0, 0, 5, 10, 20, 40]))
                high_water = max(high_water, time)
                yield Event(version, time, rng.choice([-3, 1, 2, 4]), high_water)

    def late(self, event: Event) -> bool:
        return self.settled(event.window, event.high_water)

    def settled(self, window: int, high_water: int) -> bool:
        return (window + 1) * SIZE <= high_water - self.allowed

    def high_water(self, version: int) -> int:
        return max(event.high_water for event in self.events if event.version <= version)

    def batch(self, version: int) -> dict[int, int]:
        """The sums over all rows up to a version."""
        totals: Counter[int] = Counter()
        for event in self.events:
            if event.version <= version:
                totals[event.window] += event.bubbles
        return dict(totals)

    def _stream(self, rng: random.Random) -> None:
        state: Counter[int] = Counter()
        done = -1
        while done < self.last:
            version = min(self.last, done + rng.randint(1, 3))
            arrived = [event for event in self.events if done < event.version <= version]
            on_time = [event for event in arrived if not self.late(event)]
            for event in on_time:
                state[event.window] += event.bubbles
            totals = self.batch(version)
            engine = [Revision(window, state[window], "on_time", version) for window in {e.window for e in on_time}]
            touched = {event.window for event in arrived if self.late(event)}
            repairs = [Revision(window, totals[window], "late", version) for window in touched]
            appended = [*engine, *repairs]
            rng.shuffle(appended)
            self.changelog += appended
            self.boundaries.append(version)
            done = version

    def view(self, version: int, precedence: Precedence = repairs_outrank) -> dict[int, int]:
        """What a reader sees at a version of the log."""
        shown = [(place, row) for place, row in enumerate(self.changelog) if row.version <= version]
        windows = {row.window for _, row in shown}
        winners = [max((each for each in shown if each[1].window == w), key=lambda e: precedence(*e)) for w in windows]
        return {row.window: row.total for _, row in winners if not row.deleted}

    def settled_part(self, answer: dict[int, int], version: int) -> dict[int, int]:
        return {window: total for window, total in answer.items() if self.settled(window, self.high_water(version))}

    def right(self, version: int) -> dict[int, int]:
        """The settled part of what batch says at a version."""
        present = {window: total for window, total in self.batch(version).items() if total >= GOAL}
        return self.settled_part(present, version)
