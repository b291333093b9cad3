"""`hot_minutes`: the pops with which a team reached 500 bubbles in the last 60 seconds. A true sliding window.

A level-up counts from the full minute, this counts back from every pop. Only the pop that crosses the line is kept.
"""

from collections.abc import Sequence
from datetime import timedelta

from pyspark.sql import DataFrame, Window
from pyspark.sql import functions as F
from pyspark.sql.types import LongType

from transformations.durations import milliseconds
from transformations.result import Result, Value
from transformations.sliding import Sliding

GOAL = 500


def sums(pops: DataFrame, window: Sliding, alongside: Sequence[str]) -> DataFrame:
    """Every pop with its sum and that of the one before it. Pops of equal time stand in the order of their ids.

    A frame over times takes in all pops of the last instant, so those that come after the pop are taken off again.
    """
    team = Window.partitionBy(*alongside, "team_id")
    at = F.unix_millis("event_time")
    recent = team.orderBy(at).rangeBetween(1 - milliseconds(window.size), 0)
    same = Window.partitionBy(*alongside, "team_id", "event_time").orderBy("event_id")
    after = F.sum("bubbles").over(same.rowsBetween(1, Window.unboundedFollowing))
    bubbles = F.sum("bubbles").over(recent) - F.coalesce(after, F.lit(0))
    before = F.lag("bubbles_then").over(team.orderBy("event_time", "event_id"))
    return (
        pops.withColumn("bubbles_then", bubbles)
        .withColumns({"before": before, "bubbles": F.col("bubbles_then")})
        .select(*alongside, "team_id", "event_id", "event_time", "bubbles", "before")
    )


def hot_minutes(*, size: timedelta = timedelta(minutes=1)) -> Result:
    return Result(
        name="hot_minutes",
        meaning=f"The pops with which a team came to {GOAL} bubbles in the time up to and including them.",
        kinds=("bubbles_popped",),
        key=("team_id", "event_id"),
        by=("team_id",),
        values=(
            Value("bubbles", LongType(), "sum of the bubbles in the window that ends with the pop"),
            Value("before", LongType(), "the same for the pop before, if there is one"),
        ),
        window=Sliding(size),
        compute=sums,
        present=f"bubbles >= {GOAL} and coalesce(before < {GOAL}, true)",
        way="recompute",
    )
