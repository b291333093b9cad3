"""The recovery of a position: where the log stands, derived from its rows when no commit is left that says it.

    parity maintain --lake LAKE --recover-position

Parity's own maintenance carries the position on, so this is for a log that something else has maintained. Nothing is
guessed: every event has its number and the mark, and Delta keeps the last micro-batch of each writer with the table.
"""

from deltalake import DeltaTable
from pyspark.sql import SparkSession
from pyspark.sql import functions as F

from lakehouse.errors import ParityError, PositionForgotten
from lakehouse.lake import Lake
from lakehouse.locks import exclusive
from lakehouse.log import DUPLICATES, EVENTS, SCHEMAS, Position, newest_version, position, waiting
from lakehouse.tables import append, no_rows, read_table
from transformations.durations import from_millis


def recover_position(spark: SparkSession, lake: Lake) -> Position:
    """Let a commit without rows say where the log stands. A log whose position is known is left alone."""
    with exclusive(spark, lake.lock_file(lake.of_log("ingest")), wait=False):
        try:
            newest_version(lake)
        except PositionForgotten:
            pass
        else:
            raise ParityError(
                f"Where the {lake.of_log(EVENTS)} of {lake.path} stand is known: {position(lake).seq:,} events. Nothing was "
                "changed; leave --recover-position out."
            )
        found = _derived(spark, lake)
        said = Position(-1).after(
            found.batch,
            events=found.seq,
            latest=found.high_water,
            duplicates=found.duplicates,
            quarantined=found.quarantined,
        )
        append(spark, lake, lake.of_log(EVENTS), no_rows(spark, SCHEMAS[EVENTS]), transaction=None, metadata=said)
        return position(lake)


def _derived(spark: SparkSession, lake: Lake) -> Position:
    events = read_table(spark, lake, lake.of_log(EVENTS))
    row = events.agg(
        F.max("seq").alias("seq"), F.max(F.unix_millis("high_water")).alias("mark"), F.max("batch").alias("batch")
    ).first()
    assert row is not None
    # The last micro-batch may have brought no event. Its transaction is in the table all the same.
    written = DeltaTable(lake.table(lake.of_log(EVENTS))).transaction_version("ingest")
    batch = max(-1 if each is None else each for each in (row["batch"], written))
    duplicates = read_table(spark, lake, lake.of_log(DUPLICATES)).where(F.col("batch") <= batch).count()
    lines = waiting(spark, lake, until=batch).count()
    mark = None if row["mark"] is None else from_millis(row["mark"])
    return Position(-1, row["seq"] or 0, mark, batch, duplicates, lines)
