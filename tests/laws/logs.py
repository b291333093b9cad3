"""Generated logs, written commit by commit as ingestion would, and a plain-Python answer to what they mean.

Nothing here uses the transformations: order, high-water mark, windows and sums are computed a second time.
"""

import dataclasses
from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta

from deliveries import START
from hypothesis import strategies as st
from pyspark.sql import SparkSession

from lakehouse.lake import Lake
from lakehouse.log import EVENTS, SCHEMAS, create_log, position
from lakehouse.tables import Transaction, append
from transformations.durations import to_millis

WINDOW = timedelta(seconds=10)
GOAL = 500


@dataclass(frozen=True)
class Arrival:
    event_id: str
    millis: int  # event time after START
    team: str
    player: str
    bubbles: int
    kind: str = "bubbles_popped"

    @property
    def event_time(self) -> datetime:
        return START + timedelta(milliseconds=self.millis)

    @property
    def window(self) -> datetime:
        size = WINDOW // timedelta(milliseconds=1)
        return START + timedelta(milliseconds=self.millis // size * size)


@st.composite
def commits(draw: st.DrawFn, *, least: int = 2, most: int = 5) -> list[list[Arrival]]:
    """Commits of arrivals: time goes on, most arrive at once, some far behind, some are heartbeats."""
    found: list[list[Arrival]] = []
    now = 0
    for number in range(draw(st.integers(least, most))):
        commit = []
        for place in range(draw(st.integers(1, 14))):
            now += draw(st.sampled_from([0, 1, 500, 1000, 2500, 5000]))
            lag = draw(st.sampled_from([0, 0, 0, 0, 1, 4000, 10_000, 20_000, 35_000, 90_000]))
            kind = draw(st.sampled_from(["bubbles_popped"] * 9 + ["heartbeat"]))
            commit.append(
                Arrival(
                    event_id=f"{number}-{place}",
                    millis=max(now - lag, 0),
                    team=draw(st.sampled_from(["blue", "red"])),
                    player=draw(st.sampled_from(["alice", "bob", "carol"])),
                    bubbles=draw(st.sampled_from([-150, -20, 1, 7, 250, 400])),
                    kind=kind,
                )
            )
        found.append(commit)
    return found


def write_log(spark: SparkSession, lake: Lake, log: Sequence[Sequence[Arrival]], *, horizon: timedelta) -> None:
    """Append each commit that the log does not have yet, with what ingestion says of it."""
    create_log(spark, lake, horizon=horizon)
    written = position(lake).batch
    mark, seq = None, 0
    for batch, commit in enumerate(log):
        rows = []
        for arrival in commit:
            seq += 1
            mark = arrival.event_time if mark is None else max(mark, arrival.event_time)
            played = arrival.kind == "bubbles_popped"
            row = dict.fromkeys(SCHEMAS[EVENTS].names)
            row |= {"seq": seq, "event_time": arrival.event_time, "high_water": mark, "occurred_at": arrival.event_time}
            row |= {
                "event_id": arrival.event_id,
                "kind": arrival.kind,
                "batch": batch,
                "file": "generated",
                "line": seq,
            }
            if played:
                row |= {"team_id": arrival.team, "player_id": arrival.player, "bubbles": arrival.bubbles}
            rows.append(tuple(row.values()))
        if batch <= written:
            continue
        said = position(lake).after(
            batch, events=len(rows), latest=max(a.event_time for a in commit), duplicates=0, quarantined=0
        )
        frame = spark.createDataFrame(rows, SCHEMAS[EVENTS])
        append(spark, lake, EVENTS, frame, transaction=Transaction("ingest", batch), metadata=said)
        assert mark is not None and said["high_water"] == to_millis(mark)


def marks(log: Sequence[Sequence[Arrival]]) -> Iterator[tuple[int, Arrival, datetime]]:
    """Each arrival with the number of its commit and the high-water mark at it."""
    mark = None
    for number, commit in enumerate(log):
        for arrival in commit:
            mark = arrival.event_time if mark is None else max(mark, arrival.event_time)
            yield number, arrival, mark


def on_time(log: Sequence[Sequence[Arrival]], allowed: timedelta) -> list[list[Arrival]]:
    """The log without what is late: the window had ended at or before the mark less the allowed lateness."""
    kept: list[list[Arrival]] = [[] for _ in log]
    for number, arrival, mark in marks(log):
        if arrival.window + WINDOW > mark - allowed:
            kept[number].append(arrival)
    return kept


def team_scores(log: Sequence[Sequence[Arrival]]) -> set[tuple[object, ...]]:
    cells = defaultdict(list)
    for arrival in (arrival for commit in log for arrival in commit if arrival.kind == "bubbles_popped"):
        cells[arrival.team, arrival.window].append(arrival)
    return {
        (
            *(team, window, window + WINDOW),
            *(sum(a.bubbles for a in pops), len(pops), min(a.bubbles for a in pops), max(a.bubbles for a in pops)),
            len({a.player for a in pops}),
        )
        for (team, window), pops in cells.items()
    }


def level_ups(log: Sequence[Sequence[Arrival]]) -> set[tuple[object, ...]]:
    cells = defaultdict(list)
    for arrival in (arrival for commit in log for arrival in commit if arrival.kind == "bubbles_popped"):
        cells[arrival.team, arrival.window].append(arrival)
    found = set()
    for (team, window), pops in cells.items():
        total = 0
        for pop in sorted(pops, key=lambda a: (a.millis, a.event_id)):
            total += pop.bubbles
            if total >= GOAL:
                found.add((team, window, window + WINDOW, pop.event_time))
                break
    return found


ANSWERS = {"team_scores": team_scores, "level_ups": level_ups}


def renumbered(arrivals: Sequence[Arrival], sizes: Sequence[int]) -> list[list[Arrival]]:
    """The arrivals in this order, cut into commits of these sizes; ids stay with their arrivals."""
    rest, cut = list(arrivals), []
    for size in sizes:
        cut.append([dataclasses.replace(arrival) for arrival in rest[:size]])
        rest = rest[size:]
    return [commit for commit in cut if commit]
