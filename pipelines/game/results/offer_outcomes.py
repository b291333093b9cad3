"""`offer_outcomes`: each offer with its first click within the hour, or without one. An outer join of two streams.

Offers that nobody clicked are told once their hour is over.
"""

from collections.abc import Sequence
from datetime import timedelta

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F
from pyspark.sql.types import TimestampType

from transformations.joins import Joined
from transformations.result import Result, Total, Value
from transformations.shape import later

SHOWN, CLICKED = "offer_shown", "offer_clicked"
EACH_OFFER = Total(SHOWN, distinct=("player_id", "offer_id", "event_time"))
"""An offer that is shown twice at one instant is one."""


def clicks_by_offer(events: DataFrame, within: timedelta, alongside: Sequence[str]) -> DataFrame:
    """`shown_at` of every offer with `clicked_at` of each of its clicks within the bound, or null: a row a click."""
    both = {name: f"clicked_{name}" for name in (*alongside, "player_id", "offer_id")}
    shown = events.where(_kind(SHOWN)).select(
        *(F.col(name).alias(name) for name in both), F.col("event_time").alias("shown_at")
    )
    clicked = events.where(_kind(CLICKED)).select(
        *(F.col(name).alias(other) for name, other in both.items()), F.col("event_time").alias("clicked_at")
    )
    on = F.col("clicked_at").between(
        F.col("shown_at"), F.col("shown_at") + F.expr(f"interval {_seconds(within)} seconds")
    )
    for name, other in both.items():
        on &= F.col(name) == F.col(other)
    return shown.join(clicked, on, "left_outer").drop(*both.values())


def outcomes(events: DataFrame, window: Joined, alongside: Sequence[str]) -> DataFrame:
    """On a stream every click comes out as a row at once; the first one is chosen by whoever reads them."""
    clicks = clicks_by_offer(events, window.within, alongside)
    if not events.isStreaming:
        offer = (*alongside, "player_id", "offer_id", "shown_at")
        clicks = clicks.groupBy(*offer).agg(F.min("clicked_at").alias("clicked_at"))
    return clicks.withColumns(
        {"window_start": F.col("shown_at"), "window_end": later(F.col("shown_at"), window.within)}
    )


def _kind(name: str) -> Column:
    """A predicate that mentions the event time stays above `withWatermark`, whose mark then follows every kind."""
    return F.col("kind") == F.when(F.col("event_time").isNotNull(), F.lit(name))


def _seconds(duration: timedelta) -> str:
    return f"{duration.total_seconds():f}"


def offer_outcomes(*, within: timedelta = timedelta(hours=1)) -> Result:
    return Result(
        name="offer_outcomes",
        meaning="Each offer shown to a player, with the first click that followed within the bound.",
        kinds=(SHOWN, CLICKED),
        key=("player_id", "offer_id"),
        values=(Value("clicked_at", TimestampType(), "event time of the first click, null if there was none"),),
        window=Joined(within),
        compute=outcomes,
        prefer="-unix_millis(clicked_at)",
        rows=EACH_OFFER,
    )
