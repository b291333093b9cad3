"""`active_players`: how many players there were per hour, as a sketch that can be merged to the day.

The sketch is Spark's HyperLogLog (Apache DataSketches). Its bytes depend on the order of what went in, so two answers
are compared by their estimates, within the error that the sketch states, and beside them the exact count.
"""

from collections.abc import Sequence
from datetime import timedelta

from pyspark.sql import DataFrame
from pyspark.sql import functions as F
from pyspark.sql.types import BinaryType, IntegerType, LongType

from transformations.result import Derived, Result, Value
from transformations.windows import Tumbling

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
    select mine.*, day.day_estimate
    from {rows} mine join (
        select window_start, hll_sketch_estimate(hll_union_agg(sketch)) as day_estimate
        from (
            select mine.window_start, other.sketch
            from {rows} mine join {rows} other
            on date_trunc('hour', other.window_start) = date_trunc('hour', mine.window_start)
                and other.window_start <= mine.window_start
            union all
            select mine.window_start, hour.sketch
            from {rows} mine join (
                select date_trunc('hour', window_start) as start, hll_union_agg(sketch) as sketch
                from {rows} group by date_trunc('hour', window_start)
            ) hour
            on date_trunc('day', hour.start) = date_trunc('day', mine.window_start)
                and hour.start < date_trunc('hour', mine.window_start)
        ) so_far group by window_start
    ) day on mine.window_start = day.window_start
"""
"""The windows of a day so far, merged: a player who came in three of them counts once.

Not those that follow: a row that is settled would go on changing until the day is over. Hours that are over are merged
once: windows of a minute would else be merged with all before them, a million times a day.
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
