"""Every edge of the story is in the day of the demo, and it is the simulator's doing: taken out of it, it is gone."""

import random
from collections.abc import Callable
from pathlib import Path

import pytest
from edges_counted import EDGES
from simulated import Simulated, read

from simulator.game import coincidences, oddities, simulate
from simulator.game.oddities import ODDITIES, Oddities, Said

Taken = Callable[[pytest.MonkeyPatch], None]


@pytest.fixture(scope="module")
def demo_day(tmp_path_factory: pytest.TempPathFactory) -> Simulated:
    """The day of `parity demo`."""
    directory = tmp_path_factory.mktemp("demo") / "landing"
    return read(directory, simulate(directory, events=20_000))


@pytest.mark.parametrize("edge", EDGES)
def test_the_day_of_the_demo_has_every_edge(demo_day: Simulated, edge: str) -> None:
    found = EDGES[edge](demo_day)
    assert 2 <= found < 0.02 * len(demo_day.lines), f"{edge}: {found}"


def ordinary(*places: int) -> Taken:
    """These oddities tell the times as they are. All others stay as they were."""

    def told(_rng: random.Random, said: Said) -> Said:
        return said

    changed = tuple(told if place in places else odd for place, odd in enumerate(ODDITIES))
    return lambda patch: patch.setattr(oddities, "ODDITIES", changed)


def never(module: object, name: str) -> Taken:
    return lambda patch: patch.setattr(module, name, 0.0)


def same_crossing(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(Oddities, "crossing_again", lambda _self, first, **_: first)
    patch.setattr(Oddities, "slow_crossing", lambda _self: 100)


TAKEN_OUT: dict[str, Taken] = {
    "copies that overtake": lambda patch: patch.setattr(Oddities, "overtakes", lambda _self: False),
    "retries with another crossing": same_crossing,
    **{f"a clock that is {sign} by 30 s and {by} ms": ordinary(3 * way + by + 1)
       for way, sign in enumerate(("slow", "fast")) for by in (-1, 0, 1)},
    "a wrong time of the event": ordinary(6),
    "a wrong time of sending": ordinary(7),
    "a fast server": ordinary(8),
    "a slow server": ordinary(9),
    "times in the zone +02:00": ordinary(10),
    "times in the zone -09:30": ordinary(11),
    "times in the zone +05:45": ordinary(12),
    "seconds with 6 digits": ordinary(12, 13),
    "seconds with 9 digits": ordinary(14),
    "seconds with 1 digits": ordinary(15),
    "times in the zone -03:30": ordinary(16),
    "seconds with 0 digits": ordinary(16),
    "copies that write the time otherwise": never(oddities, "ELSEWHERE"),
    "players in several teams": never(coincidences, "GUEST"),
    "offers shown twice": never(coincidences, "AGAIN"),
    "ties of pops": never(coincidences, "AT_ONCE"),
    "ties of changes of league": never(coincidences, "MIND_CHANGED"),
}  # fmt: skip


def test_each_edge_can_be_taken_out() -> None:
    assert TAKEN_OUT.keys() == EDGES.keys()


@pytest.fixture(scope="module")
def small(tmp_path_factory: pytest.TempPathFactory) -> dict[str, int]:
    return counted(tmp_path_factory.mktemp("small"))


def counted(directory: Path, *edges: str) -> dict[str, int]:
    day = read(directory / "landing", simulate(directory / "landing", events=6_000, senders=60, hours=8, files=2))
    return {edge: EDGES[edge](day) for edge in edges or EDGES}


@pytest.mark.parametrize("edge", TAKEN_OUT)
def test_without_what_makes_it_an_edge_is_not_there(
    small: dict[str, int], tmp_path: Path, monkeypatch: pytest.MonkeyPatch, edge: str
) -> None:
    """But for what an ordinary day can have by chance: two pops in a millisecond, an event that a flat battery kept back."""
    TAKEN_OUT[edge](monkeypatch)
    [left] = counted(tmp_path, edge).values()
    by_chance = edge in ("ties of pops", "a wrong time of the event")
    assert left < small[edge] if by_chance else left == 0 < small[edge], (left, small[edge])
