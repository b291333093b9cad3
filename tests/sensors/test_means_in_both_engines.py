"""The mean of a sensor is a decimal that Spark and DuckDB compute alike, and that plain Python rounds to."""

import random
from datetime import UTC, datetime, timedelta
from decimal import ROUND_HALF_UP, Context, Decimal

import duckdb
from pyspark.sql import SparkSession

from pipelines.sensors.results.sensor_means import sensor_means
from serving.dialect import speak_spark
from serving.pins import Pinned
from serving.queries import Asked, view_query

START = datetime(2026, 3, 1, tzinfo=UTC)
FINE = Context(prec=80)
KNOWN = [
    ("0.00", 7), ("0.01", 2_000_000), ("-0.01", 2_000_000), ("0.01", 2_000_001), ("1.00", 3), ("2.00", 3), ("-2.00", 3),
    ("-0.05", 8), ("9999999999999999.99", 1), ("-9999999999999999.99", 7), ("99999999999999999999999999.99", 3),
    ("0.01", 2**62), ("123456789012345678901.23", 7),
]  # fmt: skip


def test_every_mean_is_the_exact_quotient_rounded_half_up(spark: SparkSession) -> None:
    rng, result = random.Random(5), sensor_means()
    drawn = [(f"{rng.randint(-(10**9), 10**9) / 100:.2f}", rng.randint(1, 5_000)) for _ in range(500)]
    cases = [(Decimal(total), reads) for total, reads in (*KNOWN, *drawn)]
    rows = [
        (f"{number:04d}", START, START + timedelta(seconds=5), total, reads, Decimal("0.00"), Decimal("0.00"))
        for number, (total, reads) in enumerate(cases)
    ]
    computed = spark.createDataFrame(rows, result.schema)
    with_spark = result.shown(computed).orderBy("sensor_id")
    database = duckdb.connect()
    speak_spark(database)
    database.register("computed", computed.toArrow())
    query = view_query(result, Pinned("batch", 0, START, None), {"batch": "computed"}, Asked())
    without = database.sql(query.text, params=query.values).to_arrow_table().sort_by("sensor_id")
    right = [
        FINE.divide(total, Decimal(reads)).quantize(Decimal("0.000001"), ROUND_HALF_UP, FINE) for total, reads in cases
    ]
    assert [row["mean"] for row in with_spark.collect()] == right
    assert without["mean"].to_pylist() == right
    [declared] = result.derived.values if result.derived else ()
    assert with_spark.schema["mean"].dataType == declared.type
    assert str(without.schema.field("mean").type) == f"decimal128({declared.type.precision}, {declared.type.scale})"
