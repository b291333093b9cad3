"""The order of arrival: which copy is the first, and the high-water mark at each row."""

import random
from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import timedelta

import pytest
from deliveries import START, at, pop
from pyspark.sql import DataFrame, SparkSession

from transformations.arrival import content, in_order, with_first
from transformations.clock import Clock
from transformations.durations import to_millis
from transformations.events import parsed
from transformations.kind import COLUMN_TYPES
from transformations.kinds import fields

COLUMNS = ", ".join(
    [
        "event_id string, kind string, occurred_at timestamp",
        *(f"{field.name} {COLUMN_TYPES[field.type].simpleString()}" for field in fields().values()),
        "sent_at timestamp, received_at timestamp, event_time timestamp, place long, line long",
    ]
)


@dataclass(frozen=True)
class Arrival:
    """A pop at a place in the order of arrival; `moved` is what the correction of its clock adds."""

    event_id: str
    seconds: float = 0
    bubbles: int = 1
    place: int = 0
    line: int = 1
    sent: float | None = None
    moved: float = 0
    reaction_ms: int | None = None


def frame(spark: SparkSession, arrivals: Sequence[Arrival]) -> DataFrame:
    def moment(seconds: float) -> object:
        return START + timedelta(seconds=seconds)

    rows = [
        {
            "event_id": arrival.event_id,
            "kind": "bubbles_popped",
            "player_id": "alice",
            "team_id": "blue",
            "bubbles": arrival.bubbles,
            "reaction_ms": arrival.reaction_ms,
            "occurred_at": moment(arrival.seconds),
            "sent_at": None if arrival.sent is None else moment(arrival.sent),
            "event_time": moment(arrival.seconds + arrival.moved),
            "place": arrival.place,
            "line": arrival.line,
        }
        for arrival in arrivals
    ]
    schema = spark.createDataFrame([], COLUMNS).schema
    return spark.createDataFrame([tuple(row.get(name) for name in schema.names) for row in rows], schema).repartition(3)


def copies(
    spark: SparkSession, arrivals: Sequence[Arrival], known: Sequence[Arrival] | None = None
) -> list[bool | None]:
    """For each arrival, in the order given: null for a first one, else whether its content is the first one's."""
    log = None if known is None else frame(spark, known).select("event_id", *content())
    rows = with_first(frame(spark, arrivals), log).collect()
    found = {(row.place, row.line): row.copy for row in rows}
    assert len(rows) == len(arrivals), "a copy was lost or doubled"
    return [found[arrival.place, arrival.line] for arrival in arrivals]


@pytest.fixture(scope="module")
def marks(spark: SparkSession) -> list[tuple[str, int, float]]:
    """Id, `seq` and mark of one log, which stood at 50 s and row 7 before these came."""
    arrivals = [
        Arrival("below the old mark", 40, place=0, line=1),
        Arrival("above it", 60, place=0, line=2),
        Arrival("behind again", 55, place=0, line=10),
        Arrival("in the next file", 58, place=1, line=1),
        Arrival("corrected by its clock", 10, moved=60, place=1, line=2),
        Arrival("the last", 65, place=10, line=1),
    ]
    rows = in_order(frame(spark, arrivals), high_water=START + timedelta(seconds=50), seq=7)
    found = rows.orderBy("seq").selectExpr("event_id", "seq", "unix_millis(high_water) as mark").collect()
    return [(row.event_id, row.seq, (row.mark - to_millis(START)) / 1000) for row in found]


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


def test_the_first_mark_of_a_log_is_its_first_events_time(spark: SparkSession) -> None:
    arrivals = [Arrival("a", 5, line=1), Arrival("b", 3, line=2), Arrival("c", 8, line=3)]
    rows = in_order(frame(spark, arrivals), high_water=None, seq=0).orderBy("seq")
    found = rows.selectExpr("seq", "unix_millis(high_water) as mark").collect()
    assert [(row.seq, row.mark - to_millis(START)) for row in found] == [(1, 5000), (2, 5000), (3, 8000)]


def test_within_a_batch_the_first_arrival_wins_by_file_and_line(spark: SparkSession) -> None:
    arrivals = [
        Arrival("e", place=1, line=1),
        Arrival("e", place=0, line=10),
        Arrival("e", place=0, line=9),
        Arrival("other", place=0, line=1),
    ]
    assert copies(spark, arrivals) == [True, True, None, None]


def test_a_copy_that_differs_is_told_from_an_honest_one_within_a_batch(spark: SparkSession) -> None:
    arrivals = [
        Arrival("e", bubbles=7, line=1),
        Arrival("e", bubbles=8, line=2),
        Arrival("e", bubbles=7, line=3),
        Arrival("e", bubbles=8, line=4),
    ]
    assert copies(spark, arrivals) == [None, False, True, False]


def test_against_the_log_every_arrival_is_a_copy_even_the_first_of_its_batch(spark: SparkSession) -> None:
    arrivals = [
        Arrival("e", bubbles=8, line=1),
        Arrival("e", bubbles=7, line=2),
        Arrival("e", bubbles=8, line=3),
        Arrival("new", line=4),
        Arrival("new", line=5),
    ]
    log = [Arrival("e", bubbles=7), Arrival("another", place=1)]
    assert copies(spark, arrivals, log) == [False, True, False, None, True]


@pytest.mark.parametrize(
    ("changed", "copy"),
    [
        (Arrival("e", line=2), True),
        (Arrival("e", line=2, sent=99, moved=99), True),
        (Arrival("e", line=2, seconds=0.001), False),
        (Arrival("e", line=2, bubbles=2), False),
        (Arrival("e", line=2, reaction_ms=5), False),
    ],
    ids=["nothing", "time of sending", "time of occurrence", "a value", "an optional field"],
)
def test_what_makes_a_copy_differ(spark: SparkSession, changed: Arrival, copy: bool) -> None:
    assert copies(spark, [Arrival("e", line=1), changed]) == [None, copy]


def test_copies_do_not_raise_the_mark(spark: SparkSession) -> None:
    arrivals = [Arrival("a", 5, line=1), Arrival("a", 5, moved=100, line=2), Arrival("b", 6, line=3)]
    first = with_first(frame(spark, arrivals), None).where("copy is null")
    rows = in_order(first, high_water=None, seq=0).orderBy("seq")
    found = rows.selectExpr("event_id", "seq", "unix_millis(high_water) as mark").collect()
    assert [(row.event_id, row.seq, row.mark - to_millis(START)) for row in found] == [("a", 1, 5000), ("b", 2, 6000)]


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


def event_times(spark: SparkSession, lines: Sequence[str]) -> tuple[dict[str, int], dict[str, list[int]]]:
    """The event time that the log has of each id if the lines arrive so, and those of all its copies in their order."""
    arrived = [(line, START + timedelta(days=1), 0, number) for number, line in enumerate(lines)]
    frame = spark.createDataFrame(arrived, "value string, ingested_at timestamp, place long, line long")
    copies = with_first(parsed(frame, Clock()).where("reason is null"), None)
    rows = copies.selectExpr("event_id", "line", "copy", "unix_millis(event_time) as time").collect()
    every: dict[str, list[int]] = defaultdict(list)
    for row in sorted(rows, key=lambda row: row.line):
        every[row.event_id].append(row.time)
    assert {row.copy for row in rows} <= {None, True}, "a copy that differs only in its stamps is honest"
    return {row.event_id: row.time for row in rows if row.copy is None}, every


@pytest.mark.parametrize("seed", [18, 42])
def test_the_order_of_copies_is_irrelevant_where_they_give_one_event_time_and_else_the_first_decides(
    spark: SparkSession, seed: int
) -> None:
    """What is promised of the order of arrival, and what is not: docs/landing-format.md, "Copies"."""
    chance = random.Random(seed)
    lines = [line for number in range(60) for line in deliveries_of_one_event(chance, number)]
    shuffled = random.Random(seed + 1).sample(lines, len(lines))
    (logged, every), (other, others) = (event_times(spark, order) for order in (lines, shuffled))
    alike = {event_id for event_id, times in every.items() if len(set(times)) == 1}
    assert {each: logged[each] for each in alike} == {each: other[each] for each in alike}
    for log, copies in ((logged, every), (other, others)):
        assert log == {event_id: times[0] for event_id, times in copies.items()}
    assert alike and any(logged[each] != other[each] for each in set(logged) - alike), "both cases occur"
