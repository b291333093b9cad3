"""The game as it goes on: the same players, phones and mishaps as a simulated day, at a steady rate, without an end.

    parity live

The same seed and the same clock give the same files.
"""

import random
from collections.abc import Iterator
from datetime import datetime, timedelta
from pathlib import Path

from simulator.arrivals import Delivery, arrivals, generator
from simulator.delivered import Delivered
from simulator.feed import EVERY, Arrived, Clock, Wait, fed
from simulator.game.coincidences import Coincidences
from simulator.game.happening import Happening
from simulator.game.network import Network
from simulator.game.phones import Phone
from simulator.game.phones import phones as hand_out_phones
from simulator.game.play import Play
from simulator.game.roster import TEAMS, Roster
from simulator.game.tempo import steady
from simulator.lines import milliseconds

LEAST_PLAYERS = 200
CARRIED = 20_000
"""After so many events the network draws anew which of them are retried, contradicted or followed by a broken line."""


def feed(
    landing: Path,
    *,
    rate: float,
    clock: Clock,
    wait: Wait,
    back: timedelta = timedelta(minutes=60),
    every: timedelta = EVERY,
    seed: int = 7,
    senders: int | None = None,
) -> Delivered:
    """Let `rate` events a second land in an empty directory until `wait` says stop.

    By default there are as many players as events a second, and at least 200: a phone that comes out of the subway then
    delivers no more than the others send meanwhile.
    """
    if rate <= 0:
        raise ValueError(f"rate must be more than 0 events a second, not {rate}")
    if senders is not None and senders < 1:
        raise ValueError(f"senders must be at least 1, not {senders}")

    def begin(start: datetime) -> Arrived:
        return Game(seed=seed, rate=rate, players=senders or max(LEAST_PLAYERS, round(rate)), start=start).arrived

    return fed(landing, begin, clock=clock, wait=wait, back=back, every=every)


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
