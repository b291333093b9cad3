"""`pop_streaks`: every ten pops of a player in a row, within an hour. A count window: a late pop moves all that follow."""

from collections.abc import Sequence
from datetime import timedelta

from pyspark.sql import DataFrame, Window
from pyspark.sql import functions as F
from pyspark.sql.types import IntegerType, LongType

from transformations.result import Result, Value
from transformations.windows import CountWithin

LENGTH = 10


def streaks(pops: DataFrame, _: CountWithin, alongside: Sequence[str]) -> DataFrame:
    """Pops of equal time stand in the order of their ids; what is left over makes no streak."""
    order = Window.partitionBy(*alongside, "player_id", "window").orderBy("event_time", "event_id")
    streak = F.ceil(F.row_number().over(order) / LENGTH).cast("int")
    at = F.unix_millis("event_time")
    return (
        pops.withColumn("streak", streak)
        .groupBy(*alongside, "player_id", "window", "streak")
        .agg(
            (F.max(at) - F.min(at)).alias("span_ms"),
            F.sum("bubbles").alias("bubbles"),
            F.count(F.lit(1)).alias("pops"),
        )
        .where(F.col("pops") == LENGTH)
    )


def pop_streaks(*, size: timedelta = timedelta(hours=1)) -> Result:
    return Result(
        name="pop_streaks",
        meaning=f"Every {LENGTH} consecutive pops of a player within a window, in the order of event time.",
        kinds=("bubbles_popped",),
        key=("player_id", "streak"),
        key_types={"streak": IntegerType()},
        by=("player_id",),
        values=(
            Value("span_ms", LongType(), "milliseconds from the first to the last of them", least=0),
            Value("bubbles", LongType(), "sum of the bubbles popped"),
        ),
        window=CountWithin(size),
        compute=streaks,
        way="recompute",
    )
