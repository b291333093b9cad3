"""`openings`: how often each door was opened per minute of event time."""

from collections.abc import Sequence
from datetime import timedelta

from pyspark.sql import DataFrame
from pyspark.sql import functions as F
from pyspark.sql.types import LongType

from transformations.result import Result, Total, Value
from transformations.windows import Tumbling


def counts(events: DataFrame, _: Tumbling, alongside: Sequence[str]) -> DataFrame:
    return events.groupBy(*alongside, "door_id", "window").agg(F.count(F.lit(1)).alias("times"))


def openings(*, size: timedelta = timedelta(minutes=1)) -> Result:
    return Result(
        name="openings",
        meaning="How often each door was opened per window.",
        kinds=("door_opened",),
        key=("door_id",),
        values=(Value("times", LongType(), "number of openings", least=0, total=Total("door_opened")),),
        window=Tumbling(size),
        compute=counts,
    )
