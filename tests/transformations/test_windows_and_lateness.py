"""Windows, lateness and durations: the arithmetic that the engine, the repair and the log have to agree on."""

import random
from datetime import UTC, datetime, timedelta
from functools import reduce

import pytest
from deliveries import START
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F

from transformations.durations import from_millis, milliseconds, parse_duration, to_millis, written
from transformations.shape import earlier
from transformations.windows import Hopping, Tumbling

SIZES = [
    timedelta(milliseconds=1),
    timedelta(milliseconds=7),
    timedelta(seconds=1),
    timedelta(seconds=13),
    timedelta(seconds=90),
    timedelta(minutes=1),
    timedelta(minutes=7),
    timedelta(hours=5),
    timedelta(days=1),
    timedelta(days=7),
]


def some_times(size: timedelta, rng: random.Random) -> list[int]:
    """Times in milliseconds on both sides of 1970: at random, and at the edges of windows of this size."""
    reach = 60 * 365 * 24 * 3600 * 1000
    anywhere = [rng.randint(-reach, reach) for _ in range(50)]
    edges = [rng.randint(-1000, 1000) * milliseconds(size) for _ in range(10)]
    return [0, -1, 1, *anywhere, *(edge + step for edge in edges for step in (-1, 0, 1))]


def both_ways(spark: SparkSession, size: timedelta, rng: random.Random) -> DataFrame:
    times = spark.createDataFrame([(time,) for time in some_times(size, rng)], "millis long")
    times = times.select(F.timestamp_millis("millis").alias("event_time"))
    window = Tumbling(size)
    return window.placed(times).select(
        F.lit(written(size)).alias("size"),
        F.unix_millis("event_time").alias("time"),
        F.unix_millis("window.start").alias("start"),
        F.unix_millis("window.end").alias("end"),
        F.unix_millis(window.start(F.col("event_time"))).alias("computed_start"),
        F.unix_millis(window.end(F.col("event_time"))).alias("computed_end"),
    )


def test_the_arithmetic_of_windows_is_that_of_the_engine(spark: SparkSession) -> None:
    rng = random.Random(5)
    rows = reduce(DataFrame.union, [both_ways(spark, size, rng) for size in SIZES]).collect()
    assert len(rows) == len(SIZES) * 83
    for row in rows:
        assert (row.computed_start, row.computed_end) == (row.start, row.end), row
        assert row.start <= row.time < row.end, row
        assert row.end - row.start == milliseconds(parse_duration(row.size)), row


@pytest.mark.parametrize("size", [timedelta(0), timedelta(seconds=-1)])
def test_a_window_needs_a_size_above_zero(size: timedelta) -> None:
    with pytest.raises(ValueError, match="a window needs a size above zero"):
        Tumbling(size)


def test_a_window_cannot_be_finer_than_a_millisecond() -> None:
    with pytest.raises(ValueError, match="finer than a millisecond"):
        Tumbling(timedelta(microseconds=1500))


def test_late_and_settled_include_their_bound(spark: SparkSession) -> None:
    """Windows of a minute, 5 minutes allowed: the window [0, 60 s) is settled at a mark of 360 s, not before."""
    window, allowed = Tumbling(timedelta(minutes=1)), timedelta(minutes=5)
    cases = [
        # event time, mark, late
        (0.0, 359.999, False),
        (0.0, 360.0, True),
        (59.999, 359.999, False),
        (59.999, 360.0, True),
        (60.0, 360.0, False),
        (60.0, 419.999, False),
        (60.0, 420.0, True),
        (0.0, 0.0, False),
        (400.0, 400.0, False),
    ]
    rows = [
        (number, START + timedelta(seconds=time), START + timedelta(seconds=mark))
        for number, (time, mark, _) in enumerate(cases)
    ]
    events = spark.createDataFrame(rows, "number int, event_time timestamp, high_water timestamp")
    ended = window.placed(events).withColumn("window_end", window.end(F.col("event_time")))
    before = earlier(F.col("high_water"), allowed)
    judged = ended.select("number", window.late(allowed).alias("late"), window.settled(before).alias("settled"))
    for row in judged.collect():
        assert (row.late, row.settled) == (cases[row.number][2],) * 2, cases[row.number]


def test_without_allowed_lateness_a_window_is_settled_at_its_end(spark: SparkSession) -> None:
    moments = [(START, START + timedelta(seconds=60)), (START, START + timedelta(seconds=59.999))]
    events = spark.createDataFrame(moments, "event_time timestamp, high_water timestamp").coalesce(1)
    window = Tumbling(timedelta(minutes=1))
    judged = window.placed(events).select(window.late(timedelta(0)).alias("late")).collect()
    assert [row.late for row in judged] == [True, False]


def test_a_row_can_be_late_for_some_of_its_hopping_windows_and_in_time_for_others(spark: SparkSession) -> None:
    """Windows of 20 s every 5 s: an event at 60 s is in those that end at 65, 70, 75 and 80 s."""
    window = Hopping(timedelta(seconds=20), timedelta(seconds=5))
    moments = [(START + timedelta(seconds=60), START + timedelta(seconds=75))]
    events = spark.createDataFrame(moments, "event_time timestamp, high_water timestamp")
    judged = window.placed(events).select(
        (F.unix_seconds("window.end") - F.lit(int(START.timestamp()))).alias("end"),
        window.late(timedelta(seconds=5)).alias("late"),
    )
    assert sorted((row.end, row.late) for row in judged.collect()) == [(65, True), (70, True), (75, False), (80, False)]


def test_hopping_windows_may_not_leave_gaps() -> None:
    with pytest.raises(ValueError, match="would leave events out"):
        Hopping(timedelta(seconds=5), timedelta(seconds=6))


@pytest.mark.parametrize(
    ("text", "duration"),
    [
        ("5 minutes", timedelta(minutes=5)),
        ("1 minute", timedelta(minutes=1)),
        ("90 seconds", timedelta(seconds=90)),
        ("250 milliseconds", timedelta(milliseconds=250)),
        ("2 Hours", timedelta(hours=2)),
        (" 1 day ", timedelta(days=1)),
        ("30minutes", timedelta(minutes=30)),
        ("0 seconds", timedelta(0)),
    ],
)
def test_a_duration_is_a_number_and_a_unit(text: str, duration: timedelta) -> None:
    assert parse_duration(text) == duration


@pytest.mark.parametrize(
    "text", ["", "5", "minutes", "-5 minutes", "1.5 hours", "5 parsecs", "5 min", "1 hour 5 minutes", "1 month"]
)
def test_anything_else_is_refused_with_the_units_named(text: str) -> None:
    with pytest.raises(ValueError, match="milliseconds, seconds, minutes, hours, days, e.g. '5 minutes'") as refusal:
        parse_duration(text)
    assert str(refusal.value).startswith(f"{text!r} is not a duration")


@pytest.mark.parametrize(
    ("duration", "text"),
    [
        (timedelta(minutes=5), "5 minutes"),
        (timedelta(minutes=1), "1 minute"),
        (timedelta(seconds=90), "90 seconds"),
        (timedelta(hours=24), "1 day"),
        (timedelta(days=1, milliseconds=1), "86400001 milliseconds"),
        (timedelta(0), "0 seconds"),
    ],
)
def test_a_duration_is_written_in_the_largest_unit_that_divides_it(duration: timedelta, text: str) -> None:
    assert written(duration) == text
    assert parse_duration(text) == duration


def test_milliseconds_refuse_what_is_finer() -> None:
    assert milliseconds(timedelta(seconds=1.5)) == 1500
    with pytest.raises(ValueError, match="finer than a millisecond"):
        milliseconds(timedelta(microseconds=1))


@pytest.mark.parametrize("moment", [datetime(1969, 12, 31, 23, 59, 59, 999000, UTC), datetime(2026, 3, 1, tzinfo=UTC)])
def test_milliseconds_and_moments_are_inverse(moment: datetime) -> None:
    assert from_millis(to_millis(moment)) == moment


def test_a_moment_before_1970_is_cut_downwards() -> None:
    assert to_millis(datetime(1969, 12, 31, 23, 59, 59, 999900, UTC)) == -1
