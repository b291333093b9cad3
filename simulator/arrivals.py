"""What happens, in the order in which the server gets word of it."""

import heapq
import random
from collections.abc import Callable, Iterable, Iterator
from typing import NamedTuple, Protocol, TypeVar


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


def generator(seed: int, concern: str) -> random.Random:
    """One generator for each concern: a change in one of them leaves the choices of the others alone."""
    return random.Random(f"{seed} {concern}")
