"""The recovery of a position: where the log stands, derived from its rows when no commit is left that says it.

    parity maintain --lake LAKE --recover-position

Parity's own maintenance carries the position on, so this is for a log that something else has maintained. Nothing is
guessed: every event has its number and the mark, and Delta keeps the last micro-batch of each writer with the table.
"""

import secrets

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F

from lakehouse.arrivals import ARRIVALS, DUPLICATE, QUARANTINED
from lakehouse.delta_table import delta_table
from lakehouse.errors import ParityError, PositionForgotten
from lakehouse.lake import Lake
from lakehouse.locks import exclusive_here
from lakehouse.log import Position, newest_version, position
from lakehouse.tables import append, read_table
from transformations.durations import from_millis


def recover_position(spark: SparkSession, lake: Lake) -> Position:
    """Let a commit without rows say where the log stands. A log whose position is known is left alone."""
    name = lake.of_log(ARRIVALS)
    with exclusive_here(lake.lock_file(lake.of_log("ingest")), wait=False):
        refuse_known_position(lake)
        rows = read_table(spark, lake, name)
        append(spark, lake, name, rows.limit(0), transaction=None, metadata=_derived(lake, rows).said)
        return position(lake)


def refuse_known_position(lake: Lake) -> None:
    """Refuse a log whose position is known, or which is not there. Needs no Spark."""
    try:
        newest_version(lake)
    except PositionForgotten:
        return
    raise ParityError(
        f"Where the log of {lake.path} stands is known: {position(lake).seq:,} events. Nothing was changed; leave "
        "--recover-position out."
    )


def _derived(lake: Lake, rows: DataFrame) -> Position:
    of = {fate: F.count_if(F.col("fate") == fate) for fate in (DUPLICATE, QUARANTINED)}
    found = rows.agg(
        F.max("seq").alias("seq"),
        F.max(F.unix_millis("high_water")).alias("mark"),
        F.max("batch").alias("batch"),
        F.max("arrival").alias("arrivals"),
        of[DUPLICATE].alias("duplicates"),
        of[QUARANTINED].alias("quarantined"),
        F.count_if("requeued").alias("requeued"),
    ).first()
    assert found is not None
    # The last micro-batch may have brought no line. Its transaction is in the table all the same.
    written = delta_table(lake, lake.of_log(ARRIVALS)).transaction_version("ingest")
    return Position(
        version=-1,
        seq=found["seq"] or 0,
        high_water=None if found["mark"] is None else from_millis(found["mark"]),
        batch=max(-1 if each is None else each for each in (found["batch"], written)),
        arrivals=found["arrivals"] or 0,
        duplicates=found["duplicates"],
        quarantined=found["quarantined"] - found["requeued"],
        requeued=found["requeued"],
        token=secrets.token_hex(8),
    )
