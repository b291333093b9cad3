"""The table `legacy_arrivals`: what the control has appended, and its answer, computed at query time.

For readers without Spark the answer is written down as well, in `legacy_<result>`, after each run of the control.
"""

from dataclasses import dataclass

from pyspark.sql import Column, DataFrame, SparkSession
from pyspark.sql import functions as F
from pyspark.sql.types import LongType, StringType, StructField, StructType, TimestampType

from lakehouse.commits import commits
from lakehouse.errors import NothingToCompare
from lakehouse.lake import Lake
from lakehouse.table_files import read_files
from lakehouse.tables import with_columns
from transformations.columns import column_type
from transformations.kind import Kind
from transformations.kinds import fields
from transformations.result import Result

CONTROL = "legacy_arrivals"


def control_schema(kinds: tuple[Kind, ...]) -> StructType:
    return StructType(
        [
            StructField("processing_time", TimestampType()),
            StructField("event_id", StringType()),
            StructField("kind", StringType()),
            *(StructField(field.name, column_type(field)) for field in fields(kinds).values()),
            StructField("file", StringType()),
            StructField("line", LongType()),
            StructField("batch", LongType()),
            StructField("written_at", TimestampType()),
        ]
    )


def legacy_name(result: Result) -> str:
    return f"legacy_{result.id}"


@dataclass(frozen=True)
class ControlBoundary:
    """How far the control has come: the version of the log that it has consumed, and its own table's."""

    log_version: int
    table_version: int


def processing_time() -> Column:
    """When an arrival was processed: when it was received or, where nobody noted that, when it was ingested."""
    return F.coalesce("received_at", "ingested_at")


def control_boundary(lake: Lake) -> ControlBoundary:
    for said in commits(lake, CONTROL) if lake.has(CONTROL) else ():
        return ControlBoundary(said["log_version"], said["version"])
    raise NothingToCompare(f"The legacy control has not run in {lake.path}. Run `parity legacy` first.")


def answer_boundary(lake: Lake, result: Result) -> ControlBoundary:
    """How far the control had come when its answer was written down last; the table version is that of the answer."""
    name = legacy_name(result)
    for said in commits(lake, name) if lake.has(name) else ():
        return ControlBoundary(said["log_version"], said["version"])
    known = ", ".join(lake.pipeline.story.controlled)
    raise NothingToCompare(
        f"The control has written down no answer for {result.id} in {lake.path}. `parity legacy` does it for {known}; any "
        f"other is computed by Spark: `parity show {result.name} --layer legacy`."
    )


def read_arrivals(spark: SparkSession, lake: Lake, at: ControlBoundary) -> DataFrame:
    return with_columns(read_files(spark, lake, CONTROL, version=at.table_version), control_schema(lake.pipeline.kinds))


def read_legacy(spark: SparkSession, lake: Lake, result: Result, at: ControlBoundary) -> DataFrame:
    """The answer of the control at a boundary."""
    return answered(result, read_arrivals(spark, lake, at))


def answered(result: Result, arrivals: DataFrame) -> DataFrame:
    """What the control answers by these arrivals: the shared function, but by the time of their processing."""
    return result.of(arrivals.withColumn("event_time", F.col("processing_time")))
