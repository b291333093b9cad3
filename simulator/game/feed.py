"""The game as it goes on: the same players, phones and mishaps as a simulated day, at a steady rate, without an end.

    parity live

The same seed and the same clock give the same files.
"""

import random
from collections.abc import Iterator
from datetime import datetime, timedelta
from pathlib import Path

from simulator.arrivals import Delivery, GoesOn, arrivals, generator
from simulator.delivered import Delivered
from simulator.feed import EVERY, Arrived, Clock, Wait, fed, refuse_pace
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
    refuse_pace(rate, senders)

    def begin(start: datetime) -> Arrived:
        return Game(seed=seed, rate=rate, players=senders or max(LEAST_PLAYERS, round(rate)), start=start).arrived

    return fed(landing, begin, clock=clock, wait=wait, back=back, every=every)


class Game(GoesOn):
    """A game that goes on from `start`."""

    def __init__(self, *, seed: int, rate: float, players: int, start: datetime) -> None:
        begin = milliseconds(start)
        roster = Roster(generator(seed, "roster"), players=players)
        play = Play(generator(seed, "play"), roster, Coincidences(generator(seed, "coincidences"), roster.teams))
        phones = hand_out_phones(generator(seed, "phones"), players=players, start=begin)
        network = _Networks(generator(seed, "network"), generator(seed, "oddities"), phones)
        shares = [TEAMS[team] for team in roster.teams]
        slots = steady(generator(seed, "tempo"), start=begin, rate=rate, shares=shares)
        super().__init__(arrivals(map(play.happening, slots), network.carry))


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
