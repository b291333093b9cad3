"""Why a key differs. A cause is earned only if the cell, computed anew under its hypothesis, is exactly the candidate's,
and without the hypothesis exactly batch's: otherwise it is not this that sets them apart.

For the control, `control` finds the smallest combination of what it did otherwise. For the stream, hypotheses come in
stages, from what the policy can do to what only a fault can: all late events dropped, other code; a single event; a
commit, or everything; processing time. Each stage is one computation for all keys that are still without a cause, and
within it the hypothesis with the fewest causes wins, then the one with the fewest events. Single events are quadratic in
the events of a key, so they stop at a budget. What no hypothesis explains is unexplained.
"""

from functools import reduce

from pyspark.sql import DataFrame, SparkSession, Window
from pyspark.sql import functions as F

from lakehouse.control import ControlBoundary
from lakehouse.fingerprint import result_fingerprint
from lakehouse.lake import Lake
from lakehouse.log import log_at
from lakehouse.settings import Settings
from reconciliation import control
from reconciliation.archive import result_as_it_was
from reconciliation.comparison import alike
from reconciliation.hypotheses import (
    DRIFT,
    Hypothesis,
    all_removed,
    batch_doubled,
    batch_removed,
    one_doubled,
    one_removed,
    without_late,
)
from reconciliation.pins import Pin
from transformations.result import Result

SINGLE_EVENTS_BUDGET = 2_000_000  # rows that the hypotheses about single events may compute with


def explained(
    spark: SparkSession, lake: Lake, result: Result, settings: Settings, at: Pin, differing: DataFrame
) -> DataFrame:
    """`differing` with `causes`, `event_ids` and `evidence`; empty causes mean unexplained."""
    log = log_at(spark, lake, at.log_version, whole=True)
    events = result.bearing(log, differing)
    late = result.late(settings.lateness.allowed)
    by_stages = at.candidate == "kappa"
    if by_stages:
        events = events.localCheckpoint()  # a plan of its own: each stage joins it several times

    def dropped(rest: DataFrame) -> DataFrame:
        return _simplest([_fitting(result, rest, without_late(events, late))])

    def singles(rest: DataFrame) -> DataFrame:
        mine = _affordable(events, rest, result)
        return _simplest([_fitting(result, rest, each) for each in (one_removed(mine, late), one_doubled(mine))])

    def sets(rest: DataFrame) -> DataFrame:
        mine = _of(events, rest, result)
        tried = (batch_removed(mine, late), batch_doubled(mine), all_removed(mine, late))
        return _simplest([_fitting(result, rest, each) for each in tried])

    def arrived(rest: DataFrame) -> DataFrame:
        if isinstance(at.boundary, ControlBoundary):
            return control.explained(result, rest, control.arrivals(spark, lake, result, at.boundary, log))
        return control.explained(result, rest, control.each_once(log))

    rest, found, identity = differing, list[DataFrame](), list(result.identity)
    if drifted := _drifted(lake, result, events, differing):
        found.append(_simplest(drifted).localCheckpoint())
        rest = rest.join(found[0].select(*identity), identity, "left_anti")
    if by_stages:
        rest = rest.join(_sound(result, events, rest), identity, "left_semi").localCheckpoint()
        for stage in (dropped, singles, sets):
            if not rest.isEmpty():
                found.append(stage(rest).localCheckpoint())
                rest = rest.join(found[-1].select(*identity), identity, "left_anti").localCheckpoint()
    elif drifted:
        rest = rest.localCheckpoint()
    if not rest.isEmpty():
        found.append(arrived(rest))
    nothing = {"causes": "array<string>", "event_ids": "array<string>", "evidence": "string", "fitting": "long"}
    if not found:
        judged = differing.withColumns({name: F.lit(None).cast(type_) for name, type_ in nothing.items()})
    else:
        judged = differing.join(reduce(DataFrame.unionByName, found), identity, "left")
    return judged.withColumn("causes", F.coalesce("causes", F.array().cast("array<string>")))


def _sound(result: Result, events: DataFrame, differing: DataFrame) -> DataFrame:
    """The keys of which the events of the log give exactly batch's cells; another batch no hypothesis about them explains."""
    computed = result.of(events, alongside=("about",)).where(result.about() == F.col("about"))
    values = computed.select("about", F.struct(*result.errors).alias("computed"))
    tried = differing.select(result.about(), "batch").join(values, "about", "left")
    return tried.where(alike(result, "computed", "batch")).select("about.*")


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
    few = {"few_causes": F.size("causes"), "few_events": F.size("event_ids")}
    ranked = reduce(DataFrame.unionByName, fitting).withColumns(few)
    order = Window.partitionBy("about").orderBy(*few, "rank", "evidence")
    as_simple = F.collect_set(F.struct("causes", "event_ids")).over(Window.partitionBy("about", *few))
    equals = F.size(as_simple).cast("long")
    best = ranked.withColumns({"fitting": equals, "place": F.row_number().over(order)}).where("place = 1")
    return best.select("about.*", "causes", "event_ids", "evidence", "fitting")


def _drifted(lake: Lake, result: Result, events: DataFrame, differing: DataFrame) -> list[DataFrame]:
    """Keys whose two rows were made by different code, where each side's code gives exactly that side's cells."""
    keys = differing.select(result.about(), "batch", "candidate", "batch_code", "candidate_code")
    pairs = differing.select("batch_code", "candidate_code").distinct().collect()
    found, today = [], result_fingerprint(result, lake.pipeline)
    for pair in pairs:
        if (pair.batch_code or today) == (pair.candidate_code or today):
            continue
        codes = {"batch": _code(lake, result, pair.batch_code), "candidate": _code(lake, result, pair.candidate_code)}
        if None in codes.values():
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


def _of(events: DataFrame, keys: DataFrame, result: Result) -> DataFrame:
    """The events of these keys."""
    return events.join(F.broadcast(keys.select(result.about())), "about", "left_semi")


def _affordable(events: DataFrame, keys: DataFrame, result: Result) -> DataFrame:
    """The events of as many of the keys as the budget allows, smallest first."""
    mine = _of(events, keys, result)
    cost = mine.groupBy("about").agg((F.count(F.lit(1)) * F.count(F.lit(1)) * 2).alias("cost"))
    spent = F.sum("cost").over(Window.orderBy("cost", "about").rowsBetween(Window.unboundedPreceding, 0))
    chosen = cost.withColumn("spent", spent).where(F.col("spent") <= SINGLE_EVENTS_BUDGET).select("about")
    return mine.join(F.broadcast(chosen), "about", "left_semi")
