"""The game as it goes on: the same players, phones and mishaps as a simulated day, at a steady rate, without an end.

    parity live

First the last hour lands in one go, then what arrives, every half second. The clock and the way to wait are arguments:
nobody here asks what time it is, so the same seed and the same clock give the same files.
"""

import random
from collections import Counter
from collections.abc import Callable, Iterator
from datetime import datetime, timedelta
from pathlib import Path

from simulator.coincidences import Coincidences
from simulator.delivered import Delivered
from simulator.game import arrivals, generator
from simulator.happening import Happening
from simulator.landing import land, refuse_landed
from simulator.lines import milliseconds
from simulator.network import Delivery, Network
from simulator.phones import Phone
from simulator.phones import phones as hand_out_phones
from simulator.play import Play
from simulator.rhythm import MINUTE
from simulator.roster import TEAMS, Roster
from simulator.tempo import steady

LEAST_PLAYERS = 200
CARRIED = 20_000
"""After so many events the network draws anew which of them are retried, contradicted or followed by a broken line."""

Clock = Callable[[], datetime]
Wait = Callable[[float], bool]
"""Waits so many seconds; says whether to stop, as `threading.Event.wait` does."""


def feed(
    landing: Path,
    *,
    rate: float,
    clock: Clock,
    wait: Wait,
    back: timedelta = timedelta(minutes=60),
    every: timedelta = timedelta(milliseconds=500),
    seed: int = 7,
    players: int | None = None,
) -> Delivered:
    """Let `rate` events a second land in an empty directory until `wait` says stop.

    By default there are as many players as events a second, and at least 200: a phone that comes out of the subway then
    delivers no more than the others send meanwhile.
    """
    _check(rate=rate, back=back, every=every, players=players)
    refuse_landed(landing)
    begun = clock()
    game = Game(seed=seed, rate=rate, players=players or max(LEAST_PLAYERS, round(rate)), start=begun - back)
    files = lines = 0
    counts: Counter[str] = Counter()

    def let_land(until: datetime) -> None:
        nonlocal files, lines
        arrived = game.arrived(until)
        if arrived:
            land(landing / f"{files:09d}.jsonl", [delivery.line for delivery in arrived], modified=until)
            files, lines = files + 1, lines + len(arrived)
            counts.update(count for delivery in arrived for count in delivery.counts)

    for end in _minutes(begun - back, begun):
        let_land(end)
    due = begun + every
    while not wait(max((due - clock()).total_seconds(), 0.0)):
        now = clock()
        let_land(now)
        due += every
        if due < now:  # the machine slept, or is too slow: what was missed has landed in one file
            due = now + every
    return Delivered.of(counts, files=files, lines=lines)


class Game:
    """A game that goes on from `start`; asked as time goes on for what has arrived since it was asked last."""

    def __init__(self, *, seed: int, rate: float, players: int, start: datetime) -> None:
        begin = milliseconds(start)
        roster = Roster(generator(seed, "roster"), players=players)
        play = Play(generator(seed, "play"), roster, Coincidences(generator(seed, "coincidences"), roster.teams))
        phones = hand_out_phones(generator(seed, "phones"), players=players, start=begin)
        network = _Networks(generator(seed, "network"), generator(seed, "oddities"), phones)
        shares = [TEAMS[team] for team in roster.teams]
        slots = steady(generator(seed, "tempo"), start=begin, rate=rate, shares=shares)
        self._deliveries = arrivals(map(play.happening, slots), network.carry)
        self._next = next(self._deliveries)

    def arrived(self, until: datetime) -> list[Delivery]:
        """What has arrived since the last call and before `until`, in the order of arrival."""
        end = milliseconds(until)
        found = []
        while self._next.arrives < end:
            found.append(self._next)
            self._next = next(self._deliveries)
        return found


class _Networks:
    """One network after another: each knows beforehand how many events it carries."""

    def __init__(self, rng: random.Random, odd: random.Random, phones: list[Phone]) -> None:
        self._rng = rng
        self._odd = odd
        self._phones = phones
        self._left = 0

    def carry(self, happening: Happening) -> Iterator[Delivery]:
        if not self._left:
            self._network = Network(self._rng, self._odd, self._phones, events=CARRIED)
            self._left = CARRIED
        self._left -= happening.player is not None
        return self._network.carry(happening)


def _minutes(start: datetime, end: datetime) -> Iterator[datetime]:
    """The ends of the minutes of [start, end), the last of which may be shorter."""
    while start < end:
        start = min(start + timedelta(milliseconds=MINUTE), end)
        yield start


def _check(*, rate: float, back: timedelta, every: timedelta, players: int | None) -> None:
    if rate <= 0:
        raise ValueError(f"rate must be more than 0 events a second, not {rate}")
    if back < timedelta(0):
        raise ValueError(f"back must not be negative, it is {back}")
    if every <= timedelta(0):
        raise ValueError(f"every must be more than nothing, not {every}")
    if players is not None and players < 1:
        raise ValueError(f"players must be at least 1, not {players}")
