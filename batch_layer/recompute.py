"""The batch layer: every result, or an interval of it, recomputed from the log and replaced atomically.

    parity recompute --lake LAKE [--from T --to T] [--log-version V]

The same function as the stream's, over the log as of one version. A crash half-way leaves the old result: the new one
becomes visible with Delta's commit or not at all.
"""

from datetime import UTC, datetime

from pyspark.sql import SparkSession
from pyspark.sql import functions as F

from lakehouse.batches import BATCH_STAMPS, Interval, batch_name, batch_schema, still_shown
from lakehouse.failpoints import failpoint
from lakehouse.fingerprint import keep_code, result_fingerprint
from lakehouse.lake import Lake
from lakehouse.log import known_version, log_at
from lakehouse.runs import measured
from lakehouse.settings import Settings
from lakehouse.tables import create_table, replace
from lakehouse.terms import agree_on_settings, at_log, settings_fingerprint
from transformations.result import Result


def recompute(
    spark: SparkSession,
    lake: Lake,
    result: Result,
    settings: Settings,
    *,
    interval: Interval | None = None,
    log_version: int | None = None,
) -> int:
    """Recompute the rows whose window starts in the interval, or all; returns the log version they were computed at."""
    lake = at_log(lake, result)
    version = known_version(lake, log_version, option="--log-version")
    agree_on_settings(lake, result, settings)
    create_table(
        spark,
        lake,
        batch_name(result),
        batch_schema(result),
        horizon=settings.retention.horizon,
        append_only=False,
        statistics=("window_start",),
    )
    fingerprint = result_fingerprint(result)
    keep_code(lake, fingerprint)
    interval = (interval or Interval()).of(result)
    with measured(spark, lake, "recompute", [result.id], whole=interval == Interval()) as cost:
        events = log_at(spark, lake, version).where(interval.needs(result))
        stamps = (
            F.lit(version).cast("long"),
            F.lit(datetime.now(UTC)),
            F.lit(fingerprint),
        )
        named = dict(zip(BATCH_STAMPS, stamps, strict=True))
        computed = result.of(events).where(interval.holds(F.col("window_start")))
        rows = computed.withColumns(named).select(*batch_schema(result).names).persist()
        failpoint(spark, "recompute.begun", result.name, 0)
        cost.rows_written = rows.count()
        failpoint(spark, "recompute.computed", result.name, 0)
        said = {
            "log_version": version,
            "from": interval.first_millis,
            "to": interval.end_millis,
            "code": fingerprint,
            "settings": settings_fingerprint(lake, result, settings),
            **still_shown(lake, result, interval),
        }
        replace(spark, lake, batch_name(result), rows, where=interval.predicate, metadata=said)
        failpoint(spark, "recompute.replaced", result.name, 0)
        rows.unpersist()
        cost.rows_read = events.count()
    return version
