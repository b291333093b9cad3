"""When something happens in a game that goes on: so many events a second, at any hour of the day.

`rhythm` deals a known number of events to a known day. Here there is no last event, and only the second that is being
played is held in memory.
"""

import random
from collections.abc import Iterator, Sequence
from itertools import count

from simulator.game.rhythm import MATCH_MINUTES, MINUTE, SERVER, Slot

SECOND = 1_000
TEMPO = (1, 2, 3)
"""How hard a team plays in a minute: at 8 events a second some team-minutes come to 500 bubbles and others do not."""
MATCH_TEMPO = 6


def steady(rng: random.Random, *, start: int, rate: float, shares: Sequence[int]) -> Iterator[Slot]:
    """Slots from `start` on in the order of time, `rate` a second and a heartbeat a minute; `shares` are the teams'."""
    teams = range(len(shares))
    given, minute, match, match_ends = 0, -1, 0, -1
    weights: list[int] = []
    for second in count(1):
        begin = start + (second - 1) * SECOND
        if begin // MINUTE != minute:
            minute = begin // MINUTE
            if minute >= match_ends:
                match, match_ends = rng.choice(teams), minute + rng.randint(*MATCH_MINUTES)
            weights = [
                share * (MATCH_TEMPO if team == match else rng.choice(TEMPO)) for team, share in enumerate(shares)
            ]
            yield Slot(begin, SERVER, False)
        upto = int(rate * second)
        playing = rng.choices(teams, weights, k=upto - given)
        given = upto
        yield from sorted(Slot(begin + int(rng.random() * SECOND), team, team == match) for team in playing)
