"""The order of arrival: which copy is the first, and the high-water mark at each row."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import timedelta

import pytest
from deliveries import START
from pyspark.sql import DataFrame, SparkSession

from transformations.arrival import content, in_order, with_first
from transformations.durations import to_millis
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
