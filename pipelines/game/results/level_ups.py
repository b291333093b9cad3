"""`level_ups`: the windows in which a team reached 500 bubbles, and when it first did.

A trigger inside a window: the running sum, in order of event time, may reach the goal and sink below it again. A late
negative pop can undo a level-up, so this result can vanish.
"""

from collections.abc import Sequence
from datetime import timedelta

from pyspark.sql import DataFrame
from pyspark.sql import functions as F
from pyspark.sql.types import TimestampType

from transformations.result import Result, Value
from transformations.windows import Tumbling

GOAL = 500

_FIRST_AT_GOAL = f"""
    aggregate(array_sort(pops),
              named_struct('total', 0L, 'reached_at', cast(null as timestamp)),
              (team, pop) -> named_struct(
                  'total', team.total + pop.bubbles,
                  'reached_at', coalesce(team.reached_at, if(team.total + pop.bubbles >= {GOAL}, pop.event_time, null))),
              team -> team.reached_at)
"""


def reached(pops: DataFrame, _: Tumbling, alongside: Sequence[str]) -> DataFrame:
    """Collect, sort, fold: a running sum needs an order, and a streaming aggregate has no window functions."""
    return (
        pops.groupBy(*alongside, "team_id", "window")
        .agg(F.collect_list(F.struct("event_time", "event_id", "bubbles")).alias("pops"))
        .withColumn("reached_at", F.expr(_FIRST_AT_GOAL))
    )


def level_ups(*, size: timedelta = timedelta(minutes=1)) -> Result:
    return Result(
        name="level_ups",
        meaning=f"The windows in which a team's running sum of bubbles reached {GOAL}, and when it first did.",
        kinds=("bubbles_popped",),
        key=("team_id",),
        values=(Value("reached_at", TimestampType(), f"event time of the pop that brought the sum to {GOAL}"),),
        window=Tumbling(size),
        compute=reached,
        present="reached_at is not null",
    )
