"""`reaction_times`: exact percentiles per team and minute. A holistic aggregate: it needs every value until the end."""

from collections.abc import Sequence
from datetime import timedelta

from pyspark.sql import DataFrame
from pyspark.sql import functions as F
from pyspark.sql.types import DoubleType

from transformations.result import Result, Value
from transformations.windows import Tumbling

PERCENTILES = {"median": 0.5, "p95": 0.95, "p99": 0.99}


def percentiles(pops: DataFrame, _: Tumbling, alongside: Sequence[str]) -> DataFrame:
    """Spark sorts the values first, so the order in which they came does not show, not even in the last bit."""
    found = (F.percentile("reaction_ms", share).alias(name) for name, share in PERCENTILES.items())
    return pops.groupBy(*alongside, "team_id", "window").agg(*found)


def reaction_times(*, size: timedelta = timedelta(minutes=1)) -> Result:
    return Result(
        name="reaction_times",
        meaning="How fast the players of a team react: exact percentiles, between two values by linear interpolation.",
        kinds=("bubbles_popped",),
        key=("team_id",),
        values=tuple(
            Value(name, DoubleType(), f"the {share:.0%} point of reaction_ms") for name, share in PERCENTILES.items()
        ),
        window=Tumbling(size),
        compute=percentiles,
        present="median is not null",  # no pop of the window says how fast it was
    )
