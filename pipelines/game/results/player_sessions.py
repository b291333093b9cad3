"""`player_sessions`: when a player was at it without a break of more than a gap. A late pop can join two sessions."""

from collections.abc import Sequence
from datetime import timedelta

from pyspark.sql import DataFrame
from pyspark.sql import functions as F
from pyspark.sql.types import LongType

from transformations.result import Result, Total, Value
from transformations.sessions import Session


def sessions(pops: DataFrame, window: Session, alongside: Sequence[str]) -> DataFrame:
    return pops.groupBy(*alongside, "player_id", window.window()).agg(
        F.min("event_time").alias("first_at"),
        F.max("event_time").alias("last_at"),
        F.count(F.lit(1)).alias("events"),
        F.sum("bubbles").alias("bubbles"),
    )


def player_sessions(*, gap: timedelta = timedelta(minutes=15)) -> Result:
    return Result(
        name="player_sessions",
        meaning="The stretches in which a player popped without a longer break than the gap.",
        kinds=("bubbles_popped",),
        key=("player_id",),
        values=(
            Value("events", LongType(), "number of pops", least=0, total=Total("bubbles_popped")),
            Value("bubbles", LongType(), "sum of the bubbles popped", total=Total("bubbles_popped", "bubbles")),
        ),
        window=Session(gap),
        compute=sessions,
    )
