"""The log and what ingestion put aside: `events`, `duplicates` and `quarantine`, up to one commit of the log."""

from collections.abc import Callable, Iterator
from functools import partial

from pyspark.sql import DataFrame, SparkSession, Window
from pyspark.sql import functions as F

from lakehouse.commits import newest
from lakehouse.log import DUPLICATES, EVENTS, QUARANTINE, SCHEMAS, log_at
from lakehouse.tables import read_table
from quality.log_rules import ORIGIN, duplicate_rules, event_rules, quarantine_rules
from quality.pins import Pin
from quality.pseudonyms import pseudonymised
from quality.rules import copies
from quality.subjects import Subject
from transformations.arrival import content


def log_subjects(spark: SparkSession, at: Pin, key: bytes) -> Iterator[Subject]:
    names = {table: at.lake.of_log(table) for table in (EVENTS, DUPLICATES, QUARANTINE)}
    where = {"log_version": at.version}
    aside = {**where, "batch": at.position.batch}
    duplicates, quarantine = (newest(at.lake, names[table]) for table in (DUPLICATES, QUARANTINE))
    copies_then = partial(_aside, spark, at, DUPLICATES, duplicates)
    yield Subject(
        names[EVENTS],
        at.version,
        SCHEMAS[EVENTS],
        read=partial(log_at, spark, at.lake, at.version),
        prepare=_with_neighbours,
        rules=partial(event_rules, at),
        pinned=where,
    )
    yield Subject(
        names[DUPLICATES],
        duplicates,
        SCHEMAS[DUPLICATES],
        read=copies_then,
        prepare=partial(_with_original, spark, at, key),
        rules=partial(duplicate_rules, at),
        pinned=aside,
    )
    yield Subject(
        names[QUARANTINE],
        quarantine,
        SCHEMAS[QUARANTINE],
        read=partial(_aside, spark, at, QUARANTINE, quarantine),
        prepare=partial(_with_waiting, spark, at, copies_then),
        rules=partial(quarantine_rules, at),
        pinned=aside,
    )


def _aside(spark: SparkSession, at: Pin, table: str, version: int) -> DataFrame:
    """What ingestion had put aside when the log had its commit; what a micro-batch wrote that is not finished is not in it."""
    rows = read_table(spark, at.lake, at.lake.of_log(table), version=version)
    return rows.where(F.col("batch") <= at.position.batch)


def _with_neighbours(events: DataFrame) -> DataFrame:
    """Each event with the place and the mark before it, and the greatest event time up to it."""
    order = Window.orderBy("seq")
    so_far = order.rowsBetween(Window.unboundedPreceding, 0)
    return events.withColumns(
        {
            "_seq_before": F.lag("seq", 1, 0).over(order),
            "_mark_before": F.lag("high_water").over(order),
            "_greatest": F.max("event_time").over(so_far),
            **copies(["event_id"]),
        }
    )


def _with_original(spark: SparkSession, at: Pin, key: bytes, duplicates: DataFrame) -> DataFrame:
    """Each copy with `_same`: whether it says what the event of the log says, null if there is no such event."""
    facts = F.struct(*content())
    log = pseudonymised(log_at(spark, at.lake, at.version), key)
    originals = log.groupBy("event_id").agg(F.min_by(facts, "seq").alias("_original"))
    same = F.when(F.col("_original").isNotNull(), F.col("_original").eqNullSafe(facts))
    return (
        duplicates.withColumns(copies(ORIGIN))
        .join(originals, "event_id", "left")
        .withColumn("_same", same)
        .drop("_original")
    )


def _with_waiting(spark: SparkSession, at: Pin, copies_then: Callable[[], DataFrame], lines: DataFrame) -> DataFrame:
    """Each line with `_waiting`: whether no requeue has made an event or a copy of it since."""
    events, duplicates = log_at(spark, at.lake, at.version), copies_then()
    taken = events.select(*ORIGIN).unionByName(duplicates.select(*ORIGIN)).distinct().withColumn("_taken", F.lit(True))
    return (
        lines.withColumns(copies(ORIGIN))
        .join(taken, list(ORIGIN), "left")
        .withColumn("_waiting", F.col("_taken").isNull())
        .drop("_taken")
    )
