"""The reconciliation: does the candidate's answer equal the batch layer's, over the same version of the log?

    parity reconcile --lake LAKE [--candidate legacy] [--recompute]

One pinned version, all keys, full outer; every difference with its causes.
"""

import uuid
from collections.abc import Mapping, Sequence

from pyspark.sql import DataFrame, Row, SparkSession
from pyspark.sql import functions as F

from lakehouse.batches import NEVER, Coverage, Interval, computed, computed_at, read_batch
from lakehouse.changelogs import Boundary
from lakehouse.clock import Clock, wall_clock
from lakehouse.lake import Lake
from lakehouse.log import log_at, position
from lakehouse.settings import Settings
from lakehouse.terms import at_log, refuse_other_settings, shared_log
from reconciliation.audit import audited
from reconciliation.causes import explained
from reconciliation.comparison import compared, moved_between, with_state
from reconciliation.differences import collected, counts_by_cause, written_twice
from reconciliation.emptiness import nothing_to_compute
from reconciliation.engine import revised, wrong_by_itself
from reconciliation.pins import Candidate, Pin, candidate_rows, pin
from reconciliation.verdict import UNEXPLAINED, ResultVerdict, Verdict
from transformations.result import Result

STATES = ("equal", "differs", "open", "behind", "beyond")


def reconcile(
    spark: SparkSession,
    lake: Lake,
    results: Sequence[Result],
    settings: Settings,
    *,
    candidate: Candidate = "kappa",
    interval: Interval | None = None,
    log_version: int | None = None,
    tolerance: Mapping[str, float] | None = None,
    clock: Clock = wall_clock,
) -> Verdict:
    """The verdict over `results`. Nothing is written here; `history` keeps it."""
    tolerance = {**settings.reconciliation.tolerance, **(tolerance or {})}
    lake = shared_log(lake, results)
    own = [at_log(lake, result) for result in results]
    pins = _pins(lake, results, settings, candidate, log_version)
    found = [
        reconciled(
            spark, at, result, settings, pinned, interval=(interval or Interval()).of(result), tolerance=tolerance
        )
        for at, result, pinned in zip(own, results, pins, strict=True)
    ]
    return Verdict(
        id=uuid.uuid4().hex,
        at=clock().isoformat(),
        candidate=candidate,
        policy=settings.lateness.policy,
        results=found,
        audit=audited(spark, lake, max(at.log_version for at in pins)),
        least_settled=settings.reconciliation.least_settled,
    )


def refuse_incomparable(
    lake: Lake,
    results: Sequence[Result],
    settings: Settings,
    *,
    candidate: Candidate,
    log_version: int | None,
    recomputed: bool,
) -> None:
    """Refuse what a reconciliation would refuse, without Spark; batch need not be there if it is `recomputed` first."""
    _pins(lake, results, settings, candidate, log_version)
    for result in () if recomputed else results:
        computed(at_log(lake, result), result)


def _pins(
    lake: Lake, results: Sequence[Result], settings: Settings, candidate: Candidate, log_version: int | None
) -> list[Pin]:
    """Where the candidate of each result is judged, unless it is computed with other settings."""
    own = [at_log(lake, result) for result in results]
    for at, result in zip(own, results, strict=True):
        refuse_other_settings(at, result, settings)
    return [pin(at, result, candidate, log_version) for at, result in zip(own, results, strict=True)]


def reconciled(
    spark: SparkSession,
    lake: Lake,
    result: Result,
    settings: Settings,
    at: Pin,
    *,
    interval: Interval,
    tolerance: Mapping[str, float],
) -> ResultVerdict:
    """The verdict over one result."""
    covered = computed(lake, result)
    keys = judged_keys(
        spark, lake, result, settings, at, covered=covered, interval=interval, tolerance=tolerance
    ).persist()
    counted = {row.state: row for row in _counted(keys)}
    number = {state: counted[state].keys if state in counted else 0 for state in STATES}
    differing = keys.where("state = 'differs'")
    differences = []
    if number["differs"]:
        wrong = explained(spark, lake, result, settings, at, differing.where(F.size("differing") > 0))
        differences = collected(wrong.unionByName(written_twice(differing.where(F.size("differing") == 0))), result)
    by_cause = counts_by_cause(differences)
    compared_keys, total = number["equal"] + number["differs"], sum(number.values())
    in_question = total - number["beyond"]
    empty = in_question == 0 and nothing_to_compute(spark, lake, result, settings, at, covered, interval)
    before = at.settled_before(settings.lateness.allowed)
    verdict = ResultVerdict(
        result=result.name,
        version=result.version,
        candidate=at.candidate,
        log_version=at.log_version,
        high_water=at.high_water.isoformat(),
        settled_before=before.isoformat(),
        keys=total,
        compared=compared_keys,
        equal=number["equal"],
        differing=number["differs"],
        open=number["open"],
        open_equal=counted["open"].same if "open" in counted else 0,
        behind=number["behind"],
        beyond_horizon=number["beyond"],
        by_cause=by_cause,
        unexplained=by_cause.get(UNEXPLAINED, 0),
        duplicate_revisions=sum(row.twice for row in counted.values()),
        engine_alone=_alone(counted) if _by_the_engine(result, at) else None,
        engine_wrong=wrong_by_itself(spark, lake, result, settings, at, interval),
        late_events=_late_events(spark, lake, result, settings, at),
        candidate_code=_codes(counted, "candidate_codes"),
        batch_code=_codes(counted, "batch_codes"),
        too_few=not empty and compared_keys < max(1, settings.reconciliation.least_settled * in_question),
        empty=empty,
        differences=differences,
    )
    keys.unpersist()
    return verdict


def judged_keys(
    spark: SparkSession,
    lake: Lake,
    result: Result,
    settings: Settings,
    at: Pin,
    *,
    covered: list[Coverage],
    interval: Interval,
    tolerance: Mapping[str, float],
) -> DataFrame:
    """Every key of either side with both answers, its state, and how it came about.

    `covered` is what the batch layer had computed when the comparison began; what it computes meanwhile does not show.
    """
    batch = read_batch(spark, lake, result, covered).where(interval.holds(F.col("window_start")))
    rows = candidate_rows(spark, lake, result, at).where(interval.holds(F.col("window_start")))
    log = log_at(spark, lake, max(at.log_version, *(each.log_version for each in covered)))
    pinned = position(lake, at.log_version).seq
    spans = {each.log_version: (min(each.seq, pinned), max(each.seq, pinned)) for each in covered}
    spans[NEVER] = (0, pinned)
    both = compared(batch, rows, result, tolerance=tolerance)
    keys = with_state(
        both,
        result,
        moved_between(log, result, both, spans, computed_at(covered, F.col("window_start"))),
        settled_before=at.settled_before(settings.lateness.allowed),
        horizon_at=at.high_water - settings.retention.horizon,
    )
    keys = keys.join(revised(spark, lake, result, at), list(result.identity), "left")
    again = (F.col("state") == "equal") & F.col("times").isNotNull()
    return keys.withColumn("state", F.when(again, "differs").otherwise(F.col("state")))


def _late_events(spark: SparkSession, lake: Lake, result: Result, settings: Settings, at: Pin) -> int:
    """How many events are late for one of the windows that they belong to."""
    placed = result.placed(log_at(spark, lake, at.log_version))
    return placed.where(result.late(settings.lateness.allowed)).select("seq").distinct().count()


def _counted(keys: DataFrame) -> list[Row]:
    return (
        keys.groupBy("state")
        .agg(
            F.count(F.lit(1)).alias("keys"),
            F.count(F.when(F.size("differing") == 0, F.lit(1))).alias("same"),
            F.count("times").alias("twice"),
            F.count(F.when(F.col("repaired"), F.lit(1))).alias("repaired"),
            F.collect_set("batch_code").alias("batch_codes"),
            F.collect_set("candidate_code").alias("candidate_codes"),
        )
        .collect()
    )


def _by_the_engine(result: Result, at: Pin) -> bool:
    """Whether all that is settled was the engine's to settle: not so if a replay stepped through history."""
    return isinstance(at.boundary, Boundary) and at.boundary.history is None and result.way == "engine"


def _alone(counted: Mapping[str, Row]) -> int:
    judged = [row for state, row in counted.items() if state in ("equal", "differs")]
    return sum(row.keys - row.repaired for row in judged)


def _codes(counted: Mapping[str, Row], column: str) -> list[str]:
    return sorted({code for row in counted.values() for code in row[column]})
