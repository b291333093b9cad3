"""`player_pace`: how much a player pops in five minutes, told every minute. A hopping window: a pop counts in five."""

from collections.abc import Sequence
from datetime import timedelta

from pyspark.sql import DataFrame
from pyspark.sql import functions as F
from pyspark.sql.types import DoubleType, LongType

from transformations.durations import written
from transformations.result import Derived, Result, Total, Value
from transformations.windows import Hopping


def pace(pops: DataFrame, _: Hopping, alongside: Sequence[str]) -> DataFrame:
    return pops.groupBy(*alongside, "player_id", "window").agg(
        F.sum("bubbles").alias("bubbles"), F.count(F.lit(1)).alias("events")
    )


def with_change(window: Hopping) -> str:
    """A window in which the player did nothing has no row, and counts as nothing.

    Windows begin on multiples of the slide. If it does not divide the size, none ends where another starts: there is no
    change to tell.
    """
    if window.times_counted is None:
        return "select now.*, now.bubbles / now.events as mean, cast(null as bigint) as change from {rows} now"
    return f"""
        select now.*, now.bubbles / now.events as mean, now.bubbles - coalesce(before.bubbles, 0) as change
        from {{rows}} now left join {{rows}} before
        on before.player_id = now.player_id and before.window_start = now.window_start - interval '{written(window.size)}'
    """


def player_pace(*, size: timedelta = timedelta(minutes=5), slide: timedelta = timedelta(minutes=1)) -> Result:
    window = Hopping(size, slide)
    return Result(
        name="player_pace",
        meaning="How much each player pops in a window that begins again every slide.",
        kinds=("bubbles_popped",),
        key=("player_id",),
        values=(
            Value("bubbles", LongType(), "sum of the bubbles popped", total=Total("bubbles_popped", "bubbles")),
            Value("events", LongType(), "number of pops", least=0, total=Total("bubbles_popped")),
        ),
        window=window,
        compute=pace,
        derived=Derived(
            (
                Value("mean", DoubleType(), "bubbles per pop"),
                Value(
                    "change",
                    LongType(),
                    "bubbles more than in the window that ended where this one starts; null if slide does not divide size",
                ),
            ),
            with_change(window),
        ),
    )
