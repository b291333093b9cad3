"""`lifetime_totals`: everything a player ever did, in one row. No window closes it, so the engine keeps every player."""

from collections.abc import Sequence

from pyspark.sql import DataFrame
from pyspark.sql import functions as F
from pyspark.sql.types import IntegerType, LongType, TimestampType

from transformations.lifetime import Lifetime
from transformations.result import Result, Total, Value


def totals(pops: DataFrame, _: Lifetime, alongside: Sequence[str]) -> DataFrame:
    return pops.groupBy(*alongside, "player_id").agg(
        F.sum("bubbles").alias("bubbles"),
        F.count(F.lit(1)).alias("events"),
        F.min("bubbles").alias("smallest"),
        F.max("bubbles").alias("greatest"),
        F.min("event_time").alias("first_at"),
        F.max("event_time").alias("last_at"),
    )


def lifetime_totals() -> Result:
    return Result(
        name="lifetime_totals",
        meaning="What each player did over everything.",
        kinds=("bubbles_popped",),
        key=("player_id",),
        values=(
            Value("bubbles", LongType(), "sum of the bubbles popped", total=Total("bubbles_popped", "bubbles")),
            Value("events", LongType(), "number of pops", least=0, total=Total("bubbles_popped")),
            Value("smallest", IntegerType(), "least bubbles of one pop"),
            Value("greatest", IntegerType(), "most bubbles of one pop"),
            Value("first_at", TimestampType(), "event time of the first pop"),
            Value("last_at", TimestampType(), "event time of the last pop"),
        ),
        window=Lifetime(),
        compute=totals,
    )
