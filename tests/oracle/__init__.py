"""What Spark's parser says of lines, kept to hold `transformations.lines` against: other code, with another JSON parser."""

from collections.abc import Sequence
from typing import Any

import pyarrow as pa
from game import GAME
from pyspark.sql import SparkSession

from oracle.parser import TIMES, parsed
from transformations.clock import Clock
from transformations.durations import from_millis

MOMENTS = (*TIMES, "event_time")
COLUMNS = ("event_id", "kind", *GAME.fields(), *MOMENTS)


def spark_judges(
    spark: SparkSession, lines: Sequence[bytes], clock: Clock, *, ingested_at: int
) -> list[tuple[str | None, dict[str, Any]]]:
    """The reason against each line and its values, moments in milliseconds. If a field is wrong, the values mean nothing."""
    delivered = pa.table(
        {
            "place": list(range(len(lines))),
            "bytes": pa.array(lines, pa.binary()),
            "ingested_at": pa.array([from_millis(ingested_at)] * len(lines), pa.timestamp("us", "UTC")),
        }
    )
    frame = spark.createDataFrame(delivered).selectExpr("place", "cast(bytes as string) as value", "ingested_at")
    moments = [f"unix_millis({name}) as {name}" for name in MOMENTS]
    rows = parsed(frame, clock).selectExpr("place", "reason", "event_id", "kind", *GAME.fields(), *moments)
    return [
        (row["reason"], {name: row[name] for name in COLUMNS}) for row in rows.toArrow().sort_by("place").to_pylist()
    ]


def arrow_judges(table: pa.Table) -> list[tuple[str | None, dict[str, Any]]]:
    """A table of `judge` in the same form."""
    for name in MOMENTS:
        moments = table[name].cast(pa.timestamp("ms", "UTC")).cast(pa.int64())
        table = table.set_column(table.schema.get_field_index(name), name, moments)
    return [(row["reason"], {name: row[name] for name in COLUMNS}) for row in table.to_pylist()]
