"""The stream: from the log to `kappa_<result>`, exactly once.

    parity stream --lake LAKE

A result goes one of two ways, as its declaration says.

- `engine`: Spark's own stateful operators. A row that is late for a result is taken out before the engine sees it, by
  the rule that ingestion wrote into the log; so the engine's own watermark never has anything to drop. What late rows
  touched is repaired in the same micro-batch, and appended together with the engine's rows.
- `recompute`: no operator. What any row of the micro-batch touched is recomputed from the log.

Either way: one append, one transaction id, one log version.
"""

from collections.abc import Callable, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from functools import reduce

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F

from lakehouse.appends import FEW, Appender, Counts
from lakehouse.arrivals import ARRIVALS
from lakehouse.changelogs import boundaries, changelog_name, mark, settled_before
from lakehouse.checkpoints import consumed_version, watermark
from lakehouse.clock import Clock, wall_clock
from lakehouse.commits import has_commit
from lakehouse.errors import VersionRefused
from lakehouse.failpoints import failpoint
from lakehouse.fingerprint import keep_code, result_fingerprint
from lakehouse.identity import (
    Epoch,
    begins_anew,
    current_epoch,
    live_epoch,
    refuse_lost_checkpoint,
    refuse_stale,
)
from lakehouse.lake import Lake
from lakehouse.locks import exclusive
from lakehouse.log import events, newest_version, position, refuse_compacted
from lakehouse.log_files import LogFiles
from lakehouse.queries import Query, run
from lakehouse.runs import Job, Run, measured
from lakehouse.settings import Settings
from lakehouse.tables import Transaction, create_table, no_rows
from lakehouse.terms import agree_on_settings, at_log, settings_fingerprint
from speed_layer.repair import Slice, open_repairs_before, repaired
from transformations.changelog import Cause, Stamp, changelog_schema, folded, stamped
from transformations.durations import to_millis, written
from transformations.result import Result

STATISTICS = ("window_start", "log_version", "epoch", "batch")
"""The columns by which readers of a changelog skip files."""


def stream(
    spark: SparkSession,
    lake: Lake,
    results: Sequence[Result],
    settings: Settings,
    *,
    continuous: bool = False,
    rebuild: bool = False,
    run_name: str | None = None,
    trust_code: bool = False,
    meanwhile: Callable[[], object] | None = None,
    stop: Callable[[], bool] = lambda: False,
    job: Job = "stream",
    clock: Clock = wall_clock,
) -> None:
    """Run the streams of `results` until they have caught up with the log, or `continuous` until `stop` says so.

    `rebuild` begins a new epoch. With a `run_name` it does so once: a retry of that run goes on with the epoch.
    Their cost is noted as that of `job`.
    """
    newest_version(lake)
    with ExitStack() as held:
        for result in results:
            held.enter_context(exclusive(spark, lake.lock_file(f"stream-{result.id}"), wait=False))
        cost = held.enter_context(measured(spark, lake, job, [result.id for result in results]))
        queries = []
        for result in results:
            own = at_log(lake, result)
            create_changelog(spark, own, result, settings)
            _refuse_lost_commits(own, result, anew=begins_anew(own, result, rebuild=rebuild, run=run_name))
            epoch = current_epoch(own, result, rebuild=rebuild, run=run_name, trust_code=trust_code)
            queries.append(_query(spark, own, result, epoch, settings, cost, clock))
        every = settings.stream.interval if continuous else None
        for ended in run(queries, every=every, meanwhile=meanwhile, stop=stop, lake=lake):
            cost.rows_read += cost.took(ended)


def streamed_log(spark: SparkSession, lake: Lake, settings: Settings, *, since: int = 0) -> DataFrame:
    """The log from a version on in commit order, never from an initial snapshot, which comes in another order.

    In a log that rests, the commits after the last event are of maintenance, and Delta may have removed those that the
    checkpoint would go on with. It would take that for a loss. Whether it is one, the stream finds out itself.
    """
    arrivals = (
        spark.readStream.format("delta")
        .option("startingVersion", since)
        .option("failOnDataLoss", "false")
        .option("maxFilesPerTrigger", settings.stream.commits_per_batch)
        .load(lake.table(lake.of_log(ARRIVALS)))
    )
    return events(arrivals)


def engine_rows(spark: SparkSession, lake: Lake, result: Result, settings: Settings, *, since: int = 0) -> DataFrame:
    """The result over the rows that are not late for it, by Spark's own operators."""
    allowed = settings.lateness.allowed
    log = streamed_log(spark, lake, settings, since=since).withWatermark("event_time", written(allowed))
    return result.on_time(log, allowed)


def _refuse_lost_commits(lake: Lake, result: Result, *, anew: bool) -> None:
    """Refuse before an epoch begins, or goes on, with commits of the log that are gone."""
    since = lake.since
    if not anew:
        epoch = live_epoch(lake, result)
        reached = [each.log_version + 1 for each in boundaries(lake, result, epoch)[:1]]
        since = max([epoch.since, *reached])
    _refuse_lost(lake, result, since=since)


def _refuse_lost(lake: Lake, result: Result, *, since: int) -> None:
    if result.window.endless:
        instead = "Its rows go on for ever, so it needs them all: ingest the landing files into a new lake."
    else:
        replayed = f"parity replay --lake {lake.path} --result {result.name} --way steps"
        instead = f"`{replayed}` reads the log as a whole up to its open edge."
    refuse_compacted(lake, f"The stream of {result.id}", since=since, instead=instead)


def create_changelog(spark: SparkSession, lake: Lake, result: Result, settings: Settings) -> None:
    """Make the table of a version, with what it is computed with noted, and the code kept."""
    agree_on_settings(lake, result, settings)
    create_table(
        spark,
        lake,
        changelog_name(result),
        changelog_schema(result),
        horizon=settings.retention.horizon,
        statistics=STATISTICS,
    )
    keep_code(lake, result_fingerprint(result))


def _query(
    spark: SparkSession, lake: Lake, result: Result, epoch: Epoch, settings: Settings, cost: Run, clock: Clock
) -> Query:
    """The query of an epoch whose history is complete and whose checkpoint is the one that wrote the table."""
    if not epoch.complete:
        raise VersionRefused(
            f"The replay of {result.id} has not finished, so its stream cannot begin. Nothing was written. `parity replay "
            f"--lake {lake.path} --result {result.name} --as-version {result.version}` goes on with it."
        )
    last_batch = next((each.batch for each in boundaries(lake, result, epoch)), None)
    refuse_lost_checkpoint(lake, result, epoch, last_batch=last_batch)

    changelog = Appender(lake, changelog_name(result), statistics=STATISTICS, counted=("cause", "settled"))
    writing = Writing(lake, result, epoch, settings, cost, clock, result_fingerprint(result), changelog, LogFiles(lake))

    def sink(rows: DataFrame, batch: int) -> None:
        append_revisions(rows, batch, writing)

    remedy = (
        f"If its checkpoint is damaged, `parity stream --lake {lake.path} --result {result.id} --rebuild` computes the "
        "result anew from the log."
    )
    if result.way == "recompute":
        log = streamed_log(spark, lake, settings, since=epoch.since)
        return Query(result.id, log.select("seq"), sink, epoch.checkpoint, remedy=remedy)
    source = engine_rows(spark, lake, result, settings, since=epoch.since)
    return Query(result.id, source, sink, epoch.checkpoint, mode=result.window.mode, remedy=remedy)


@dataclass(frozen=True)
class Writing:
    """What the micro-batches of one query have in common."""

    lake: Lake
    result: Result
    epoch: Epoch
    settings: Settings
    cost: Run
    clock: Clock
    code: str
    """The fingerprint of the result's code: 14 to 30 ms, which is a part of a micro-batch."""
    changelog: Appender
    log: LogFiles


def append_revisions(rows: DataFrame, batch: int, of: Writing) -> None:
    """One micro-batch: the engine's rows and what its slice of the log repairs, in one append."""
    lake, result, epoch, settings = of.lake, of.result, of.epoch, of.settings
    spark = rows.sparkSession
    failpoint(spark, "stream.begun", result.name, batch)
    consumed = (consumed_version(epoch.checkpoint, each) for each in (batch - 1, batch))
    # A commit of maintenance has no events. A micro-batch that ends there stands at the last commit that has some.
    previous, version = (position(lake, max(each, epoch.since - 1)).version for each in consumed)
    if not has_commit(lake, lake.of_log(ARRIVALS), previous + 1):  # removed since the start, or not written yet
        _refuse_lost(lake, result, since=max(previous + 1, epoch.since))
    arrived = position(lake, version).seq - position(lake, previous).seq
    if epoch.history is not None and (result.way == "recompute" or not result.window.reopens):
        # The steps have computed all that was there; what a row was late for was settled there, late row and all. A late
        # row can bear upon an open session, though, which the steps have not.
        previous = max(previous, min(epoch.history, version))
    high_water = position(lake, version).high_water
    transaction = Transaction(epoch.app_id, batch)
    if high_water is None or of.changelog.has(transaction):
        # The engine's frame has to be consumed all the same, or the state store finds its commit missing and the query dies.
        if result.way == "engine":
            rows.write.format("noop").mode("overwrite").save()
        failpoint(spark, "stream.appended", result.name, batch)
        return
    stamp = Stamp(
        log_version=version,
        high_water=high_water,
        allowed=settings.lateness.allowed,
        epoch=epoch.number,
        batch=batch,
        written_at=of.clock(),
        fingerprint=of.code,
    )
    parts: dict[Cause, DataFrame] = {}
    if result.way == "engine":
        parts["on_time"] = _own(folded(rows, result), lake, result, epoch, settings)
    covered = Slice(epoch, batch, previous, version, high_water)
    found = repaired(spark, of.log, result, settings, covered)
    if found is not None:
        parts["late" if result.way == "engine" else "recompute"] = found
    said: dict[str, int | str] = {"epoch": epoch.number, "batch": batch, "log_version": version}
    said |= {"code": stamp.fingerprint, "settings": settings_fingerprint(lake, result, settings)}
    if epoch.history is not None:
        said["history"] = epoch.history
    if result.way == "engine" and result.window.mode == "append":
        said["watermark"] = to_millis(watermark(epoch.checkpoint, batch))
    # Without news nothing is repaired, and what was open stays open.
    kept = {} if covered.has_news else {"open_repairs": open_repairs_before(lake, result, covered)}
    stamped_parts = [stamped(part, result, stamp, cause=cause) for cause, part in parts.items()]
    of.cost.rows_written += of.changelog.append(
        reduce(DataFrame.unionByName, stamped_parts or [no_rows(spark, changelog_schema(result))]),
        few=arrived <= FEW,
        transaction=transaction,
        metadata=lambda counts: {**said, **_counted(counts), **kept},
        check=lambda: refuse_stale(lake, result, epoch),
        written=lambda: failpoint(spark, "stream.computed", result.name, batch),
    )
    failpoint(spark, "stream.appended", result.name, batch)
    if found is not None:
        found.unpersist()


def _counted(counts: Counts) -> dict[str, int]:
    """How many revisions of each cause a commit has, and how many repairs of what is not settled."""
    causes = ("on_time", "late", "recompute")
    by_cause = {cause: sum(count for (own, _), count in counts.items() if own == cause) for cause in causes}
    return {**by_cause, "open_repairs": counts.get(("late", False), 0)}


def _own(rows: DataFrame, lake: Lake, result: Result, epoch: Epoch, settings: Settings) -> DataFrame:
    """The engine's rows without those that were settled when it began: it has seen only a part of what they are made of."""
    if epoch.history is None:
        return rows
    before = settled_before(mark(lake, epoch.history), settings.lateness.allowed)
    return rows.where(~result.settled(F.lit(before)))
