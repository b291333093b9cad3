"""What happens, in the order in which the server gets word of it."""

import heapq
import random
from collections.abc import Callable, Iterable, Iterator
from datetime import datetime
from typing import NamedTuple, Protocol, TypeVar

from simulator.lines import milliseconds


class Delivery(NamedTuple):
    """A line at the server's door; `counts` names the figures of `Delivered` that it adds to."""

    arrives: int
    line: str
    counts: tuple[str, ...]


class Happens(Protocol):
    """Something that happens at a moment, in milliseconds."""

    @property
    def at(self) -> int: ...


Happening = TypeVar("Happening", bound=Happens)


def arrivals(happenings: Iterable[Happening], carry: Callable[[Happening], Iterable[Delivery]]) -> Iterator[Delivery]:
    """What `carry` makes of the happenings, in the order of arrival, holding only what is still on its way."""
    on_their_way: list[tuple[int, int, Delivery]] = []
    number = 0
    for happening in happenings:
        # Nothing arrives before it happens: what arrives earlier than this moment is complete.
        while on_their_way and on_their_way[0][0] < happening.at:
            yield heapq.heappop(on_their_way)[2]
        for delivery in carry(happening):
            heapq.heappush(on_their_way, (delivery.arrives, number, delivery))
            number += 1
    while on_their_way:
        yield heapq.heappop(on_their_way)[2]


class GoesOn:
    """A story without an end; asked as time goes on for what has arrived since it was asked last."""

    def __init__(self, deliveries: Iterator[Delivery]) -> None:
        self._deliveries = deliveries
        self._next = next(deliveries)

    def arrived(self, until: datetime) -> list[Delivery]:
        """What has arrived since the last call and before `until`, in the order of arrival."""
        end = milliseconds(until)
        found = []
        while self._next.arrives < end:
            found.append(self._next)
            self._next = next(self._deliveries)
        return found


def generator(seed: int, concern: str) -> random.Random:
    """One generator for each concern: a change in one of them leaves the choices of the others alone."""
    return random.Random(f"{seed} {concern}")
