"""Event time against processing time: the charted result by both clocks, of the same log delivered twice.

The second control. Once as received, and once with ten minutes of it held back: by processing time that is an outage and
a spike that never happened; by event time it makes some events late, and must change no answer.
"""

from dataclasses import dataclass
from datetime import datetime, timedelta

from pyspark.sql import DataFrame, Observation, Row, SparkSession
from pyspark.sql import functions as F

from lakehouse.lake import Lake
from lakehouse.log import log_at
from lakehouse.settings import Lateness
from reconciliation.backlog import AS_RECEIVED, DELIVERIES, busiest, delivered
from reconciliation.charted import added, columns_to_add, drawn
from transformations.durations import from_millis, milliseconds
from transformations.result import Result
from transformations.windows import Tumbling

HOLD, BUCKET = 600_000, 60_000  # in milliseconds, and more where windows are longer
AROUND = 3  # holds that are shown before the outage, and after it


@dataclass(frozen=True)
class Answers:
    """What one clock says of the time shown: the keys of either delivery, how many of them are not equal in every
    value, and the sum of the charted column over all keys in each bucket."""

    keys: int
    differing: int
    as_received: list[float]
    held_back: list[float]


@dataclass(frozen=True)
class Redelivery:
    """Both deliveries of a result by both clocks, around `[held_from, held_until)`; how many scored events were `held`, and
    how many of those came `late` in each delivery."""

    result: str
    value: str
    held_from: datetime
    held_until: datetime
    bucket: timedelta
    starts: list[datetime]
    processing_time: Answers
    event_time: Answers
    held: int
    late: dict[str, int]

    @property
    def spike(self) -> tuple[datetime, float, float]:
        """The greatest bucket by processing time of what was held back, and what it is without the delay."""
        sums = self.processing_time
        return max(zip(self.starts, sums.held_back, sums.as_received, strict=True), key=lambda each: each[1])


def redelivery(
    spark: SparkSession, lake: Lake, scores: Result, log_version: int, lateness: Lateness
) -> Redelivery | None:
    """The busiest stretch of the log at a version, held back; none where the log has nothing for it."""
    if not isinstance(scores.window, Tumbling):  # the chart lays windows side by side
        return None
    value = next(iter(columns_to_add(lake, scores)), None)
    if value is None:
        return None
    log, size = log_at(spark, lake, log_version, whole=True), milliseconds(scores.window.size)
    bucket = -(-BUCKET // size) * size  # rounded up to whole windows, and the hold to whole buckets
    length = -(-HOLD // bucket) * bucket
    hold = busiest(log, scores.concerns(), length)
    if hold is None:
        return None
    shown = range(hold.start - AROUND * length, hold.until + AROUND * length, bucket)
    end = F.unix_millis("event_time") - F.pmod(F.unix_millis("event_time"), F.lit(size)) + size
    late = end <= F.unix_millis("high_water") - milliseconds(lateness.allowed)
    events = delivered(log, hold, shown, by=_origin(lake, scores)).where(scores.concerns()).withColumn("late", late)
    counts = Observation()
    of = {name: F.col("waits") & (F.col("delivery") == name) for name in DELIVERIES}
    late_in = (F.count_if(of[name] & F.col("late")).alias(name) for name in DELIVERIES)
    events = events.observe(counts, F.count_if(of[AS_RECEIVED]).alias("held"), *late_in)
    processing, event = _answers(events, scores, value, shown, drop=lateness.policy == "drop")
    return Redelivery(
        result=scores.name,
        value=value,
        held_from=from_millis(hold.start),
        held_until=from_millis(hold.until),
        bucket=timedelta(milliseconds=bucket),
        starts=[from_millis(start) for start in shown],
        processing_time=processing,
        event_time=event,
        held=counts.get["held"],
        late={name: counts.get[name] for name in DELIVERIES},
    )


def _origin(lake: Lake, result: Result) -> str:
    """The field by which a queue would spread the events: the first one of their kind."""
    kinds = {kind.name: kind for kind in lake.pipeline.kinds}
    return next((field.name for name in result.kinds for field in kinds[name].fields), "event_id")


def _answers(events: DataFrame, scores: Result, value: str, shown: range, *, drop: bool) -> list[Answers]:
    """The shared function over both deliveries, by processing time and by event time: all in one job."""
    processing = F.col("clock") == "processing"
    events = events.withColumn("clock", F.explode(F.array(F.lit("processing"), F.lit("event"))))
    time = F.when(processing, F.timestamp_millis("processed")).otherwise(F.col("event_time"))
    taken = events.where(processing | ~F.col("late")) if drop else events
    answers = scores.of(taken.withColumn("event_time", time), ("clock", "delivery"))
    place = F.floor((F.unix_millis("window_start") - shown.start) / shown.step)
    key = [name for name in scores.columns if name not in scores.value_names]
    values = F.struct(*scores.value_names)
    differs = (F.count("*") != len(DELIVERIES)) | (F.min(values) != F.max(values))
    sides = (added(value, F.col("delivery") == name).alias(name) for name in DELIVERIES)
    keys = answers.groupBy("clock", *key).agg(differs.alias("differs"), *sides).withColumn("place", place)
    sums = (F.sum(name).alias(name) for name in DELIVERIES)
    counts = F.count("*").alias("keys"), F.count_if("differs").alias("differing")
    rows = keys.where(place.between(0, len(shown) - 1)).groupBy("clock", "place").agg(*counts, *sums).collect()
    return [_added([row for row in rows if row["clock"] == clock], len(shown)) for clock in ("processing", "event")]


def _added(rows: list[Row], buckets: int) -> Answers:
    at = {row["place"]: row for row in rows}
    lines = ([drawn(at[place][name]) if place in at else 0 for place in range(buckets)] for name in DELIVERIES)
    return Answers(sum(row["keys"] for row in rows), sum(row["differing"] for row in rows), *lines)
