"""The batch layer: every result, or an interval of it, recomputed from the log and replaced atomically.

    parity recompute --lake LAKE [--from T --to T] [--log-version V [--go-back]]

The same function as the stream's, over the log as of one version. A crash half-way leaves the old result: the new one
becomes visible with Delta's commit or not at all. Rows of a later version are not replaced by those of an earlier one,
unless somebody says so: a version may have been pinned long before its turn came.
"""

from collections.abc import Sequence
from typing import Any

from pyspark.sql import SparkSession
from pyspark.sql import functions as F

from lakehouse.appends import FEW, Appender
from lakehouse.batches import (
    BATCH_STAMPS,
    Coverage,
    Interval,
    batch_name,
    batch_schema,
    coverage,
    refuse_going_back,
    run_at,
    with_run,
)
from lakehouse.clock import Clock, wall_clock
from lakehouse.failpoints import failpoint
from lakehouse.fingerprint import keep_code, result_fingerprint
from lakehouse.lake import Lake
from lakehouse.log import known_version, log_at, position
from lakehouse.runs import measured
from lakehouse.settings import Settings
from lakehouse.tables import create_table, replace
from lakehouse.terms import agree_on_settings, at_log, refuse_other_settings, settings_fingerprint
from transformations.result import Result

STATISTICS = ("window_start",)
"""The columns by which readers of a batch table skip files."""


def refuse_any(
    lake: Lake,
    results: Sequence[Result],
    settings: Settings,
    *,
    interval: Interval,
    log_version: int | None,
    go_back: bool = False,
) -> None:
    """Refuse before the first of several results is computed what would be refused of one of them. Needs no Spark."""
    for result in results:
        own = at_log(lake, result)
        _planned(own, result, interval.of(result), log_version, go_back=go_back)
        refuse_other_settings(own, result, settings)


def recompute(
    spark: SparkSession,
    lake: Lake,
    result: Result,
    settings: Settings,
    *,
    interval: Interval | None = None,
    log_version: int | None = None,
    go_back: bool = False,
    clock: Clock = wall_clock,
) -> int:
    """Recompute the rows whose window starts in the interval, or all; returns the log version they were computed at."""
    lake = at_log(lake, result)
    interval = (interval or Interval()).of(result)
    run = _planned(lake, result, interval, log_version, go_back=go_back)
    version = run.log_version
    agree_on_settings(lake, result, settings)
    create_table(
        lake,
        batch_name(result),
        batch_schema(result),
        horizon=settings.retention.horizon,
        append_only=False,
        statistics=STATISTICS,
    )
    fingerprint = result_fingerprint(result, lake.pipeline)
    keep_code(lake, fingerprint)
    stated = {"code": fingerprint, "settings": settings_fingerprint(lake, result, settings)}

    def said() -> dict[str, Any]:
        """The run and all that it leaves in place; another one may have ended since this one began."""
        before = coverage(lake, result)
        if not go_back:
            refuse_going_back(result, run, before)
        covered = [each.as_dict() for each in with_run(run, before)]
        return {**run.as_dict(), **stated, "covered": covered}

    with measured(spark, lake, "recompute", [result.id], whole=interval == Interval()) as cost:
        events = log_at(spark, lake, version).where(interval.needs(result))
        stamps = (
            F.lit(version).cast("long"),
            F.lit(clock()),
            F.lit(fingerprint),
        )
        named = dict(zip(BATCH_STAMPS, stamps, strict=True))
        computed = result.of(events).where(interval.holds(F.col("window_start")))
        rows = computed.withColumns(named).select(*batch_schema(result).names)
        failpoint(spark, "recompute.begun", result.name, 0)
        if interval == Interval():
            cost.rows_read = run.seq - position(lake, lake.since - 1).seq
            cost.rows_written = Appender(
                lake, batch_name(result), statistics=STATISTICS, counted=("fingerprint",)
            ).append(
                rows,
                few=run.seq <= FEW,
                transaction=None,
                metadata=lambda _: said(),
                written=lambda: failpoint(spark, "recompute.computed", result.name, 0),
                mode="overwrite",
            )
        else:
            rows = rows.persist()
            cost.rows_written = rows.count()
            failpoint(spark, "recompute.computed", result.name, 0)
            replace(spark, lake, batch_name(result), rows, where=interval.predicate, metadata=said)
            rows.unpersist()
            cost.rows_read = events.count()
        failpoint(spark, "recompute.replaced", result.name, 0)
    return version


def _planned(lake: Lake, result: Result, interval: Interval, log_version: int | None, *, go_back: bool) -> Coverage:
    """The run that is asked for, unless it is refused."""
    version = known_version(lake, log_version, option="--log-version")
    run = run_at(interval, position(lake, version), version)
    if not go_back:
        refuse_going_back(result, run, coverage(lake, result))
    return run
