"""The reconciliation: does the candidate's answer equal the batch layer's, over the same version of the log?

    parity reconcile --lake LAKE [--candidate legacy] [--recompute]

One pinned version, all keys, full outer; every difference with its causes.
"""

import uuid
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor

from pyspark.sql import SparkSession
from pyspark.sql import functions as F

from lakehouse.batches import Interval, computed
from lakehouse.changelogs import Boundary
from lakehouse.clock import Clock, wall_clock
from lakehouse.lake import Lake
from lakehouse.settings import Settings
from lakehouse.terms import at_log, refuse_other_settings, shared_log
from reconciliation.audit import audited
from reconciliation.causes import explained
from reconciliation.differences import collected, counts_by_cause, written_twice
from reconciliation.emptiness import nothing_to_compute
from reconciliation.engine import wrong_by_itself
from reconciliation.judged_keys import Counted, judged_keys
from reconciliation.late_events import late_events
from reconciliation.pins import Candidate, Pin, pin
from reconciliation.verdict import UNEXPLAINED, Difference, ResultVerdict, Verdict
from transformations.result import Result

SIDE_BY_SIDE = 3
"""How many things are found out at once. Most of the time of a small result is planning, which takes one core."""


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
    with ThreadPoolExecutor(SIDE_BY_SIDE) as pool:
        late = pool.submit(late_events, spark, own, results, pins, settings.lateness.allowed)
        audit = pool.submit(audited, spark, lake, max(at.log_version for at in pins))
        judged = [
            pool.submit(
                _judged,
                spark, at, result, settings, pinned,
                interval=(interval or Interval()).of(result), tolerance=tolerance,
                late=lambda place=place: late.result()[place],  # type: ignore[misc]
            )
            for place, (at, result, pinned) in enumerate(zip(own, results, pins, strict=True))
        ]  # fmt: skip
        try:
            found = [each.result() for each in judged]
        except BaseException:
            pool.shutdown(wait=False, cancel_futures=True)
            raise
    return Verdict(
        id=uuid.uuid4().hex,
        at=clock().isoformat(),
        candidate=candidate,
        policy=settings.lateness.policy,
        results=found,
        audit=audit.result(),
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

    def late() -> int:
        return late_events(spark, [lake], [result], [at], settings.lateness.allowed)[0]

    return _judged(spark, lake, result, settings, at, interval=interval, tolerance=tolerance, late=late)


def _judged(
    spark: SparkSession,
    lake: Lake,
    result: Result,
    settings: Settings,
    at: Pin,
    *,
    interval: Interval,
    tolerance: Mapping[str, float],
    late: Callable[[], int],
) -> ResultVerdict:
    covered, differences = computed(lake, result), list[Difference]()
    with judged_keys(
        spark, lake, result, settings, at, covered=covered, interval=interval, tolerance=tolerance
    ) as keys:
        counted = keys.counted()
        if counted["differs"].keys:
            differing = keys.differing(spark)
            wrong = explained(spark, lake, result, settings, at, differing.where(F.size("differing") > 0))
            again = written_twice(differing.where(F.size("differing") == 0))
            differences = collected(wrong.unionByName(again), result)
        engine_wrong = wrong_by_itself(
            spark, lake, settings, at, interval, keys.space, keys.revisions, tolerance=tolerance
        )
    by_cause = counts_by_cause(differences)
    number = {state: each.keys for state, each in counted.items()}
    compared_keys, total = number["equal"] + number["differs"], sum(number.values())
    in_question = total - number["beyond"]
    empty = in_question == 0 and nothing_to_compute(spark, lake, result, settings, at, covered, interval)
    before = at.settled_before(settings.lateness.allowed)
    return ResultVerdict(
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
        open_equal=counted["open"].same,
        behind=number["behind"],
        beyond_horizon=number["beyond"],
        by_cause=by_cause,
        unexplained=by_cause.get(UNEXPLAINED, 0),
        duplicate_revisions=sum(each.twice for each in counted.values()),
        engine_alone=_alone(counted) if _by_the_engine(result, at) else None,
        engine_wrong=engine_wrong,
        late_events=late(),
        candidate_code=sorted({code for each in counted.values() for code in each.candidate_codes}),
        batch_code=sorted({code for each in counted.values() for code in each.batch_codes}),
        too_few=not empty and compared_keys < max(1, settings.reconciliation.least_settled * in_question),
        empty=empty,
        differences=differences,
    )


def _by_the_engine(result: Result, at: Pin) -> bool:
    """Whether all that is settled was the engine's to settle: not so if a replay stepped through history."""
    return isinstance(at.boundary, Boundary) and at.boundary.history is None and result.way == "engine"


def _alone(counted: Mapping[str, Counted]) -> int:
    return sum(counted[state].keys - counted[state].repaired for state in ("equal", "differs"))
