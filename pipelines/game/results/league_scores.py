"""`league_scores`: bubbles per league, where the league is the one the player was in at the time of the pop.

A join with a table as of the event time. The table is made of events, which come late like any other: a late change of
league moves pops from one league to another in every window up to the next change, and can leave a league without any.
"""

from collections.abc import Sequence
from datetime import timedelta

from pyspark.sql import DataFrame, Window
from pyspark.sql import functions as F
from pyspark.sql.types import LongType

from transformations.result import Result, Total, Value
from transformations.versions import AsOf

POPPED, CHANGED = "bubbles_popped", "league_changed"
NO_LEAGUE = "none"


def scores(events: DataFrame, _: AsOf, alongside: Sequence[str]) -> DataFrame:
    """Every league that a player was ever in gets a row, if only of nothing: so one that lost its last pop is told.

    A change holds from its own instant on; of two at one instant the greater id is the later.
    """
    player = Window.partitionBy(*alongside, "player_id")
    is_change = F.col("kind") == CHANGED
    so_far = player.orderBy("event_time", ~is_change, "event_id")
    changed_to = F.when(is_change, F.col("league"))
    known = F.coalesce(F.last(changed_to, ignorenulls=True).over(so_far), F.lit(NO_LEAGUE))
    ever = F.array_union(F.array(F.lit(NO_LEAGUE)), F.collect_set(changed_to).over(player))
    counted = F.when(F.col("league") == F.col("known"), 1).otherwise(0)
    return (
        events.withColumns({"known": known, "ever": ever})
        .where(F.col("kind") == POPPED)
        .withColumn("league", F.explode("ever"))
        .groupBy(*alongside, "league", "window")
        .agg(F.sum(F.col("bubbles") * counted).alias("bubbles"), F.sum(counted).alias("events"))
    )


def league_scores(*, size: timedelta = timedelta(minutes=10)) -> Result:
    return Result(
        name="league_scores",
        meaning="What each league scored per window, by the league that a player was in at the time of the pop.",
        kinds=(POPPED, CHANGED),
        key=("league",),
        by=(),
        values=(
            Value("bubbles", LongType(), "sum of the bubbles popped", total=Total(POPPED, "bubbles")),
            Value("events", LongType(), "number of pops", least=0, total=Total(POPPED)),
        ),
        window=AsOf(size, events=POPPED, changes=CHANGED, of="player_id"),
        compute=scores,
        present="events > 0",
        way="recompute",
    )
