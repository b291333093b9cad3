"""Hypotheses about a difference of the stream: the events that it would have seen if one thing had gone wrong.

A hypothesis takes a set of events away from a key, or counts them twice. Each is tried with those of one cause alone,
late or lost, before both together, so that no cause is named that the cell would be the same without. Whether a
hypothesis holds, `causes` finds out by computing the cell from its rows.
"""

from dataclasses import dataclass

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F

LATE, DUPLICATE, PROCESSING_TIME, LOST, DRIFT = "late", "duplicate", "processing time", "lost", "logic drift"
CAUSES = (LATE, DUPLICATE, PROCESSING_TIME, LOST, DRIFT)


@dataclass(frozen=True)
class Hypothesis:
    """`rows` are what the stream saw under the hypothesis, each with the columns `about` (the key and window in
    question) and `hypothesis`; `named` has `about`, `hypothesis`, `causes` and `event_ids`. Of several that name as few
    causes and events, the one with the lowest `rank` wins."""

    rank: int
    rows: DataFrame
    named: DataFrame


def without_late(events: DataFrame, late: Column) -> Hypothesis:
    """Every late event was dropped."""
    return _removed(1, events, _suspects(events, _why_gone(late), F.lit(LATE)).where(F.col("cause") == LATE))


def one_removed(events: DataFrame, late: Column) -> Hypothesis:
    """One event was lost, or dropped for being late: one hypothesis an event."""
    return _removed(2, events, _suspects(events, _why_gone(late), _called("without ", "event_id")))


def one_doubled(events: DataFrame) -> Hypothesis:
    """One event was counted twice: one hypothesis an event."""
    return _doubled(3, events, _suspects(events, F.lit(DUPLICATE), _called("twice ", "event_id")))


def batch_removed(events: DataFrame, late: Column) -> Hypothesis:
    """Of one commit of the log the late events are gone, or those on time, or both: three hypotheses a commit."""
    return _removed(4, events, _by_cause(_suspects(events, _why_gone(late), _called("without commit ", "batch"))))


def batch_doubled(events: DataFrame) -> Hypothesis:
    """A whole commit of the log was counted twice: one hypothesis a commit."""
    return _doubled(5, events, _suspects(events, F.lit(DUPLICATE), _called("twice commit ", "batch")))


def all_removed(events: DataFrame, late: Column) -> Hypothesis:
    """All that was on time is gone, or all there was."""
    return _removed(6, events, _by_cause(_suspects(events, _why_gone(late), F.lit("without all"))))


def _why_gone(late: Column) -> Column:
    return F.when(late, F.lit(LATE)).otherwise(F.lit(LOST))


def _called(prefix: str, column: str) -> Column:
    return F.concat(F.lit(prefix), F.col(column).cast("string"))


def _suspects(events: DataFrame, cause: Column, hypothesis: Column) -> DataFrame:
    """Each event that a hypothesis is about, with the cause that it would earn."""
    return events.select("about", hypothesis.alias("hypothesis"), "event_id", cause.alias("cause"))


def _by_cause(suspects: DataFrame) -> DataFrame:
    """Each hypothesis for the events of each cause alone and, where it has two causes, for both."""
    parts = suspects.withColumn("hypothesis", F.concat_ws(", ", "hypothesis", "cause"))
    causes = suspects.groupBy("about", "hypothesis").agg(F.count_distinct("cause").alias("causes"))
    mixed = causes.where("causes > 1").drop("causes")
    return parts.unionByName(suspects.join(mixed, ["about", "hypothesis"], "left_semi"))


def _named(suspects: DataFrame) -> DataFrame:
    return suspects.groupBy("about", "hypothesis").agg(
        F.sort_array(F.collect_set("cause")).alias("causes"),
        F.sort_array(F.collect_set("event_id")).alias("event_ids"),
    )


def _removed(rank: int, events: DataFrame, suspects: DataFrame) -> Hypothesis:
    named = _named(suspects)
    tried = events.join(named.select("about", "hypothesis"), "about")
    return Hypothesis(rank, tried.join(suspects, ["about", "hypothesis", "event_id"], "left_anti"), named)


def _doubled(rank: int, events: DataFrame, suspects: DataFrame) -> Hypothesis:
    named = _named(suspects)
    once = events.join(named.select("about", "hypothesis"), "about")
    again = once.join(suspects, ["about", "hypothesis", "event_id"], "left_semi")
    return Hypothesis(rank, once.unionByName(again), named)
