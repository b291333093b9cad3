"""The arrivals at one version, by what became of them: `events`, which are the log, `duplicates` and `quarantine`."""

from collections.abc import Iterator
from functools import partial

from pyspark.sql import DataFrame, SparkSession, Window
from pyspark.sql import functions as F

from lakehouse.arrivals import (
    ARRIVALS,
    DUPLICATES,
    EVENTS,
    FATES,
    QUARANTINE,
)
from lakehouse.lake import marker
from lakehouse.log import arrivals_at, duplicates_at, log_at, quarantine_at
from quality.log_rules import ORIGIN, arrival_rules, duplicate_rules, event_rules, quarantine_rules, schema_of
from quality.pins import Pin
from quality.pseudonyms import pseudonymised
from quality.rules import copies
from quality.subjects import Subject
from transformations.lines.hashes import id_hash_sql

NAMES = (ARRIVALS, *FATES)
"""What the tables of the log are called here: the arrivals as a whole, and by what became of them."""


def log_subjects(spark: SparkSession, at: Pin, key: bytes) -> Iterator[Subject]:
    where, kinds = {"log_version": at.version}, at.lake.pipeline.kinds
    hashes = id_hash_sql(marker(at.lake).hash_key)
    yield Subject(
        at.lake.of_log(ARRIVALS),
        at.version,
        schema_of(ARRIVALS, kinds),
        read=partial(arrivals_at, spark, at.lake, at.version),
        prepare=_with_arrival_before,
        rules=partial(arrival_rules, at),
        pinned=where,
    )
    yield Subject(
        at.lake.of_log(EVENTS),
        at.version,
        schema_of(EVENTS, kinds),
        read=partial(log_at, spark, at.lake, at.version),
        prepare=partial(_with_neighbours, hashes),
        rules=partial(event_rules, at),
        pinned=where,
    )
    yield Subject(
        at.lake.of_log(DUPLICATES),
        at.version,
        schema_of(DUPLICATES, kinds),
        read=partial(duplicates_at, spark, at.lake, at.version),
        prepare=partial(_with_original, spark, at, key),
        rules=partial(duplicate_rules, at),
        pinned=where,
    )
    yield Subject(
        at.lake.of_log(QUARANTINE),
        at.version,
        schema_of(QUARANTINE, kinds),
        read=partial(quarantine_at, spark, at.lake, at.version),
        prepare=partial(_with_waiting, spark, at),
        rules=partial(quarantine_rules, at),
        pinned=where,
    )


def _with_arrival_before(arrivals: DataFrame) -> DataFrame:
    """Each row with the number of the one before, and how often its line is there, but for rows of a requeue."""
    landed = F.when(~F.col("requeued"), F.struct(*ORIGIN))
    return arrivals.withColumns(
        {
            "_arrival_before": F.lag("arrival", 1, 0).over(Window.orderBy("arrival")),
            "_rows_of_line": F.when(landed.isNotNull(), F.count(landed).over(Window.partitionBy(landed))),
        }
    )


def _with_neighbours(hashes: tuple[str, str], events: DataFrame) -> DataFrame:
    """Each event with the place and the mark before it, the greatest event time up to it, and the hash of its id.

    The hash is made here and not in a rule: rules are shown, and the key of the lake would stand there.
    """
    order = Window.orderBy("seq")
    so_far = order.rowsBetween(Window.unboundedPreceding, 0)
    return events.withColumns(
        {
            "_seq_before": F.lag("seq", 1, 0).over(order),
            "_mark_before": F.lag("high_water").over(order),
            "_greatest": F.max("event_time").over(so_far),
            "_id_high": F.expr(hashes[0]),
            "_id_low": F.expr(hashes[1]),
            **copies(["event_id"]),
        }
    )


def _with_original(spark: SparkSession, at: Pin, key: bytes, duplicates: DataFrame) -> DataFrame:
    """Each copy with `_same`: whether it says what the event of the log says, null if there is no such event."""
    pipeline = at.lake.pipeline
    facts = F.struct(*pipeline.content())
    log = pseudonymised(log_at(spark, at.lake, at.version), key, pipeline.personal())
    originals = log.groupBy("event_id").agg(F.min_by(facts, "seq").alias("_original"))
    same = F.when(F.col("_original").isNotNull(), F.col("_original").eqNullSafe(facts))
    return (
        duplicates.withColumns(copies(ORIGIN))
        .join(originals, "event_id", "left")
        .withColumn("_same", same)
        .drop("_original")
    )


def _with_waiting(spark: SparkSession, at: Pin, lines: DataFrame) -> DataFrame:
    """Each line with `_waiting`: whether no requeue has made an event or a copy of it since."""
    taken = arrivals_at(spark, at.lake, at.version).where("requeued").select(*ORIGIN).distinct()
    return (
        lines.withColumns(copies(ORIGIN))
        .join(taken.withColumn("_taken", F.lit(True)), list(ORIGIN), "left")
        .withColumn("_waiting", F.col("_taken").isNull())
        .drop("_taken")
    )
