"""When something happens: quiet nights, an evening rush, and matches in which one team plays hard.

Counts and weights are integers, so that no machine's floating point can move an event to another minute.
"""

import random
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import NamedTuple

MINUTE = 60_000
HOUR = 60 * MINUTE

HOURLY = (3, 2, 1, 1, 1, 2, 5, 9, 10, 8, 7, 8, 10, 9, 8, 8, 9, 12, 16, 20, 22, 18, 11, 6)
"""How lively the game is at each full hour of the day (UTC)."""

SERVER = -1
"""Stands in a slot's place of the team where the server itself speaks: a heartbeat."""

MATCHES_PER_HOUR = 2
MATCH_MINUTES = (2, 5)
MATCH_SLOTS = (58, 86)
"""A team's events in one minute of a match: about 500 bubbles, so some minutes level up, others just fail."""


class Slot(NamedTuple):
    """A moment at which something happens to a team, or on the server."""

    at: int
    team: int
    match: bool


@dataclass(frozen=True, kw_only=True)
class Span:
    """The simulated time, [start, start + length), in milliseconds."""

    start: int
    length: int

    @property
    def minutes(self) -> int:
        return -(-self.length // MINUTE)

    def heartbeats(self, events: int) -> int:
        """One in ten minutes, but in a tiny run never more than a twentieth of the events."""
        return min(-(-self.length // (10 * MINUTE)), events // 20)


def liveliness(at: int) -> int:
    """How much is played at a time of day, with a smooth passage from one hour to the next."""
    hour, minute = divmod(at // MINUTE % (24 * 60), 60)
    return HOURLY[hour] * (60 - minute) + HOURLY[(hour + 1) % 24] * minute


def slots(rng: random.Random, span: Span, *, events: int, shares: Sequence[int]) -> Iterator[Slot]:
    """Exactly `events` slots in the order of time; `shares` are the teams' shares of an ordinary minute."""
    beats = span.heartbeats(events)
    beat_times = [span.start + span.length * beat // beats for beat in range(beats)]
    begins = range(span.start, span.start + span.length, MINUTE)
    whole_weight = sum(shares) * sum(map(liveliness, begins))
    matches = _matches(rng, span, events=events, shares=shares, whole_weight=whole_weight)
    ordinary = events - beats - sum(matches.values())
    weight = given = beat = 0
    for minute, begin in enumerate(begins):
        length = min(MINUTE, span.start + span.length - begin)
        now: list[Slot] = []
        while beat < beats and beat_times[beat] < begin + length:
            now.append(Slot(beat_times[beat], SERVER, False))
            beat += 1
        for team, share in enumerate(shares):
            # Each cell gets the difference of two rounded running totals: they add up to the whole exactly.
            weight += liveliness(begin) * share
            upto = weight * ordinary // whole_weight
            now += [Slot(begin + int(rng.random() * length), team, False) for _ in range(upto - given)]
            given = upto
            extra = matches.get((minute, team), 0)
            now += [Slot(begin + int(rng.random() * length), team, True) for _ in range(extra)]
        now.sort()
        yield from now


def _matches(
    rng: random.Random, span: Span, *, events: int, shares: Sequence[int], whole_weight: int
) -> dict[tuple[int, int], int]:
    """The slots that matches add to (minute, team), together at most a fifth of the events."""
    wanted = max(1, min(span.length * MATCHES_PER_HOUR // HOUR, events // 1000))
    extra: dict[tuple[int, int], int] = {}
    left = events // 5
    while wanted > 0:
        first = rng.randrange(span.minutes)
        if rng.randrange(60 * max(HOURLY)) >= liveliness(span.start + first * MINUTE):
            continue  # matches follow the rhythm of the day too
        wanted -= 1
        team = rng.randrange(len(shares))
        for minute in range(first, min(first + rng.randint(*MATCH_MINUTES), span.minutes)):
            usual = events * shares[team] * liveliness(span.start + minute * MINUTE) // whole_weight
            added = max(rng.randint(*MATCH_SLOTS) - usual, 0)
            if added <= left and (minute, team) not in extra:
                extra[minute, team] = added
                left -= added
    return extra
