"""How chaos kills: a missed moment is struck again, one that was not meant is a violation, and repairs have to be there."""

import random
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from typing import Any

import pytest
from accounts import RESULTS, SUBJECT, game, taken_in
from game import catalogue
from pytest import MonkeyPatch

import chaos.kills
from chaos.kills import ATTEMPTS, Kill, killed
from chaos.moments import Moment
from chaos.remains import Remains
from chaos.violation import Violation
from lakehouse.changelogs import Boundary
from lakehouse.lake import Lake

KNOWN = [catalogue()[name] for name in RESULTS]
PLACE = "stream.appended"


@pytest.fixture(scope="module")
def lake(tmp_path_factory: pytest.TempPathFactory) -> Lake:
    home = tmp_path_factory.mktemp("kills")
    game(home / "landing")
    return taken_in(home / "lake", home / "landing")


class Struck:
    """A process that is dead when it is looked at."""

    def __init__(self, code: int) -> None:
        self._code, self.said = code, "what it said last"

    def kill(self) -> None:
        pass

    def wait(self, _: float) -> int:
        return 0


@dataclass
class Deliveries:
    done: list[str]

    def portion(self) -> None:
        self.done.append("portion")

    def late(self, before: int, *, kind: str) -> None:
        self.done.append(f"late {kind} before {before}")


@dataclass
class Systems:
    """A system whose writers die as they are told, and which notes what was done to it."""

    lake: Lake
    code: int = -9
    results: list[Any] = field(default_factory=lambda: KNOWN)
    subject = SUBJECT
    done: list[str] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.deliveries = Deliveries(self.done)

    def arm(self, order: str) -> None:
        self.done.append(f"arm {order}")

    def disarm(self) -> None:
        self.done.append("disarm")

    def start(self, writer: str) -> Struck:
        self.done.append(f"start {writer}")
        return Struck(0)

    def process(self, _: str) -> Struck:
        return Struck(self.code)

    def died(self, _: str) -> int:
        self.done.append("dead")
        return self.code

    def until(self, reached: Callable[[], bool], otherwise: str, *, pause: float = 0.0) -> None:
        assert reached(), (otherwise, pause)

    def recovered(self) -> None:
        self.done.append("recovered")

    def ingested(self) -> bool:
        return True

    streamed = ingested

    def await_late(self, kind: str) -> None:
        self.done.append(f"await late {kind}")

    def late_before(self) -> int:
        return 5

    @contextmanager
    def held_still(self, writer: str, _: Any) -> Iterator[None]:
        self.done.append(f"hold {writer}")
        yield
        self.done.append(f"let {writer} go on")


@pytest.fixture
def left(monkeypatch: MonkeyPatch) -> list[Remains]:
    """What is found on disk, one after the other; the last one stays."""
    found: list[Remains] = [Remains()]

    def remains(*_: Any) -> Remains:
        return found.pop(0) if len(found) > 1 else found[0]

    monkeypatch.setattr(chaos.kills, "remains", remains)
    return found


class Twice(random.Random):
    """Chooses the last of what there is: to kill twice, and the as-of join."""

    def choice(self, some: Any) -> Any:
        return some[-1]


def shown(_: Remains, now: Remains) -> bool:
    return now.sink >= 0


INSIDE = Moment("inside", "in the middle", shown, place=PLACE)
OVER = replace(INSIDE, over=True)
OUTSIDE = Moment("outside", "between two", shown, watch=lambda *_: lambda: True)


def kill(system: Systems, moment: Moment) -> Any:
    return killed("stream", moment, system, Twice(), late=False)  # type: ignore[arg-type]


def test_a_moment_inside_comes_again_by_the_next_start(lake: Lake, left: list[Remains]) -> None:
    system, left[:] = Systems(lake), [Remains(), Remains(planned=4, sink=4)]
    said = kill(system, INSIDE).said
    arm = f"arm {PLACE}:league_scores:*"
    assert system.done == [arm, "portion", "dead", "start stream", "dead", "disarm", "start stream"]
    assert said == (
        "the stream of league_scores was killed in the middle, and once more at that moment of the same micro-batch"
    )


@pytest.mark.parametrize("moment", [OVER, OUTSIDE], ids=lambda moment: moment.name)
def test_a_moment_that_is_over_or_seen_from_outside_comes_again_after_a_recovery(
    lake: Lake, left: list[Remains], moment: Moment
) -> None:
    """What the first kill left, or a writer that is only starting, is no sign for the second."""
    system, left[:] = Systems(lake), [Remains(), Remains(planned=4, sink=4)]
    said = kill(system, moment).said
    once = ([f"arm {PLACE}:league_scores:*"] if moment.place else []) + ["portion", "dead"]
    assert system.done == [*once, "disarm", "start stream", "recovered", *once, "disarm", "start stream"]
    assert said.endswith("and once more at that moment of the next micro-batch")


def test_a_second_kill_in_another_micro_batch_is_a_violation(lake: Lake, left: list[Remains]) -> None:
    system = Systems(lake)
    left[:] = [Remains(), Remains(planned=4, sink=4), Remains(planned=4, sink=4), Remains(planned=5, sink=5)]
    with pytest.raises(Violation, match="the disk shows another moment: .*planned=5"):
        kill(system, INSIDE)


def test_a_failpoint_whose_moment_the_disk_does_not_show_is_a_violation(lake: Lake, left: list[Remains]) -> None:
    assert left == [Remains()]
    with pytest.raises(Violation, match="was killed in the middle, and the disk shows another moment"):
        kill(Systems(lake), INSIDE)


def test_a_moment_that_was_missed_from_outside_is_struck_again(lake: Lake, left: list[Remains]) -> None:
    system, left[:] = Systems(lake), [Remains(), Remains(), Remains(), Remains(planned=4, sink=4)]
    kill(system, OUTSIDE)
    assert system.done.count("dead") == 3, "missed once, struck twice"


def test_a_moment_that_is_always_missed_is_a_violation(lake: Lake, left: list[Remains]) -> None:
    system = Systems(lake)
    assert left == [Remains()]
    with pytest.raises(Violation, match=f"{ATTEMPTS} times the moment was over when the kill came"):
        kill(system, OUTSIDE)
    assert system.done.count("dead") == ATTEMPTS


def test_a_writer_that_ends_otherwise_is_a_violation(lake: Lake, left: list[Remains]) -> None:
    assert left
    with pytest.raises(Violation, match="ended with exit code 2: what it said last"):
        kill(Systems(lake, code=2), INSIDE)


def boundary(batch: int, log_version: int, repairs: int | None) -> Boundary:
    return Boundary(1, batch, log_version, batch + 1, repairs=repairs)


REPAIRS: dict[str, tuple[list[Boundary], str]] = {
    "the struck one repairs": ([boundary(6, 6, 0), boundary(5, 5, 3), boundary(4, 4, 0)], ""),
    "it repairs nothing": ([boundary(5, 5, 0), boundary(4, 4, 2)], "its commit says 0 repairs"),
    "another one repairs": (
        [boundary(7, 7, 3), boundary(4, 4, 0)],
        "struck in micro-batch 5, and the repairs are in 7",
    ),
}


@pytest.mark.parametrize("name", REPAIRS)
def test_a_micro_batch_that_was_said_to_repair_has_to(lake: Lake, monkeypatch: MonkeyPatch, name: str) -> None:
    """The late events came behind log version 4, and the kill was in the middle of micro-batch 5."""
    found, said = REPAIRS[name]
    monkeypatch.setattr(chaos.kills, "boundaries", lambda *_: found)
    monkeypatch.setattr(chaos.kills, "live_epoch", lambda *_: None)
    struck = Kill(Systems(lake), "stream", INSIDE, KNOWN[1], late=True)  # type: ignore[arg-type]
    struck.struck.append((4, Remains(planned=5, sink=5)))
    if not said:
        struck.refuse_without_repairs()
        return
    with pytest.raises(Violation, match=said):
        struck.refuse_without_repairs()


def test_late_files_land_while_the_stream_is_held_still(lake: Lake, left: list[Remains]) -> None:
    """The next micro-batch is the one that has them, whatever the engine tells without data."""
    system, left[:] = Systems(lake), [Remains(), Remains(planned=4, sink=4)]
    Kill(system, "stream", INSIDE, KNOWN[2], late=True).fresh()  # type: ignore[arg-type]
    assert system.done == [
        "await late offer_shown", "hold stream", f"arm {PLACE}:offer_outcomes:*", "late offer_shown before 5",
        "let stream go on", "dead",
    ]  # fmt: skip
