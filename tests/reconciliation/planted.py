"""Arrivals of which it is known what the control did to each, and a plain-Python answer to what explains each cell.

Nothing here uses the transformations or the reconciliation: cells and combinations are computed a second time.
"""

import random
from collections import defaultdict
from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
from itertools import combinations

MINUTE = 60_000
GOAL = 500
MOVED, COPIED, REWRITTEN, MISSING = FACTORS = ("moved", "copied", "rewritten", "missing")
CAUSES = {MOVED: "processing time", COPIED: "duplicate", REWRITTEN: "duplicate", MISSING: "lost"}
Cell = tuple[object, ...]


@dataclass(frozen=True)
class Arrived:
    """One delivery. Times are milliseconds after the start; `times` is how often the control appended it."""

    event_id: str
    team: str
    player: str
    bubbles: int
    occurred: int
    received: int
    copy: bool = False
    times: int = 1


def mixtures(seed: int, *, teams: int = 4, minutes: int = 40) -> list[Arrived]:
    """Every cell gets its own choice of what goes wrong in it, so that most mixtures occur and many cells stay right."""
    chance, found = random.Random(seed), list[Arrived]()
    for team in (f"team {number}" for number in range(teams)):
        for minute in range(minutes):
            wrong = chance.sample([*FACTORS, "within", "copy missing"], chance.choice([0, 0, 1, 1, 2, 3]))
            for number in range(chance.randint(1, 5)):
                found += _event(chance, f"{team}-{minute}-{number}", team, minute * MINUTE, wrong)
    return found


def _event(chance: random.Random, event_id: str, team: str, start: int, wrong: list[str]) -> list[Arrived]:
    """An event with its copies; most of the things that go wrong in its cell go wrong with it."""
    mine = {each for each in wrong if chance.random() < 0.5}
    occurred = start + chance.randrange(0, MINUTE - 1000)
    received = occurred
    if "within" in mine:
        received = chance.randrange(occurred, start + MINUTE)
    if MOVED in mine:
        received = start + chance.choice([1, 1, 2]) * MINUTE + chance.randrange(MINUTE)
    player, bubbles = chance.choice(["ann", "bob", "cid"]), chance.choice([0, 0, 1, 5, 5, 100, 250, 400, -150])
    times = 0 if MISSING in mine else chance.choice([2, 2, 3]) if REWRITTEN in mine else 1
    first = Arrived(event_id, team, player, bubbles, occurred, received, times=times)
    if COPIED not in mine:
        return [first]
    again = received + chance.choice([1, 10, 10, MINUTE])
    return [first, replace(first, received=again, copy=True, times=0 if "copy missing" in mine else 1)]


def scores(pops: list[tuple[int, Arrived]]) -> Cell | None:
    each = [pop.bubbles for _, pop in pops]
    return (sum(each), len(each), min(each), max(each), len({pop.player for _, pop in pops})) if each else None


def reached(pops: list[tuple[int, Arrived]]) -> Cell | None:
    total = 0
    for time, pop in sorted(pops, key=lambda each: (each[0], each[1].event_id)):
        total += pop.bubbles
        if total >= GOAL:
            return (time,)
    return None


@dataclass(frozen=True)
class Explanation:
    causes: frozenset[str]
    event_ids: frozenset[str]


class Planted:
    """The arrivals and, for a function over the pops of a cell, what explains each cell that the control has wrong."""

    def __init__(self, arrivals: Iterable[Arrived], cell: Callable[[list[tuple[int, Arrived]]], Cell | None]) -> None:
        self.cell = cell
        self.by_key: dict[tuple[str, int], list[Arrived]] = defaultdict(list)
        for one in arrivals:
            for minute in {one.occurred // MINUTE, one.received // MINUTE}:
                self.by_key[one.team, minute].append(one)

    def under(self, key: tuple[str, int], on: Iterable[str]) -> Cell | None:
        """The cell if these things happened and no others."""
        return self.cell([(time, one) for time, one, times in self._counted(key, set(on)) for _ in range(times)])

    def _counted(self, key: tuple[str, int], on: set[str]) -> list[tuple[int, Arrived, int]]:
        counted = []
        for one in self.by_key[key]:
            time = one.received if MOVED in on and one.times else one.occurred
            there = (one.times > 0 or MISSING not in on) and (not one.copy or COPIED in on)
            if there and time // MINUTE == key[1]:
                counted.append((time, one, max(one.times, 1) if REWRITTEN in on else 1))
        return counted

    def expected(self) -> dict[tuple[str, int], Explanation]:
        """The smallest combination for each cell in which the control, which did all of it, is not batch, which did none."""
        found = {}
        for key in self.by_key:
            actual = self.under(key, FACTORS)
            if actual == self.under(key, ()):
                continue
            tried = [on for size in range(1, 5) for on in combinations(FACTORS, size)]
            smallest = next(on for on in tried if self.under(key, on) == actual)
            assert all(self.under(key, set(smallest) - {each}) != actual for each in smallest)
            found[key] = Explanation(frozenset(CAUSES[each] for each in smallest), self._concerned(key, set(smallest)))
        return found

    def _concerned(self, key: tuple[str, int], on: set[str]) -> frozenset[str]:
        mine = [one for one in self.by_key[key] if not one.copy or COPIED in on]
        counted = [one for _, one, _ in self._counted(key, on)]
        ids: set[str] = set()
        if MOVED in on:
            there = [one for one in mine if one.times]
            crossed = {one.event_id for one in there if one.occurred // MINUTE != one.received // MINUTE}
            ids |= crossed or {one.event_id for one in there if one.occurred != one.received}
        if COPIED in on:
            ids |= {one.event_id for one in counted if one.copy}
        if REWRITTEN in on:
            ids |= {one.event_id for one in counted if one.times > 1}
        if MISSING in on:
            ids |= {one.event_id for one in mine if not one.times and one.occurred // MINUTE == key[1]}
        return frozenset(ids)
