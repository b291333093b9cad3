"""`player_pace`: how much a player pops in five minutes, told every minute. A hopping window: a pop counts in five."""

from collections.abc import Sequence
from datetime import timedelta

from pyspark.sql import DataFrame
from pyspark.sql import functions as F
from pyspark.sql.types import DoubleType, LongType

from ..result import Derived, Result, Total, Value
from ..shape import later
from ..windows import Hopping


def pace(pops: DataFrame, _: Hopping, alongside: Sequence[str]) -> DataFrame:
    return pops.groupBy(*alongside, "player_id", "window").agg(
        F.sum("bubbles").alias("bubbles"), F.count(F.lit(1)).alias("events")
    )


def with_change(rows: DataFrame, window: Hopping) -> DataFrame:
    """A window in which the player did nothing has no row, and counts as nothing."""
    before = rows.select(
        "player_id", later(F.col("window_start"), window.size).alias("window_start"), F.col("bubbles").alias("before")
    )
    return (
        rows.join(before, ["player_id", "window_start"], "left")
        .withColumn("mean", F.col("bubbles") / F.col("events"))
        .withColumn("change", F.col("bubbles") - F.coalesce("before", F.lit(0)))
        .select(*rows.columns, "mean", "change")
    )


def player_pace(*, size: timedelta = timedelta(minutes=5), slide: timedelta = timedelta(minutes=1)) -> Result:
    return Result(
        name="player_pace",
        meaning="How much each player pops in a window that begins again every slide.",
        kinds=("bubbles_popped",),
        key=("player_id",),
        values=(
            Value("bubbles", LongType(), "sum of the bubbles popped", total=Total("bubbles_popped", "bubbles")),
            Value("events", LongType(), "number of pops", least=0, total=Total("bubbles_popped")),
        ),
        window=Hopping(size, slide),
        compute=pace,
        derived=Derived(
            (
                Value("mean", DoubleType(), "bubbles per pop"),
                Value("change", LongType(), "bubbles more than in the window that ended where this one starts"),
            ),
            with_change,
        ),
    )
