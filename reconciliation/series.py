"""What the charts of the report show, aggregated in Spark: both layers over event time, and how late events came."""

from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from functools import reduce

from pyspark.sql import Column, DataFrame, SparkSession
from pyspark.sql import functions as F

from lakehouse.batches import batch_name
from lakehouse.changelogs import boundary, mark, read_kappa
from lakehouse.control import control_boundary, read_legacy
from lakehouse.errors import NothingToCompare
from lakehouse.lake import Lake
from lakehouse.log import log_at
from lakehouse.table_files import read_files
from reconciliation.charted import added, charted_first, columns_to_add, drawn
from transformations.durations import from_millis, milliseconds
from transformations.result import Result
from transformations.windows import Tumbling

POINTS = 150
MINUTE, HOUR, DAY = 60_000, 3_600_000, 86_400_000
STEPS = (1, 1000, 10_000, *(n * MINUTE for n in (1, 2, 5, 10, 15, 30)), *(n * HOUR for n in (1, 2, 3, 6, 12)), DAY)
FEW = 0.001  # a share of the rows so small that their times do not stretch the axis
LATENESS = tuple(
    timedelta(milliseconds=ms) for ms in (1, 1000, 10_000, MINUTE, 5 * MINUTE, 30 * MINUTE, 2 * HOUR, 6 * HOUR)
)


@dataclass(frozen=True)
class LayerSeries:
    """The sum of one value of one result per bucket of event time, for each layer that has run.

    `outside` is what a layer has before the first bucket or after the mark: single events from long ago, and what the
    control puts at the time of its processing. `settled_before` is where the open part starts.
    """

    result: str
    value: str
    bucket: timedelta
    starts: list[datetime]
    sums: dict[str, list[float]]
    outside: dict[str, float]
    settled_before: datetime
    high_water: datetime


@dataclass(frozen=True)
class LatenessBucket:
    """How many events came at least `least` and less than `below` behind the mark; none: without an upper bound."""

    least: timedelta
    below: timedelta | None
    events: int
    beyond_allowed: bool


@dataclass(frozen=True)
class Series:
    layers: LayerSeries | None
    lateness: list[LatenessBucket] = field(default_factory=list)


def series(spark: SparkSession, lake: Lake, results: Sequence[Result], log_version: int, allowed: timedelta) -> Series:
    """Both series at one version of the log."""
    return Series(layers(spark, lake, results, log_version, allowed), lateness(spark, lake, log_version, allowed))


def layers(
    spark: SparkSession, lake: Lake, results: Sequence[Result], log_version: int, allowed: timedelta
) -> LayerSeries | None:
    """The layers over event time, or none where no result has a number that adds up exactly or the batch layer has no row."""
    charted = [
        (result, result.window.size, value)
        for result in charted_first(lake, results)
        if isinstance(result.window, Tumbling)
        for value in columns_to_add(lake, result)
    ]
    if not charted or not lake.has(batch_name(charted[0][0])):
        return None
    result, size, value = charted[0]
    high_water = mark(lake, log_version)
    batch = read_files(spark, lake, batch_name(result))
    start = F.unix_millis("window_start")
    reach = batch.where(F.col("window_start") <= F.lit(high_water)).agg(
        F.min(start).alias("first"), F.percentile_approx(start, FEW).alias("usual"), F.max(start).alias("last")
    )
    row = reach.first()
    if row is None or row["first"] is None:
        return None
    last = int(row["last"])
    # A single event from years ago is in the result, but the chart would be nothing but it.
    first = int(row["first"]) if last - row["first"] <= 2 * (last - row["usual"]) else int(row["usual"])
    step = _step(last - first, milliseconds(size))
    first -= first % step
    bucket = (F.lit(first) + F.floor((start - first) / step) * step).cast("long")
    shown = start.between(first, last)
    sides = [
        rows.groupBy(F.when(shown, bucket).alias("bucket"))
        .agg(added(value).alias("sum"))
        .withColumn("layer", F.lit(name))
        for name, rows in _answers(spark, lake, result, batch, log_version)
    ]
    summed = {(row.layer, row.bucket): drawn(row["sum"]) for row in reduce(DataFrame.unionByName, sides).collect()}
    starts = list(range(first, last + 1, step))
    names = [name for name in ("batch", "kappa", "legacy") if any(layer == name for layer, _ in summed)]
    return LayerSeries(
        result=result.name,
        value=value,
        bucket=timedelta(milliseconds=step),
        starts=[from_millis(each) for each in starts],
        sums={name: [summed.get((name, each), 0) for each in starts] for name in names},
        outside={name: summed.get((name, None), 0) for name in names},
        settled_before=high_water - allowed,
        high_water=high_water,
    )


def lateness(spark: SparkSession, lake: Lake, log_version: int, allowed: timedelta) -> list[LatenessBucket]:
    """How far behind the mark the events of the log arrived. The allowed lateness is an edge of the buckets."""
    edges = sorted({*LATENESS, *([allowed] if allowed > timedelta(0) else [])})
    behind = F.unix_millis("high_water") - F.unix_millis("event_time")
    place: Column = reduce(
        lambda found, edge: found + F.when(behind >= milliseconds(edge), 1).otherwise(0), edges, F.lit(0)
    )
    counted = log_at(spark, lake, log_version, whole=True).groupBy(place.alias("place")).count().collect()
    events = {row.place: int(row["count"]) for row in counted}
    bounds = [timedelta(0), *edges]
    return [
        LatenessBucket(
            least, bounds[index + 1] if index + 1 < len(bounds) else None, events.get(index, 0), least >= allowed
        )
        for index, least in enumerate(bounds)
    ]


def _answers(
    spark: SparkSession, lake: Lake, result: Result, batch: DataFrame, log_version: int
) -> Iterator[tuple[str, DataFrame]]:
    """What each layer answers; one that has not run by then has no line in the chart."""
    yield "batch", batch
    with suppress(NothingToCompare):
        yield "kappa", read_kappa(spark, lake, result, boundary(lake, result, log_version))
    with suppress(NothingToCompare):
        yield "legacy", read_legacy(spark, lake, result, control_boundary(lake))


def _step(reach: int, window: int) -> int:
    """The bucket, in milliseconds: a round length of whole windows that gives at most `POINTS` of them."""
    least = max(reach / (POINTS - 1), window)
    fitting = [step for step in STEPS if step >= least and step % window == 0]
    return fitting[0] if fitting else -(-int(least) // window) * window
