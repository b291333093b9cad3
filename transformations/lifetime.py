"""No window: one row a key over everything, from the first event to the last. Its state grows with the keys."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import ClassVar

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F
from pyspark.sql.types import TimestampType

from .shape import Part, Revisions, Shape, bearing_where, of_the_same

BEGINNING, END_OF_TIME = datetime(1970, 1, 1, tzinfo=UTC), datetime(9999, 1, 1, tzinfo=UTC)


@dataclass(frozen=True)
class Lifetime(Shape):
    """From 1970-01-01T00:00Z without an end. No row is late for it, and it is never final: it is what the log says so
    far, so it counts as settled at every version."""

    name: ClassVar[str] = "no window"
    called: ClassVar[dict[str, str]] = {
        "Spark": "aggregation without a window",
        "Flink": "non-windowed aggregation",
        "Beam": "global window",
    }
    bounds: ClassVar[str] = "everything"
    whole: ClassVar[bool] = True
    endless: ClassVar[bool] = True

    def in_place(self) -> str:
        return "window_start = timestamp_millis(0) and window_end is null"

    def finished(self, rows: DataFrame) -> DataFrame:
        endless = F.lit(None).cast(TimestampType())
        return rows.withColumns({"window_start": F.lit(BEGINNING), "window_end": endless})

    def deadline(self) -> Column:
        return F.lit(END_OF_TIME)

    def late(self, allowed: timedelta) -> Column:  # noqa: ARG002
        return F.lit(False)

    def settled(self, before: Column) -> Column:  # noqa: ARG002
        return F.lit(True)

    def touched(self, rows: DataFrame, log: DataFrame, by: Sequence[str]) -> DataFrame:  # noqa: ARG002
        return rows.select(*by, F.lit(BEGINNING).alias("first"), F.lit(END_OF_TIME).alias("last")).distinct()

    def repaired(self, part: Part, touched: DataFrame, by: Sequence[str], revisions: Revisions) -> DataFrame:
        return revisions(of_the_same(part.rows, touched, by))

    def bearing(self, events: DataFrame, keys: DataFrame, by: Sequence[str]) -> DataFrame:
        return bearing_where(F.lit(True), events, keys, by)
