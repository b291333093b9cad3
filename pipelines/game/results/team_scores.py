"""`team_scores`: what each team scored per window of event time (tumbling, one minute unless the settings say more)."""

from collections.abc import Sequence
from datetime import timedelta

from pyspark.sql import DataFrame
from pyspark.sql import functions as F
from pyspark.sql.types import IntegerType, LongType

from transformations.result import Result, Total, Value
from transformations.windows import Tumbling


def scores(pops: DataFrame, _: Tumbling, alongside: Sequence[str]) -> DataFrame:
    """Sums and counts rather than means: they merge, and integers do not depend on the order of addition."""
    return pops.groupBy(*alongside, "team_id", "window").agg(
        F.sum("bubbles").alias("bubbles"),
        F.count(F.lit(1)).alias("events"),
        F.min("bubbles").alias("smallest"),
        F.max("bubbles").alias("greatest"),
        # Spark refuses DISTINCT aggregates on a stream; the size of the set is the same number in both modes.
        F.size(F.collect_set("player_id")).alias("players"),
    )


def team_scores(*, size: timedelta = timedelta(minutes=1)) -> Result:
    return Result(
        name="team_scores",
        meaning="What each team scored per window of event time.",
        kinds=("bubbles_popped",),
        key=("team_id",),
        values=(
            Value(
                "bubbles",
                LongType(),
                "sum of the bubbles popped; corrections are negative",
                total=Total("bubbles_popped", "bubbles"),
            ),
            Value("events", LongType(), "number of pops", least=0, total=Total("bubbles_popped")),
            Value("smallest", IntegerType(), "least bubbles of one pop"),
            Value("greatest", IntegerType(), "most bubbles of one pop"),
            Value("players", IntegerType(), "exact number of distinct players", least=0),
        ),
        window=Tumbling(size),
        compute=scores,
    )
