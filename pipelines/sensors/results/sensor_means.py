"""`sensor_means`: what each sensor measured per window of event time (tumbling, five seconds unless the settings say more)."""

from collections.abc import Sequence
from datetime import timedelta

from pyspark.sql import DataFrame
from pyspark.sql import functions as F
from pyspark.sql.types import DecimalType, LongType

from transformations.kind import MOST_DIGITS
from transformations.result import Derived, Result, Total, Value
from transformations.sums import DIGITS, exact_sum, sum_type
from transformations.windows import Tumbling

SCALE = 2
"""So many digits of a temperature stand after the point."""
OF_A_MEAN = 6
"""So many digits of a mean stand after the point: as many as Spark gives the quotient of a sum and a count."""


def measured(reads: DataFrame, _: Tumbling, alongside: Sequence[str]) -> DataFrame:
    """Sum and count rather than the mean: they merge, and decimals do not depend on the order of addition."""
    return reads.groupBy(*alongside, "sensor_id", "window").agg(
        exact_sum("temperature", SCALE).alias("total"),
        F.count(F.lit(1)).alias("reads"),
        F.min("temperature").alias("least"),
        F.max("temperature").alias("greatest"),
    )


def sensor_means(*, size: timedelta = timedelta(seconds=5)) -> Result:
    temperature = DecimalType(MOST_DIGITS, SCALE)
    return Result(
        name="sensor_means",
        meaning="What each sensor measured per window of event time, and the mean of it.",
        kinds=("temperature_read",),
        key=("sensor_id",),
        values=(
            Value("total", sum_type(SCALE), "sum of the temperatures", total=Total("temperature_read", "temperature")),
            Value("reads", LongType(), "number of readings", least=0, total=Total("temperature_read")),
            Value("least", temperature, "lowest temperature"),
            Value("greatest", temperature, "highest temperature"),
        ),
        window=Tumbling(size),
        compute=measured,
        derived=Derived(
            (Value("mean", DecimalType(DIGITS, OF_A_MEAN), "total by reads, rounded half up"),),
            f"select *, cast(try_divide(total, reads) as decimal({DIGITS}, {OF_A_MEAN})) as mean from {{rows}}",
        ),
    )
