"""The stream: from the log to `kappa_<result>`, by Spark's own stateful windows, exactly once.

    parity stream --lake LAKE

A row that is late for a result is taken out before the engine sees it, by the rule that ingestion wrote into the log;
so the engine's own watermark never has anything to drop. What late rows touched is repaired in the same micro-batch:
recomputed from the log as of the version that the batch covers, with the same function, and appended together with the
engine's rows. One append, one transaction id, one log version.
"""

from collections.abc import Sequence
from contextlib import ExitStack
from datetime import UTC, datetime

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F

from lakehouse.changelogs import boundaries, changelog_name
from lakehouse.checkpoints import consumed_versions
from lakehouse.failpoints import failpoint
from lakehouse.fingerprint import keep_code, result_fingerprint
from lakehouse.identity import Epoch, agree_on_settings, current_epoch, refuse_lost_checkpoint, refuse_stale
from lakehouse.lake import Lake
from lakehouse.locks import exclusive
from lakehouse.log import EVENTS, log_at, newest_version, position
from lakehouse.queries import Query, run
from lakehouse.runs import Run, measured
from lakehouse.settings import Settings
from lakehouse.tables import Transaction, append, create_table
from transformations.changelog import Stamp, changelog_schema, repairs, stamped
from transformations.durations import from_millis, written
from transformations.result import Result


def stream(
    spark: SparkSession,
    lake: Lake,
    results: Sequence[Result],
    settings: Settings,
    *,
    continuous: bool = False,
    rebuild: bool = False,
) -> None:
    """Run the streams of `results` until they have caught up with the log, or until they are stopped."""
    newest_version(lake)
    with ExitStack() as held:
        for result in results:
            held.enter_context(exclusive(spark, lake.lock_file(f"stream-{result.id}"), wait=False))
        cost = held.enter_context(measured(spark, lake, "stream", [result.name for result in results]))
        queries = [_query(spark, lake, result, settings, cost, rebuild=rebuild) for result in results]
        for ended in run(queries, every=settings.stream.interval if continuous else None):
            cost.rows_read += cost.took(ended)


def on_time_revisions(spark: SparkSession, lake: Lake, result: Result, settings: Settings) -> DataFrame:
    """The engine's rows: the result over the rows that are not late for it.

    The log is read from version 0 in commit order, never from an initial snapshot, which comes in another order.
    """
    log = (
        spark.readStream.format("delta")
        .option("startingVersion", 0)
        .option("maxFilesPerTrigger", settings.stream.commits_per_batch)
        .load(lake.table(EVENTS))
    )
    allowed = settings.lateness.allowed
    return result.revisions(log.withWatermark("event_time", written(allowed)).where(~result.late(allowed)))


def _query(spark: SparkSession, lake: Lake, result: Result, settings: Settings, cost: Run, *, rebuild: bool) -> Query:
    agree_on_settings(lake, result, settings)
    create_table(
        spark,
        lake,
        changelog_name(result),
        changelog_schema(result),
        horizon=settings.retention.horizon,
        statistics=("window_start", "log_version", "epoch"),
    )
    epoch = current_epoch(lake, result, rebuild=rebuild)
    last_batch = next((each.batch for each in boundaries(lake, result, epoch)), None)
    refuse_lost_checkpoint(lake, result, epoch, last_batch=last_batch)
    keep_code(lake, result_fingerprint(result))

    def sink(rows: DataFrame, batch: int) -> None:
        append_revisions(rows, batch, lake, result, epoch, settings, cost)

    return Query(result.id, on_time_revisions(spark, lake, result, settings), sink, epoch.checkpoint, mode="update")


def append_revisions(
    rows: DataFrame, batch: int, lake: Lake, result: Result, epoch: Epoch, settings: Settings, cost: Run
) -> None:
    """One micro-batch: the engine's rows and the repairs of its slice of the log, in one append."""
    spark = rows.sparkSession
    [previous], [version] = consumed_versions(epoch.checkpoint, batch - 1), consumed_versions(epoch.checkpoint, batch)
    high_water = position(lake, version).high_water
    # A retry after the append is skipped by its transaction id. The frame has to be consumed all the same, or the state
    # store finds its commit missing and the query dies.
    engine = rows.persist()
    counted = {"on_time": engine.count(), "late": 0}
    if high_water is None:
        return
    repaired = None
    if settings.lateness.policy == "correct":
        repaired = repaired_revisions(spark, lake, result, settings, previous=previous, version=version)
    if repaired is not None:
        counted["late"] = repaired.persist().count()
    stamp = Stamp(
        log_version=version,
        high_water=high_water,
        allowed=settings.lateness.allowed,
        epoch=epoch.number,
        written_at=datetime.now(UTC),
        fingerprint=result_fingerprint(result),
    )
    revisions = stamped(engine, result, stamp, cause="on_time")
    if repaired is not None:
        revisions = revisions.unionByName(stamped(repaired, result, stamp, cause="late"))
    failpoint(spark, "stream.computed", result.name, batch)
    append(
        spark,
        lake,
        changelog_name(result),
        revisions,
        transaction=Transaction(epoch.app_id, batch),
        metadata={"epoch": epoch.number, "batch": batch, "log_version": version, **counted},
        check=lambda: refuse_stale(lake, result, epoch),
    )
    failpoint(spark, "stream.appended", result.name, batch)
    cost.rows_written += sum(counted.values())
    engine.unpersist()
    if repaired is not None:
        repaired.unpersist()


def repaired_revisions(
    spark: SparkSession, lake: Lake, result: Result, settings: Settings, *, previous: int, version: int
) -> DataFrame | None:
    """The results touched by the late rows of the log versions (previous, version], from the log as of `version`.

    As of `version` and not of the newest: a repair that reads ahead of its batch gave wrong views in 13 % of a model's
    interleavings.
    """
    log = log_at(spark, lake, version)
    arrived = log.where(F.col("seq") > position(lake, previous).seq).where(result.late(settings.lateness.allowed))
    touched = result.touched(arrived).localCheckpoint()  # asked twice below; finding it is a scan of the slice
    start = F.unix_millis("window_start")
    reach = touched.agg(F.min(start).alias("first"), F.max(start).alias("last")).first()
    assert reach is not None
    if reach["first"] is None:
        return None
    return repairs(log.where(result.within(from_millis(reach["first"]), from_millis(reach["last"]))), touched, result)
