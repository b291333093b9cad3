"""Results with a value of every type: one that the engine computes, and one that is recomputed."""

from datetime import timedelta

from pyspark.sql import functions as F
from pyspark.sql.types import ArrayType, BooleanType, DecimalType, DoubleType, LongType, StringType, TimestampType

from transformations.result import Derived, Result, Total, Value
from transformations.sums import exact_sum, sum_type
from transformations.windows import Tumbling


def measures(measured, _, alongside):
    return measured.groupBy(*alongside, "device", "window").agg(
        F.count("*").alias("measures"),
        exact_sum("total").alias("total"),
        exact_sum("level", scale=2).alias("levels"),
        F.min("level").alias("lowest"),
        F.bool_or("open").alias("was_open"),
        F.max("calibrated_at").alias("calibrated_at"),
        F.array_sort(F.array_distinct(F.flatten(F.collect_list("tags")))).alias("tags"),
        F.array_sort(F.array_distinct(F.flatten(F.collect_list("owners")))).alias("owners"),
    )


def measurements(*, size=timedelta(seconds=10)):
    return Result(
        name="measurements",
        meaning="What a device measured per window.",
        kinds=("measured",),
        key=("device",),
        key_types={"device": LongType()},
        values=(
            Value("measures", LongType(), "how many", least=0, total=Total("measured")),
            Value("total", sum_type(), "sum of the totals", total=Total("measured", "total")),
            Value("levels", sum_type(scale=2), "sum of the levels", total=Total("measured", "level")),
            Value("lowest", DecimalType(18, 2), "the lowest level"),
            Value("was_open", BooleanType(), "whether it was ever open"),
            Value("calibrated_at", TimestampType(), "when it was calibrated last", any_time=True),
            Value("tags", ArrayType(StringType()), "all tags, in their order"),
            Value("owners", ArrayType(StringType()), "all owners"),
        ),
        window=Tumbling(size),
        compute=measures,
        derived=Derived(
            values=(Value("mean", DoubleType(), "the mean level"),),
            select="select *, cast(levels as double) / measures as mean from {rows}",
        ),
    )
