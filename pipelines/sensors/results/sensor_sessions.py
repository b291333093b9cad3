"""`sensor_sessions`: when a sensor was measuring without a break of more than a gap. A late reading can join two sessions."""

from collections.abc import Sequence
from datetime import timedelta

from pyspark.sql import DataFrame
from pyspark.sql import functions as F
from pyspark.sql.types import LongType

from transformations.result import Result, Total, Value
from transformations.sessions import Session


def sessions(reads: DataFrame, window: Session, alongside: Sequence[str]) -> DataFrame:
    return reads.groupBy(*alongside, "sensor_id", window.window()).agg(
        F.min("event_time").alias("first_at"),
        F.max("event_time").alias("last_at"),
        F.count(F.lit(1)).alias("reads"),
    )


def sensor_sessions(*, gap: timedelta = timedelta(minutes=1)) -> Result:
    return Result(
        name="sensor_sessions",
        meaning="The stretches in which a sensor measured without a longer break than the gap.",
        kinds=("temperature_read",),
        key=("sensor_id",),
        values=(Value("reads", LongType(), "number of readings", least=0, total=Total("temperature_read")),),
        window=Session(gap),
        compute=sessions,
    )
