"""The stream: from the log to `kappa_<result>`, exactly once.

    parity stream --lake LAKE

A result goes one of two ways, as its declaration says.

- `engine`: Spark's own stateful operators. In windows aligned in time the engine counts late rows too, as long as its state
  holds their window. Which rows it drops in a micro-batch is known before from its checkpoint. For other shapes, and where late
  rows are dropped, a row that is late is taken out before the engine sees it, by the rule that ingestion wrote into the log.
  What the rows touched that the engine has not counted is repaired in the same micro-batch, and appended with the engine's rows.
- `recompute`: no operator. What any row of the micro-batch touched is recomputed from the log.

Either way: one append, one transaction id, one log version.
"""

from collections.abc import Callable, Sequence
from contextlib import ExitStack

from pyspark.sql import DataFrame, SparkSession

from lakehouse.appends import Appender
from lakehouse.arrivals import ARRIVALS
from lakehouse.changelogs import boundaries, changelog_name
from lakehouse.clock import Clock, wall_clock
from lakehouse.errors import VersionRefused
from lakehouse.fingerprint import keep_code, result_fingerprint
from lakehouse.identity import (
    Epoch,
    begins_anew,
    current_epoch,
    live_epoch,
    refuse_lost_checkpoint,
)
from lakehouse.lake import Lake
from lakehouse.locks import exclusive
from lakehouse.log import as_declared, events, newest_version
from lakehouse.log_files import LogFiles
from lakehouse.queries import Query, run
from lakehouse.runs import Job, Run, measured
from lakehouse.settings import Settings
from lakehouse.tables import create_table
from lakehouse.terms import agree_on_settings, at_log
from speed_layer.micro_batch import Writing, append_revisions, refuse_lost
from transformations.changelog import changelog_schema
from transformations.durations import written
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
            create_changelog(own, result, settings)
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
    return events(as_declared(lake, arrivals))


def engine_rows(spark: SparkSession, lake: Lake, result: Result, settings: Settings, *, since: int = 0) -> DataFrame:
    """The result by Spark's own operators: over all rows, if late ones are the engine's too, else over those in time."""
    allowed, hold = settings.lateness.allowed, settings.lateness.hold_of(result)
    log = streamed_log(spark, lake, settings, since=since).withWatermark(
        "event_time", written(allowed if hold is None else hold)
    )
    return result.on_time(log, allowed) if hold is None else result.computed(result.placed(log))


def _refuse_lost_commits(lake: Lake, result: Result, *, anew: bool) -> None:
    """Refuse before an epoch begins, or goes on, with commits of the log that are gone."""
    since = lake.since
    if not anew:
        epoch = live_epoch(lake, result)
        reached = [each.log_version + 1 for each in boundaries(lake, result, epoch)[:1]]
        since = max([epoch.since, *reached])
    refuse_lost(lake, result, since=since)


def create_changelog(lake: Lake, result: Result, settings: Settings) -> None:
    """Make the table of a version, with what it is computed with noted, and the code kept."""
    agree_on_settings(lake, result, settings)
    create_table(
        lake,
        changelog_name(result),
        changelog_schema(result),
        horizon=settings.retention.horizon,
        statistics=STATISTICS,
    )
    keep_code(lake, result_fingerprint(result, lake.pipeline))


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
    writing = Writing(
        lake, result, epoch, settings, cost, clock, result_fingerprint(result, lake.pipeline), changelog, LogFiles(lake)
    )

    drops: dict[int, int | None] = {}

    def sink(rows: DataFrame, batch: int) -> None:
        drops[batch] = append_revisions(rows, batch, writing)

    remedy = (
        f"If its checkpoint is damaged, `parity stream --lake {lake.path} --result {result.id} --rebuild` computes the "
        "result anew from the log."
    )

    def source() -> DataFrame:
        if result.way == "recompute":
            return streamed_log(spark, lake, settings, since=epoch.since).select("seq")
        return engine_rows(spark, lake, result, settings, since=epoch.since)

    mode = "append" if result.way == "recompute" else result.window.mode
    return Query(result.id, source(), sink, epoch.checkpoint, mode=mode, remedy=remedy, drops=drops, renewed=source)
