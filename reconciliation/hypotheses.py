"""Hypotheses about a difference: the events that the candidate would have seen if one thing had gone wrong.

A hypothesis is a set of rows (columns of the log) under a number `hypothesis`, with the key it is about, the cause it
would earn, and the ids of the events that it removes, doubles or moves. Whether it holds, `causes` finds out by
computing the cell from those rows.
"""

from dataclasses import dataclass

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F

LATE, DUPLICATE, PROCESSING_TIME, LOST, DRIFT = "late", "duplicate", "processing time", "lost", "logic drift"
CAUSES = (LATE, DUPLICATE, PROCESSING_TIME, LOST, DRIFT)


@dataclass(frozen=True)
class Hypothesis:
    """`rows` are what the candidate saw under the hypothesis, each with the columns `about` (the key and window in
    question) and `hypothesis`; `named` has `about`, `hypothesis`, `causes` and `event_ids`. The lower `rank` is the
    simpler explanation, and wins."""

    rank: int
    rows: DataFrame
    named: DataFrame


def without_late(events: DataFrame, late: Column) -> Hypothesis:
    """Every late event was dropped."""
    marked = events.withColumn("hypothesis", F.lit(LATE)).withColumn("late", late)
    ids = F.collect_list(F.when(F.col("late"), F.col("event_id")))
    named = marked.groupBy("about", "hypothesis").agg(F.array(F.lit(LATE)).alias("causes"), ids.alias("event_ids"))
    return Hypothesis(1, marked.where("not late").drop("late"), named.where(F.size("event_ids") > 0))


def without_any(events: DataFrame, late: Column) -> Hypothesis:
    """Everything was lost: the candidate has no row at all. What was late counts as late, the rest as lost."""
    marked = events.withColumn("hypothesis", F.lit("all")).withColumn("late", late)
    cause = F.array_distinct(F.collect_list(F.when(F.col("late"), F.lit(LATE)).otherwise(F.lit(LOST))))
    named = marked.groupBy("about", "hypothesis").agg(
        cause.alias("causes"), F.collect_list("event_id").alias("event_ids")
    )
    return Hypothesis(2, marked.drop("late").limit(0), named)


def one_removed(events: DataFrame, late: Column) -> Hypothesis:
    """One event was lost, or dropped for being late: one hypothesis an event."""
    suspects = _suspects(events.withColumn("cause", F.when(late, F.lit(LATE)).otherwise(F.lit(LOST))), "without")
    rows = events.join(suspects.select("about", "hypothesis", "suspect"), "about").where("event_id != suspect")
    return Hypothesis(3, rows.drop("suspect"), _named(suspects))


def one_doubled(events: DataFrame) -> Hypothesis:
    """One event was counted twice: one hypothesis an event."""
    suspects = _suspects(events.withColumn("cause", F.lit(DUPLICATE)), "twice")
    rows = events.join(suspects.select("about", "hypothesis", "suspect"), "about")
    twice = F.when(F.col("event_id") == F.col("suspect"), F.array(F.lit(1), F.lit(2))).otherwise(F.array(F.lit(1)))
    return Hypothesis(4, rows.withColumn("copy", F.explode(twice)).drop("suspect", "copy"), _named(suspects))


def batch_removed(events: DataFrame) -> Hypothesis:
    """A whole commit of the log was lost: one hypothesis a commit."""
    commits = _commits(events, LOST, "without commit ")
    rows = events.join(commits.select("about", "hypothesis", "suspect"), "about").where("batch != suspect")
    return Hypothesis(5, rows.drop("suspect"), _named(commits))


def batch_doubled(events: DataFrame) -> Hypothesis:
    """A whole commit of the log was counted twice: one hypothesis a commit."""
    commits = _commits(events, DUPLICATE, "twice commit ")
    rows = events.join(commits.select("about", "hypothesis", "suspect"), "about")
    twice = F.when(F.col("batch") == F.col("suspect"), F.array(F.lit(1), F.lit(2))).otherwise(F.array(F.lit(1)))
    return Hypothesis(6, rows.withColumn("copy", F.explode(twice)).drop("suspect", "copy"), _named(commits))


def as_they_arrived(events: DataFrame, arrivals: DataFrame) -> Hypothesis:
    """Every arrival, copies included, was counted at the time of its processing.

    `events` are those of the key by event time, `arrivals` those by processing time. An event on one side only was
    moved; one that arrived more than once was doubled.
    """
    mine = events.groupBy("about", "event_id").agg(F.lit(True).alias("belongs"))
    there = arrivals.groupBy("about", "event_id").agg(F.count(F.lit(1)).alias("times"))
    both = mine.join(there, ["about", "event_id"], "full_outer")
    moved = F.col("belongs").isNull() | F.col("times").isNull()
    doubled = F.coalesce(F.col("times") > 1, F.lit(False))
    named = (
        both.withColumn("moved", moved)
        .withColumn("doubled", doubled)
        .groupBy("about")
        .agg(
            F.array_compact(
                F.array(
                    # A cell whose events are all its own can still differ by their times: they moved within the window.
                    F.when(F.bool_or("moved") | ~F.bool_or("doubled"), F.lit(PROCESSING_TIME)),
                    F.when(F.bool_or("doubled"), F.lit(DUPLICATE)),
                )
            ).alias("causes"),
            F.collect_list(F.when(F.col("moved") | F.col("doubled"), F.col("event_id"))).alias("event_ids"),
        )
        .withColumn("hypothesis", F.lit("arrivals"))
    )
    return Hypothesis(7, arrivals.withColumn("hypothesis", F.lit("arrivals")), named)


def _suspects(events: DataFrame, prefix: str) -> DataFrame:
    name = F.concat(F.lit(f"{prefix} "), F.col("event_id")).alias("hypothesis")
    return events.select(
        "about", name, F.col("event_id").alias("suspect"), "cause", F.array("event_id").alias("event_ids")
    )


def _commits(events: DataFrame, cause: str, prefix: str) -> DataFrame:
    grouped = events.groupBy("about", F.col("batch").alias("suspect")).agg(
        F.collect_list("event_id").alias("event_ids")
    )
    name = F.concat(F.lit(prefix), F.col("suspect").cast("string"))
    return grouped.withColumns({"cause": F.lit(cause), "hypothesis": name})


def _named(suspects: DataFrame) -> DataFrame:
    return suspects.select("about", "hypothesis", F.array("cause").alias("causes"), "event_ids")
