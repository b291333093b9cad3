"""The sums of a batch table, stretch by stretch, and what the log had of them when each stretch was computed last.

A stretch lies between two ends of intervals that were recomputed. Each is of the log as it was for the run that computed
it last; the log is read once, at the pin, up to that run's number of events, so that no commit of back then is needed.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from decimal import Decimal

from pyspark.sql import Column, DataFrame, SparkSession
from pyspark.sql import functions as F

from lakehouse.batches import Coverage, Interval, read_batch, stretches
from lakehouse.lake import Lake
from lakehouse.log import log_at
from quality.pins import Pin
from quality.placing import Placing, placing
from quality.totals import added
from transformations.durations import milliseconds
from transformations.result import Result, Total

ROWS = "rows"
Sums = dict[str, int | Decimal]


@dataclass(frozen=True)
class Stretch:
    """`found` is what the table adds up to there, `expected` what the log had. A `gap` lies between what was computed."""

    interval: Interval
    run: Coverage | None
    gap: bool
    events: int
    """Events of the result's kinds that the log has there at the pin, and had not when it was computed."""
    found: Sums
    expected: Sums | None
    """None if it cannot be known from the log by other code."""


SumsAt = Callable[[Lake, Result, Sequence[Coverage]], list[Stretch]]


def sums_at(spark: SparkSession, at: Pin) -> SumsAt:
    """The stretches of a result's batch table; each is computed once."""
    known: dict[str, list[Stretch]] = {}

    def sums(lake: Lake, result: Result, covered: Sequence[Coverage]) -> list[Stretch]:
        if result.id not in known:
            known[result.id] = _stretches(spark, at, lake, result, covered)
        return known[result.id]

    return sums


def totals_named(result: Result) -> dict[str, Total]:
    """What the rows of a result have to add up to, by the column; `rows` is their number."""
    named = {value.name: value.total for value in result.values if value.total is not None}
    return named if result.rows is None else {**named, ROWS: result.rows}


def _stretches(spark: SparkSession, at: Pin, lake: Lake, result: Result, covered: Sequence[Coverage]) -> list[Stretch]:
    cut = stretches(covered)
    held = [place for place, (_, run) in enumerate(cut) if run is not None]
    totals, how = totals_named(result), placing(result.window)
    log, bounds = log_at(spark, lake, at.version), _bounds(spark, at, cut)
    found: dict[int, Sums] = {}
    expected: dict[int, Sums] | None = None
    if totals:
        table = _found(read_batch(spark, lake, result, covered), bounds, totals)
        found = _collected(table.drop("_ends"), totals)
        if how is not None:
            expected = _collected(_expected(log, result, table, bounds, totals, how), totals)
    seen_all = all(run is not None and run.seq == at.position.seq for _, run in cut)
    unseen = {} if seen_all else _unseen(log, result, bounds)
    none: Sums = dict.fromkeys(totals, 0)
    return [
        Stretch(
            interval, run, run is None and held[0] < place < held[-1], unseen.get(place, 0),
            found.get(place, none), None if expected is None else expected.get(place, none),
        )
        for place, (interval, run) in enumerate(cut)
    ]  # fmt: skip


def _bounds(spark: SparkSession, at: Pin, cut: Sequence[tuple[Interval, Coverage | None]]) -> DataFrame:
    """The stretches as a frame, made in the JVM; what nobody has computed is looked at as of the pin."""
    rows = ", ".join(
        f"({place}, {_millis(interval.first_millis)}, {_millis(interval.end_millis)}, "
        f"{at.position.seq if run is None else run.seq}L, {str(run is not None).lower()})"
        for place, (interval, run) in enumerate(cut)
    )
    return spark.sql(f"select * from values {rows} as stretches(place, first, end, seq_then, held)")


def _millis(moment: int | None) -> str:
    return "cast(null as timestamp)" if moment is None else f"timestamp_millis({moment})"


def _found(rows: DataFrame, bounds: DataFrame, totals: dict[str, Total]) -> DataFrame:
    """The sums of the table in each stretch that has a row, and how far its windows reach."""
    added = [(F.count(F.lit(1)) if name == ROWS else F.sum(name)).alias(name) for name in totals]
    inside = rows.join(F.broadcast(bounds), _within("window_start"))
    return inside.groupBy("place").agg(*added, F.max("window_end").alias("_ends"))


def _expected(
    log: DataFrame, result: Result, table: DataFrame, bounds: DataFrame, totals: dict[str, Total], how: Placing
) -> DataFrame:
    """The same sums of the log. A chain is followed as far as the table says that one of its windows reaches: one that
    goes on beyond has an event within, which no row of the table counts."""
    reach = bounds.join(table.select("place", "_ends"), "place", "left").withColumn(
        "_until", F.when(F.col("end").isNotNull(), F.greatest("end", "_ends"))
    )
    kinds = sorted({total.kind for total in totals.values()})
    at, near = F.unix_millis("event_time"), F.lit(True)
    if not how.everywhere:
        first, until = (F.unix_millis(name) for name in ("first", "_until"))
        near = (first.isNull() | (at >= first - milliseconds(how.before))) & (
            until.isNull() | (at <= until + milliseconds(how.after))
        )
    events = log.where(F.col("kind").isin(kinds)).join(F.broadcast(reach), (F.col("seq") <= F.col("seq_then")) & near)
    placed = how.starts(events, ["place", *result.grouping]).where(_within("window_start"))
    return placed.groupBy("place").agg(*(added(total).alias(name) for name, total in totals.items()))


def _unseen(log: DataFrame, result: Result, bounds: DataFrame) -> dict[int, int]:
    """How many events lie in each stretch that its run has not seen: all of them, if there was none."""
    since = ~F.col("held") | (F.col("seq") > F.col("seq_then"))
    inside = log.where(result.concerns()).join(F.broadcast(bounds), since & _within("event_time"))
    return {row.place: row["count"] for row in inside.groupBy("place").count().collect()}


def _within(moment: str) -> Column:
    first, end = F.col("first"), F.col("end")
    return (first.isNull() | (F.col(moment) >= first)) & (end.isNull() | (F.col(moment) < end))


def _collected(sums: DataFrame, names: dict[str, Total]) -> dict[int, Sums]:
    return {row.place: {name: row[name] or 0 for name in names} for row in sums.collect()}
