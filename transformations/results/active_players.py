"""`active_players`: how many players there were per hour, as a sketch that can be merged to the day.

The sketch is Spark's HyperLogLog (Apache DataSketches). Its bytes depend on the order of what went in, so two answers
are compared by their estimates, within the error that the sketch states, and beside them the exact count.
"""

from collections.abc import Sequence
from datetime import timedelta

from pyspark.sql import DataFrame
from pyspark.sql import functions as F
from pyspark.sql.types import BinaryType, IntegerType, LongType

from ..result import Derived, Result, Value
from ..windows import Tumbling

LG_K = 12
ERROR = 3 * 1.04 / 2 ** (LG_K / 2)
"""Three standard errors of a HyperLogLog sketch with 2^12 registers: 4.9 %."""


def sketches(pops: DataFrame, _: Tumbling, alongside: Sequence[str]) -> DataFrame:
    return (
        pops.groupBy(*alongside, "window")
        .agg(
            F.size(F.collect_set("player_id")).alias("players"),
            F.hll_sketch_agg("player_id", LG_K).alias("sketch"),
        )
        .withColumn("estimate", F.hll_sketch_estimate("sketch"))
    )


WITH_DAY = """
    select hour.*, day.day_estimate
    from {rows} hour join (
        select latest.window_start, hll_sketch_estimate(hll_union_agg(hour.sketch)) as day_estimate
        from {rows} latest join {rows} hour
        on date_trunc('day', hour.window_start) = date_trunc('day', latest.window_start)
            and hour.window_start <= latest.window_start
        group by latest.window_start
    ) day on hour.window_start = day.window_start
"""
"""The hours of a day so far, merged: a player who came in three of them counts once.

Not the hours that follow: a row that is settled would go on changing until the day is over. Every row is merged with those
before it, which the hours of a day afford: with windows of a minute it is a million merges a day.
"""


def active_players(*, size: timedelta = timedelta(hours=1)) -> Result:
    return Result(
        name="active_players",
        meaning="How many players popped anything per window.",
        kinds=("bubbles_popped",),
        key=(),
        values=(
            Value("players", IntegerType(), "exact number of distinct players", least=0),
            Value("estimate", LongType(), "what the sketch says", error=ERROR, least=0),
            Value("sketch", BinaryType(), "HyperLogLog sketch of the players", compared=False),
        ),
        window=Tumbling(size),
        compute=sketches,
        derived=Derived(
            (
                Value(
                    "day_estimate",
                    LongType(),
                    "the estimate for the day up to the end of the window, from merged sketches",
                ),
            ),
            WITH_DAY,
            hides=("sketch",),
        ),
    )
