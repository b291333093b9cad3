"""Generated logs: many small games side by side on one axis of time, drawn from a seed.

A game is a *world*: it has players, teams and offers of its own, so what it does shows in rows of its own. An example of
a law is one world. They share a log because a micro-batch costs seconds and a row nothing, and they share its high-water
mark, as players of one game do. So a row is late here for what another world did, which one world alone could not bring
about. The plain answer is computed over the whole log, so results without a key (`game_pulse`) are judged as well.

What is drawn is what breaks things: several events at one instant, in an order that is not that of their ids; events at
the edges of windows, at the gap of a session and the bound of a join, and a millisecond beside them; rows that are late
by nothing, or by a millisecond; sums that cross the goal and sink again; clicks that overtake the offer; commits without a
row, and commits that are late as a whole.
"""

import dataclasses
import random
import re
from collections.abc import Sequence
from datetime import datetime, timedelta

from deliveries import START
from logs import GAP, SIZES, WITHIN, Arrival, Log, marks

EXAMPLES = 20
"""Worlds of one log."""

GRID = 500
STEPS = [0, 0, 0, 0, 0, 1, 499, 500, 500]
BESIDE = [-1, 0, 0, 0, 1]
BACK = [10_000, 20_000, 30_000, 35_000, 60_000, 90_000]
BUBBLES = [-400, -150, -20, 0, 1, 7, 60, 250, 250, 400, 500]
REACTIONS = [None, 0, 120, 231, 231, 407, 1999]
KINDS = ["bubbles_popped"] * 14 + ["offer_shown"] * 3 + ["offer_clicked"] * 3 + ["league_changed"] * 3
ALLOWED = [timedelta(0), timedelta(seconds=5), timedelta(seconds=5), timedelta(seconds=30)]


class Worlds:
    """Draws arrivals. `mark` is the high-water mark so far, `allowed` the lateness whose bounds are worth a try."""

    def __init__(
        self, rng: random.Random, allowed: timedelta, *, count: int = EXAMPLES, kinds: Sequence[str] = KINDS
    ) -> None:
        self._rng, self._kinds = rng, kinds
        self._allowed = allowed // timedelta(milliseconds=1)
        self._past: list[list[Arrival]] = [[] for _ in range(count)]
        # Uneven: a streak needs ten pops of one player, and a world of two events has edges of its own.
        self._weights = [rng.choice([1, 2, 2, 4]) for _ in range(count)]
        self._number = 0

    def arrival(self, now: int, mark: int, *, latest: int | None = None, far: bool = False) -> Arrival:
        """An event of any world. Most happen `now`; none after `latest`."""
        rng = self._rng
        [world] = rng.choices(range(len(self._past)), self._weights)
        moment = mark - rng.choice(BACK) if far else self._moment(now, mark, self._past[world])
        found = self._event(world, moment)
        found = dataclasses.replace(found, millis=max(found.millis if latest is None else min(found.millis, latest), 0))
        self._past[world].append(found)
        return found

    def of(self, world: int, moment: int, earliest: int, latest: int) -> Arrival:
        """An event of this world, between these two."""
        found = self._event(world, moment)
        found = dataclasses.replace(found, millis=min(max(found.millis, earliest), latest))
        self._past[world].append(found)
        return found

    def _moment(self, now: int, mark: int, past: Sequence[Arrival]) -> int:
        rng, bound = self._rng, mark - self._allowed
        what = rng.choices(
            ["now", "tied", "apart", "at the bound", "at a window's bound", "far behind"], [12, 3, 3, 2, 2, 1]
        )
        if what == ["tied"] and past:
            return rng.choice(past).millis
        if what == ["apart"] and past:
            return (
                rng.choice(past).millis + rng.choice([-1, 1]) * rng.choice([GAP, WITHIN, SIZES[0]]) + rng.choice(BESIDE)
            )
        if what == ["at the bound"]:
            return bound + rng.choice(BESIDE)
        if what == ["at a window's bound"]:
            size = rng.choice(SIZES)
            return bound // size * size + rng.choice([-size, 0]) + rng.choice(BESIDE)
        if what == ["far behind"]:
            return mark - rng.choice(BACK)
        return now + rng.choice(BESIDE)

    def _event(self, world: int, millis: int) -> Arrival:
        rng, past = self._rng, self._past[world]
        self._number += 1
        event_id = f"{rng.randrange(16**4):04x}.{self._number}"  # the order of ids is not the order of arrival
        kind = rng.choice(self._kinds)
        player = f"{rng.choice(['alice', 'alice', 'alice', 'bob'])}-{world}"
        if kind in ("offer_shown", "offer_clicked"):
            other = [each for each in past if each.kind in ("offer_shown", "offer_clicked") and each.kind != kind]
            if other and rng.random() < 0.7:  # the other half of a pair, whichever came first
                pair = rng.choice(other)
                ahead = rng.choice([0, 1, 4000, WITHIN - 1, WITHIN, WITHIN, WITHIN + 1, -1])
                at = pair.millis + (ahead if kind == "offer_clicked" else -ahead)
                return Arrival(event_id, at, player=pair.player, kind=kind, offer=pair.offer)
            return Arrival(event_id, millis, player=player, kind=kind, offer=f"{rng.choice(['o1', 'o2'])}-{world}")
        if kind == "league_changed":
            popped = [each for each in past if each.kind == "bubbles_popped"]
            if popped and rng.random() < 0.5:  # shortly before a pop that is there already, which it moves
                moved = rng.choice(popped)
                player, millis = moved.player, moved.millis - rng.choice([0, 0, 1, 1000, 4000, 9000, -1])
            return Arrival(event_id, millis, player=player, kind=kind, league=rng.choice(["gold", f"league-{world}"]))
        return Arrival(
            event_id,
            millis,
            team=f"{rng.choice(['blue', 'blue', 'red'])}-{world}",
            player=player,
            bubbles=rng.choice(BUBBLES),
            reaction_ms=rng.choice(REACTIONS),
        )


def generated(rng: random.Random, allowed: timedelta, *, commits: int = 4, arrivals: int = 640) -> list[list[Arrival]]:
    """A log of so many commits; one of them may be empty, one may be late as a whole, and in any of them time may jump.

    A step of a millisecond is made good by the next larger one: otherwise no later time would lie on an edge again.
    """
    worlds, found = Worlds(rng, allowed), list[list[Arrival]]()
    now = mark = rng.choice([0, 90_000, 270_000])
    empty = rng.choice([None, *range(1, commits - 1)])
    far = rng.choice([None, *range(2, commits)])
    for number in range(commits):
        commit: list[Arrival] = []
        size = 0 if number == empty else arrivals // commits
        jump = rng.choice([None, rng.randint(0, size)])
        while len(commit) < size:
            step = 60_000 if len(commit) == jump else rng.choice(STEPS)
            now = now + step if step < GRID else now // GRID * GRID + step
            commit.append(worlds.arrival(now, mark, far=number == far))
            mark = max(mark, commit[-1].millis)
            now = max(now, mark)
        found.append(commit)
    if rng.random() < 0.5:
        found[-1].append(Arrival("silence", mark + rng.choice([100_000, 900_000]), kind="heartbeat"))
    return found


def staggered(
    rng: random.Random, *, count: int = 10 * EXAMPLES, stretch: int = 30_000
) -> tuple[list[list[Arrival]], timedelta]:
    """A log of three commits in which every world has a stretch of time of its own, and the lateness to allow.

    For results without a key, whose cells are stretches of time: where worlds lie side by side somebody always pops, and so
    repairs what another row has left wrong. Here a cell has one world's few events. Heartbeats alone move the mark: up to
    the one in the middle of the second commit nothing is late, behind it most worlds are.
    """
    end = count * stretch
    worlds = Worlds(
        rng, timedelta(milliseconds=end), count=count, kinds=["bubbles_popped", "league_changed", "league_changed"]
    )
    phases: list[list[Arrival]] = [[], [], [], []]
    for world in range(count):
        for _ in range(rng.randint(3, 8)):
            first = world * stretch
            moment = first + rng.choice([0, 1, 9_999, 10_000, 10_001, rng.randrange(stretch), rng.randrange(stretch)])
            phases[rng.choice([0, 0, 1, 2, 2, 3])].append(worlds.of(world, moment, first, first + stretch - 1))
    for phase in phases:
        rng.shuffle(phase)
    first, later = (Arrival(f"beat.{mark}", mark, kind="heartbeat") for mark in (end, end + rng.randint(end // 2, end)))
    return [[first, *phases[0]], [*phases[1], later, *phases[2]], phases[3]], timedelta(milliseconds=end)


def beside(log: Log, rng: random.Random, allowed: timedelta, *, each: int = 15) -> list[list[Arrival]]:
    """A log made by hand with worlds beside it, `each` arrivals behind every one of its own, none above its mark.

    So its marks stay what they were, and what it was made for still happens. Its own names have no number.
    """
    worlds = Worlds(rng, allowed)
    found: list[list[Arrival]] = [[] for _ in log]
    for number, arrival, mark in marks(log):
        at = _after_start(mark)
        found[number].append(arrival)
        found[number] += [
            worlds.arrival(at - rng.choice(STEPS), at, latest=at) for _ in range(rng.randint(0, 2 * each))
        ]
    return found


def cut_again(arrivals: Sequence[Arrival], rng: random.Random, commits: int) -> list[list[Arrival]]:
    """The arrivals in this order, cut into so many commits at drawn places."""
    places = sorted(rng.sample(range(1, len(arrivals)), commits - 1))
    return [list(arrivals[a:b]) for a, b in zip([0, *places], [*places, len(arrivals)], strict=True)]


def narrowed(log: Log, rows: object) -> list[list[Arrival]]:
    """The log of the worlds that these rows name, with heartbeats for what the others did to the mark.

    Every row that is left has the mark that it had. So it is a few events that say the same, to be pasted into a test.
    """
    named = set(re.findall(r"-(\d+)'", repr(rows)))
    found: list[list[Arrival]] = [[] for _ in log]
    told = None
    for number, arrival, mark in marks(log):
        if named and arrival.player.partition("-")[2] not in named and arrival.kind != "heartbeat":
            continue
        if told != mark != arrival.event_time:
            found[number].append(Arrival(f"mark-{len(found[number])}-{number}", _after_start(mark), kind="heartbeat"))
        told = mark
        found[number].append(arrival)
    return found


def written(log: Log) -> str:
    """The log as Python."""
    defaults = {field.name: field.default for field in dataclasses.fields(Arrival)}
    lines = []
    for commit in log:
        lines.append("    [")
        for arrival in commit:
            said = {name: getattr(arrival, name) for name in defaults}
            more = [f"{name}={value!r}" for name, value in said.items() if value != defaults[name]]
            lines.append(f"        Arrival({', '.join(more)}),")
        lines.append("    ],")
    return "\n".join(["[", *lines, "]"])


def _after_start(moment: datetime) -> int:
    return (moment - START) // timedelta(milliseconds=1)
