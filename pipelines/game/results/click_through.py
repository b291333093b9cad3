"""`click_through`: how many of the offers of an hour were clicked. An aggregation after a join."""

from collections.abc import Sequence
from datetime import timedelta

from pyspark.sql import DataFrame
from pyspark.sql import functions as F
from pyspark.sql.types import IntegerType

from transformations.durations import written
from transformations.joins import WindowedJoin
from transformations.result import Result, Value

from .offer_outcomes import CLICKED, EACH_OFFER, SHOWN, clicks_by_offer


def rates(events: DataFrame, window: WindowedJoin, alongside: Sequence[str]) -> DataFrame:
    """An offer with three clicks comes out of the join three times: sets count it once. The time of the click is left
    behind, because the engine follows one event time only."""
    offer = F.struct("player_id", "offer_id", "shown_at")
    return (
        clicks_by_offer(events, window.within, alongside)
        .select(*alongside, "shown_at", offer.alias("offer"), F.col("clicked_at").isNotNull().alias("clicked"))
        .groupBy(*alongside, F.window("shown_at", written(window.size)).alias("window"))
        .agg(
            F.size(F.collect_set("offer")).alias("offers"),
            F.size(F.collect_set(F.when(F.col("clicked"), F.col("offer")))).alias("clicks"),
        )
        .withColumns({"window_start": F.col("window.start"), "window_end": F.col("window.end")})
    )


def click_through(*, size: timedelta = timedelta(hours=1), within: timedelta = timedelta(hours=1)) -> Result:
    return Result(
        name="click_through",
        meaning="How many of the offers shown in a window were clicked within the bound; the ratio is clicks to offers.",
        kinds=(SHOWN, CLICKED),
        key=(),
        values=(
            Value("offers", IntegerType(), "number of offers shown", least=0, total=EACH_OFFER),
            Value("clicks", IntegerType(), "how many of them were clicked", least=0),
        ),
        window=WindowedJoin(size, within),
        compute=rates,
    )
