"""`league_scores`: bubbles per league, where the league is the one the player was in at the time of the pop.

A join with a table as of the event time. The table is made of events, which come late like any other: a late change of
league moves pops from one league to another in every window up to the next change, and can leave a league without any.
"""

from collections.abc import Sequence
from datetime import timedelta

from pyspark.sql import DataFrame
from pyspark.sql import functions as F
from pyspark.sql.types import LongType

from transformations.result import Result, Total, Value
from transformations.versions import AsOf

POPPED, CHANGED = "bubbles_popped", "league_changed"
NO_LEAGUE = "none"


def scores(events: DataFrame, window: AsOf, alongside: Sequence[str]) -> DataFrame:
    """Every league that a player was ever in gets a row, if only of nothing: so one that lost its last pop is told."""
    here = F.when(F.col("held"), F.col("bubbles")).otherwise(0)
    return (
        window.joined(events, "league", alongside, before=NO_LEAGUE)
        .groupBy(*alongside, "league", "window")
        .agg(F.sum(here).alias("bubbles"), F.count_if("held").alias("events"))
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
