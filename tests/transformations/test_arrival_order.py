"""The order of arrival: which copy is the first, and the high-water mark at each row."""

import random
from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import timedelta

import pyarrow as pa
import pytest
from deliveries import START, at, pop
from judged import Known, in_order, judged_table, rows_of

from transformations.durations import from_millis, to_millis


@dataclass(frozen=True)
class Arrival:
    """A pop at a place in the order of arrival; `moved` is what the correction of its clock adds."""

    event_id: str
    seconds: float = 0
    bubbles: int = 1
    sent: float | None = None
    moved: float = 0
    reaction_ms: int | None = None

    @property
    def line(self) -> str:
        stamps = {} if self.sent is None else {"sent_at": at(self.sent), "received_at": at(self.sent + self.moved)}
        more = {} if self.reaction_ms is None else {"reaction_ms": self.reaction_ms}
        return pop(self.event_id, self.seconds, bubbles=self.bubbles, **stamps, **more)


def arrived(*arrivals: Arrival) -> pa.Table:
    return judged_table([arrival.line for arrival in arrivals], ingested_at=START + timedelta(days=1))


def fates(arrivals: Sequence[Arrival], known: Sequence[Arrival] = ()) -> list[str]:
    """What becomes of each arrival, in their order, after those that the log knows."""
    log = Known()
    log.learn(in_order(arrived(*known)).learnt)
    found = rows_of(in_order(arrived(*arrivals), known=log).rows)
    reasons = {row.reason for row in found if row.fate == "quarantined"}
    assert reasons <= {"copy of an event with other content"}
    return [row.fate for row in found]


EVENT, COPY, DIFFERS = "event", "duplicate", "quarantined"


@pytest.fixture(scope="module")
def marks() -> list[tuple[str, int, float]]:
    """Id, `seq` and mark of one log, which stood at 50 s and row 7 before these came."""
    arrivals = [
        Arrival("below the old mark", 40),
        Arrival("above it", 60),
        Arrival("behind again", 55),
        Arrival("in the next file", 58),
        Arrival("corrected by its clock", 10, sent=0, moved=60),
        Arrival("the last", 65),
    ]
    found = in_order(arrived(*arrivals), high_water=START + timedelta(seconds=50), seq=7)
    assert (found.seq, found.high_water, found.behind) == (13, to_millis(START) + 70_000, 10_000)
    return [(row.event_id, row.seq, (row.high_water - to_millis(START)) / 1000) for row in rows_of(found.rows)]


def test_the_mark_runs_on_in_the_order_of_arrival_and_not_of_time(marks: list[tuple[str, int, float]]) -> None:
    assert [(name, mark) for name, _, mark in marks] == [
        ("below the old mark", 50),
        ("above it", 60),
        ("behind again", 60),
        ("in the next file", 60),
        ("corrected by its clock", 70),
        ("the last", 70),
    ]


def test_the_places_in_the_log_count_on_without_gaps(marks: list[tuple[str, int, float]]) -> None:
    assert [seq for _, seq, _ in marks] == [8, 9, 10, 11, 12, 13]


def test_the_first_mark_of_a_log_is_its_first_events_time() -> None:
    found = rows_of(in_order(arrived(Arrival("a", 5), Arrival("b", 3), Arrival("c", 8))).rows)
    assert [(row.seq, row.high_water - to_millis(START)) for row in found] == [(1, 5000), (2, 5000), (3, 8000)]


def test_within_a_block_the_first_arrival_wins() -> None:
    assert fates([Arrival("e"), Arrival("other"), Arrival("e"), Arrival("e")]) == [EVENT, EVENT, COPY, COPY]


def test_a_copy_that_differs_is_told_from_an_honest_one_within_a_block() -> None:
    arrivals = [Arrival("e", bubbles=bubbles) for bubbles in (7, 8, 7, 8)]
    assert fates(arrivals) == [EVENT, DIFFERS, COPY, DIFFERS]


def test_against_the_log_every_arrival_is_a_copy_even_the_first_of_its_block() -> None:
    arrivals = [*(Arrival("e", bubbles=bubbles) for bubbles in (8, 7, 8)), Arrival("new"), Arrival("new")]
    log = [Arrival("e", bubbles=7), Arrival("another")]
    assert fates(arrivals, log) == [DIFFERS, COPY, DIFFERS, EVENT, COPY]


@pytest.mark.parametrize(
    ("changed", "fate"),
    [
        (Arrival("e"), COPY),
        (Arrival("e", sent=99, moved=99), COPY),
        (Arrival("e", seconds=0.001), DIFFERS),
        (Arrival("e", bubbles=2), DIFFERS),
        (Arrival("e", reaction_ms=5), DIFFERS),
    ],
    ids=["nothing", "time of sending", "time of occurrence", "a value", "an optional field"],
)
def test_what_makes_a_copy_differ(changed: Arrival, fate: str) -> None:
    assert fates([Arrival("e"), changed]) == [EVENT, fate]


def test_copies_and_rejected_lines_do_not_raise_the_mark() -> None:
    arrivals = [Arrival("a", 5), Arrival("a", 5, sent=0, moved=100), Arrival("a", 200), Arrival("b", 6)]
    found = in_order(arrived(*arrivals))
    assert [
        (row.event_id, row.seq, row.high_water and row.high_water - to_millis(START)) for row in rows_of(found.rows)
    ] == [
        ("a", 1, 5000),
        ("a", None, None),
        ("a", None, None),
        ("b", 2, 6000),
    ]
    assert (found.events, found.duplicates, found.quarantined) == (2, 1, 1)


def test_a_block_without_events_leaves_the_log_where_it_stands() -> None:
    before = START + timedelta(seconds=50)
    for lines in ([], ["no event"]):
        found = in_order(judged_table(lines, ingested_at=START), seq=3, high_water=before)
        assert (found.seq, found.high_water, found.least, found.behind) == (3, to_millis(before), None, None)


@pytest.mark.parametrize("seed", range(20))
def test_however_lines_are_cut_into_blocks_the_log_says_the_same(seed: int) -> None:
    chance = random.Random(seed)
    ids = [chance.choice("abcdefgh") for _ in range(60)]
    arrivals = [Arrival(each, chance.choice((1, 1, 2, 500)), bubbles=chance.choice((1, 1, 2))) for each in ids]
    whole = in_order(arrived(*arrivals))
    known, seq, mark, pieces = Known(), 0, None, []
    while arrivals:
        count = chance.randint(1, 10)
        some, arrivals = arrivals[:count], arrivals[count:]
        found = in_order(arrived(*some), known=known, seq=seq, high_water=mark)
        known.learn(found.learnt)
        seq, mark = found.seq, None if found.high_water is None else from_millis(found.high_water)
        pieces += rows_of(found.rows)
    assert pieces == rows_of(whole.rows)


def deliveries_of_one_event(chance: random.Random, number: int) -> list[str]:
    """Two to four honest copies: the phone's clock is right or wrong, the network quick or slow, and not every gateway stamps."""
    wrong, occurred = chance.choice((0.0, 0.0, 10_800.0, -7_200.0)), 100.0 * number
    told = []
    for _ in range(chance.randint(2, 4)):
        sent = occurred + chance.uniform(0, 1000)
        received = sent + chance.choice((0.2, 0.2, 0.2, 3.0, 29.0, 31.0, 90.0))
        stamps = {"sent_at": at(sent + wrong), "received_at": at(received)} if chance.random() < 0.9 else {}
        told.append(pop(f"e{number}", occurred + wrong, **stamps))
    return told


def event_times(lines: Sequence[str]) -> tuple[dict[str, int], dict[str, list[int]]]:
    """The event time that the log has of each id if the lines arrive so, and those of all its copies in their order."""
    judged = judged_table(lines, ingested_at=START + timedelta(days=1))
    rows = [row for row in rows_of(in_order(judged).rows) if row.event_time is not None]
    every: dict[str, list[int]] = defaultdict(list)
    for row in rows:
        every[row.event_id].append(row.event_time)
    assert {row.fate for row in rows} <= {EVENT, COPY}, "a copy that differs only in its stamps is honest"
    return {row.event_id: row.event_time for row in rows if row.fate == EVENT}, every


@pytest.mark.parametrize("seed", [18, 42])
def test_the_order_of_copies_is_irrelevant_where_they_give_one_event_time_and_else_the_first_decides(
    seed: int,
) -> None:
    """What is promised of the order of arrival, and what is not: docs/landing-format.md, "Copies"."""
    chance = random.Random(seed)
    lines = [line for number in range(60) for line in deliveries_of_one_event(chance, number)]
    shuffled = random.Random(seed + 1).sample(lines, len(lines))
    (logged, every), (other, others) = (event_times(order) for order in (lines, shuffled))
    alike = {event_id for event_id, times in every.items() if len(set(times)) == 1}
    assert {each: logged[each] for each in alike} == {each: other[each] for each in alike}
    for log, copies in ((logged, every), (other, others)):
        assert log == {event_id: times[0] for event_id, times in copies.items()}
    assert alike and any(logged[each] != other[each] for each in set(logged) - alike), "both cases occur"
