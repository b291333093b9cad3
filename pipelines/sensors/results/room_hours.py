"""`room_hours`: the readings of each room, where the room is the one that the sensor was in at the time of the reading.

A late move takes readings from one room to another in every window up to the next move, and can leave a room without any.
"""

from collections.abc import Sequence
from datetime import timedelta

from pyspark.sql import DataFrame
from pyspark.sql import functions as F
from pyspark.sql.types import LongType

from transformations.result import Result, Total, Value
from transformations.sums import exact_sum, sum_type
from transformations.versions import AsOf

from .sensor_means import SCALE

READ, MOVED = "temperature_read", "sensor_moved"
NO_ROOM = "none"


def measured(events: DataFrame, window: AsOf, alongside: Sequence[str]) -> DataFrame:
    """Every room that a sensor was ever in gets a row, if only of nothing: so one that lost its last reading is told."""
    here = F.when(F.col("held"), F.col("temperature")).otherwise(0)
    return (
        window.joined(events, "room_id", alongside, before=NO_ROOM)
        .groupBy(*alongside, "room_id", "window")
        .agg(F.count_if("held").alias("reads"), exact_sum(here, SCALE).alias("total"))
    )


def room_hours(*, size: timedelta = timedelta(hours=1)) -> Result:
    return Result(
        name="room_hours",
        meaning="What was measured in each room per window, by the room that the sensor was in at the time of the reading.",
        kinds=(READ, MOVED),
        key=("room_id",),
        by=(),
        values=(
            Value("reads", LongType(), "number of readings", least=0, total=Total(READ)),
            Value("total", sum_type(SCALE), "sum of the temperatures", total=Total(READ, "temperature")),
        ),
        window=AsOf(size, events=READ, changes=MOVED, of="sensor_id"),
        compute=measured,
        present="reads > 0",
        way="recompute",
    )
