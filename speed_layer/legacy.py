"""The control: a speed layer as it was built before event time and exactly-once sinks, on the same arrivals.

    parity legacy --lake LAKE

It is not a straw man. Systems of the first Lambda generation indexed what arrived, stamped with the time at which it was
processed, and aggregated at query time; the store acknowledged a batch after writing it, and after a crash the batch was
written again. That was fast and simple, wrong by a few per cent, and the nightly batch replaced it anyway. So it

- windows by processing time (`received_at`, or the time of ingestion), because that never waits for anybody;
- takes every arrival, copies included, because de-duplication needed state that nobody wanted to keep;
- appends without transaction ids: at least once.

The aggregation itself is the shared function. What the reconciliation finds here is due to those three alone.
"""

from collections.abc import Sequence

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F

from lakehouse.arrivals import ARRIVALS, QUARANTINED
from lakehouse.checkpoints import consumed_version
from lakehouse.clock import Clock, wall_clock
from lakehouse.commits import commits
from lakehouse.control import CONTROL, control_boundary, control_schema, legacy_name, processing_time, read_legacy
from lakehouse.failpoints import failpoint
from lakehouse.lake import Lake
from lakehouse.locks import exclusive
from lakehouse.log import as_declared, newest_version, position, refuse_compacted
from lakehouse.queries import Query, run
from lakehouse.runs import measured
from lakehouse.settings import Settings
from lakehouse.tables import append, create_table, replace
from transformations.result import Result


def legacy(
    spark: SparkSession, lake: Lake, settings: Settings, *, answers: Sequence[Result] = (), clock: Clock = wall_clock
) -> None:
    """Run the control until it has caught up with the arrivals, and write down what it answers for `answers`."""
    newest_version(lake)
    checkpoint = lake.checkpoint("legacy")
    with (
        exclusive(spark, lake.lock_file("legacy"), wait=False),
        measured(spark, lake, "legacy", []) as cost,
    ):
        schema = control_schema(lake.pipeline.kinds)
        create_table(lake, CONTROL, schema, horizon=settings.retention.horizon, grows=True)
        since = next((said["log_version"] + 1 for said in commits(lake, CONTROL)), 0)
        refuse_compacted(lake, "The control", since=since, instead="It cannot begin later; a new lake can have it.")

        def sink(rows: DataFrame, batch: int) -> None:
            append_arrivals(rows, batch, lake, clock)

        def source() -> DataFrame:
            return _arrivals(spark, lake, settings)

        [ended] = run([Query("legacy", source(), sink, checkpoint, renewed=source)], lake=lake)
        cost.rows_read = cost.rows_written = cost.took(ended)
        for result in answers:
            write_answer(spark, lake, result, settings)


def write_answer(spark: SparkSession, lake: Lake, result: Result, settings: Settings) -> None:
    """The answer of the control to one result, for readers without Spark; they see the one before until it is whole."""
    name, at = legacy_name(result), control_boundary(lake)
    create_table(lake, name, result.schema, horizon=settings.retention.horizon, append_only=False)
    said = {"log_version": at.log_version}
    replace(spark, lake, name, read_legacy(spark, lake, result, at), where="true", metadata=lambda: said)


def _arrivals(spark: SparkSession, lake: Lake, settings: Settings) -> DataFrame:
    """Every line that was taken for an event when it arrived: copies are not told apart."""
    stream = (
        spark.readStream.format("delta")
        .option("startingVersion", 0)
        .option("maxFilesPerTrigger", settings.stream.commits_per_batch)
        .load(lake.table(ARRIVALS))
    )
    stream = as_declared(lake, stream).where(F.col("fate") != QUARANTINED)
    names = control_schema(lake.pipeline.kinds).names
    kept = [name for name in names if name not in ("processing_time", "batch", "written_at")]
    return stream.select(processing_time().alias("processing_time"), *kept)


def append_arrivals(rows: DataFrame, batch: int, lake: Lake, clock: Clock = wall_clock) -> None:
    """One micro-batch, at least once."""
    spark = rows.sparkSession
    log_version = position(lake, consumed_version(lake.checkpoint("legacy"), batch)).version
    stamps = {"batch": F.lit(batch).cast("long"), "written_at": F.lit(clock())}
    said = {"batch": batch, "log_version": log_version}
    stamped = rows.withColumns(stamps).select(*control_schema(lake.pipeline.kinds).names)
    append(spark, lake, CONTROL, stamped, transaction=None, metadata=said)
    failpoint(spark, "legacy.appended", "arrivals", batch)
