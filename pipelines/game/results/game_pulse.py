"""`game_pulse`: the whole game per ten seconds. A window without a key: one row a window, one task that computes it."""

from collections.abc import Sequence
from datetime import timedelta

from pyspark.sql import DataFrame
from pyspark.sql import functions as F
from pyspark.sql.types import IntegerType, LongType

from transformations.result import Result, Total, Value
from transformations.windows import Tumbling


def pulse(pops: DataFrame, _: Tumbling, alongside: Sequence[str]) -> DataFrame:
    return pops.groupBy(*alongside, "window").agg(
        F.count(F.lit(1)).alias("events"),
        F.sum("bubbles").alias("bubbles"),
        F.size(F.collect_set("player_id")).alias("players"),
    )


def game_pulse(*, size: timedelta = timedelta(seconds=10)) -> Result:
    return Result(
        name="game_pulse",
        meaning="What happened in the whole game per window, over all teams.",
        kinds=("bubbles_popped",),
        key=(),
        values=(
            Value("events", LongType(), "number of pops", least=0, total=Total("bubbles_popped")),
            Value("bubbles", LongType(), "sum of the bubbles popped", total=Total("bubbles_popped", "bubbles")),
            Value("players", IntegerType(), "exact number of distinct players", least=0),
        ),
        window=Tumbling(size),
        compute=pulse,
    )
