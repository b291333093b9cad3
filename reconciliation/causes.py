"""Why a key differs. A cause is earned only if the cell, computed anew under its hypothesis, is exactly the candidate's.

First come hypotheses about whole sets of events (all late ones, a commit, everything by processing time), which are one
computation for all differing keys. For keys that stay unexplained, single events are tried: that is quadratic in the
events of a key, so it stops at a budget, and what was not tried says so.
"""

from functools import reduce

from pyspark.sql import DataFrame, SparkSession, Window
from pyspark.sql import functions as F

from lakehouse.arrivals import ArrivalsBoundary, processing_time, read_arrivals
from lakehouse.lake import Lake
from lakehouse.log import duplicates_at, log_at
from lakehouse.settings import Settings
from reconciliation.archive import result_as_it_was
from reconciliation.comparison import alike
from reconciliation.hypotheses import (
    DRIFT,
    Hypothesis,
    as_they_arrived,
    batch_doubled,
    batch_removed,
    one_doubled,
    one_removed,
    without_any,
    without_late,
)
from reconciliation.pins import Pin
from transformations.result import Result

SINGLE_EVENTS_BUDGET = 2_000_000  # rows that the hypotheses about single events may compute with


def explained(
    spark: SparkSession, lake: Lake, result: Result, settings: Settings, at: Pin, differing: DataFrame
) -> DataFrame:
    """`differing` with `causes`, `event_ids` and `evidence`; empty causes mean unexplained."""
    log = log_at(spark, lake, at.log_version)
    events = result.bearing(log, differing).persist()
    late = result.late(settings.lateness.allowed)

    def arrived(_: DataFrame) -> list[DataFrame]:
        arrivals = result.bearing(
            _arrivals(spark, lake, at, log).withColumn("event_time", processing_time()), differing
        )
        return [_fitting(result, differing, as_they_arrived(events, arrivals))]

    def sets(rest: DataFrame) -> list[DataFrame]:
        tried = (without_late(events, late), without_any(events, late), batch_removed(events), batch_doubled(events))
        return [*_drifted(lake, result, events, rest), *(_fitting(result, rest, each) for each in tried)]

    def singles(rest: DataFrame) -> list[DataFrame]:
        mine = _affordable(events, rest, result)
        return [_fitting(result, rest, each) for each in (one_removed(mine, late), one_doubled(mine))]

    # The control keeps what it was given, so for it the arrivals are evidence; for the stream they are a last guess.
    stages = (arrived, sets, singles) if at.candidate == "legacy" else (sets, singles, arrived)
    rest, found = differing, []
    for stage in stages:
        earned = _simplest(stage(rest)).persist()
        found.append(earned)
        rest = rest.join(earned.select(*result.identity), list(result.identity), "left_anti")
        if rest.isEmpty():
            break
    known = reduce(DataFrame.unionByName, found)
    judged = differing.join(known, list(result.identity), "left").withColumn(
        "causes", F.coalesce("causes", F.array().cast("array<string>"))
    )
    judged = judged.localCheckpoint()  # computed once, so that what it was computed from can be let go
    for frame in (events, *found):
        frame.unpersist()
    return judged


def _fitting(result: Result, differing: DataFrame, hypothesis: Hypothesis) -> DataFrame:
    """The keys for which the hypothesis gives exactly the candidate's cells."""
    keys = differing.select(result.about(), "candidate")
    computed = result.of(hypothesis.rows, alongside=("about", "hypothesis")).where(result.about() == F.col("about"))
    values = computed.select("about", "hypothesis", F.struct(*result.errors).alias("computed"))
    tried = hypothesis.named.join(keys, "about").join(values, ["about", "hypothesis"], "left")
    fits = tried.where(alike(result, "computed", "candidate"))
    evidence, rank = F.col("hypothesis").alias("evidence"), F.lit(hypothesis.rank).alias("rank")
    return fits.select("about", "causes", "event_ids", evidence, rank)


def _simplest(fitting: list[DataFrame]) -> DataFrame:
    """For each key the simplest hypothesis that fits; `fitting` says how many as simple ones do."""
    ranked = reduce(DataFrame.unionByName, fitting)
    order = Window.partitionBy("about").orderBy("rank", "evidence")
    equals = F.count(F.lit(1)).over(Window.partitionBy("about", "rank"))
    best = ranked.withColumns({"fitting": equals, "place": F.row_number().over(order)}).where("place = 1")
    return best.select("about.*", "causes", "event_ids", "evidence", "fitting")


def _drifted(lake: Lake, result: Result, events: DataFrame, differing: DataFrame) -> list[DataFrame]:
    """Keys whose two rows were made by different code, where each side's code gives exactly that side's cells."""
    keys = differing.select(result.about(), "batch", "candidate", "batch_code", "candidate_code")
    found = []
    for pair in keys.select("batch_code", "candidate_code").distinct().collect():
        codes = {"batch": _code(lake, result, pair.batch_code), "candidate": _code(lake, result, pair.candidate_code)}
        if pair.batch_code == pair.candidate_code or None in codes.values():
            continue
        fits = keys.where(
            F.col("batch_code").eqNullSafe(pair.batch_code) & F.col("candidate_code").eqNullSafe(pair.candidate_code)
        )
        for side, code in codes.items():
            assert code is not None
            computed = code.of(events, alongside=("about",)).where(result.about() == F.col("about"))
            values = computed.select("about", F.struct(*result.errors).alias("computed"))
            fits = fits.join(values, "about", "left").where(alike(result, "computed", side)).drop("computed")
        evidence = F.lit(f"code {pair.candidate_code} against {pair.batch_code}").alias("evidence")
        causes, nobody = F.array(F.lit(DRIFT)).alias("causes"), F.array().cast("array<string>").alias("event_ids")
        found.append(fits.select("about", causes, nobody, evidence, F.lit(0).alias("rank")))
    return found


def _code(lake: Lake, result: Result, fingerprint: str | None) -> Result | None:
    """The code of one side; a side without a row was computed by the code of today."""
    return result if fingerprint is None else result_as_it_was(lake, result, fingerprint)


def _arrivals(spark: SparkSession, lake: Lake, at: Pin, log: DataFrame) -> DataFrame:
    """All that arrived up to the pin, from the log and the duplicates, not from the control's own table; but as often as
    the control appended it, which is where a batch that was written twice shows."""
    shared = [name for name in log.columns if name not in ("seq", "high_water")]
    if not isinstance(at.boundary, ArrivalsBoundary):
        return log.select(*shared)
    copies = duplicates_at(spark, lake, at.boundary.duplicates_version)
    appended = (
        read_arrivals(spark, lake, at.boundary)
        .groupBy("file", "line", "event_id")
        .agg(F.count(F.lit(1)).alias("times"))
    )
    all_of_them = log.select(*shared).unionByName(copies.select(*shared)).join(appended, ["file", "line", "event_id"])
    return all_of_them.withColumn("again", F.explode(F.sequence(F.lit(1), F.col("times").cast("int")))).drop(
        "again", "times"
    )


def _affordable(events: DataFrame, keys: DataFrame, result: Result) -> DataFrame:
    """The events of as many of the keys as the budget allows, smallest first."""
    mine = events.join(F.broadcast(keys.select(result.about())), "about", "left_semi")
    cost = mine.groupBy("about").agg((F.count(F.lit(1)) * F.count(F.lit(1)) * 2).alias("cost"))
    spent = F.sum("cost").over(Window.orderBy("cost", "about").rowsBetween(Window.unboundedPreceding, 0))
    chosen = cost.withColumn("spent", spent).where(F.col("spent") <= SINGLE_EVENTS_BUDGET).select("about")
    return mine.join(F.broadcast(chosen), "about", "left_semi")
