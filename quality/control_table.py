"""The control's table, `legacy_arrivals`. It counts by processing time and at least once: more rows are no fault, fewer are."""

from collections.abc import Iterator
from functools import partial

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F

from lakehouse.commits import commits
from lakehouse.control import CONTROL, control_schema
from lakehouse.lake import Lake
from lakehouse.log import log_at, position
from lakehouse.tables import read_table
from quality.pins import Pin
from quality.rules import Columns, Figure, NoRow, Rule, given, known, not_after
from quality.subjects import Absent, Subject

SHOWS = ("event_id", "kind", "file", "line", "batch")


def control_subjects(spark: SparkSession, at: Pin) -> Iterator[Subject | Absent]:
    """The arrivals that the control had taken from the log up to the pin; it reads the first log only."""
    lake = at.lake
    said = commits(lake, CONTROL) if lake.log == 1 and lake.has(CONTROL) else iter(())
    found = next((commit for commit in said if commit["log_version"] <= at.version), None)
    if found is None:
        yield Absent(CONTROL, f"The control has not run at or before log version {at.version}.")
        return
    version = found["log_version"]
    yield Subject(
        CONTROL,
        found["version"],
        control_schema(lake.pipeline.kinds),
        read=partial(read_table, spark, lake, CONTROL, version=found["version"]),
        prepare=partial(_with_known, spark, lake, version),
        rules=partial(_rules, at, version),
        pinned={"log_version": version},
    )


def _with_known(spark: SparkSession, lake: Lake, version: int, arrivals: DataFrame) -> DataFrame:
    """Each arrival with `_known`: whether the log has the event."""
    ids = log_at(spark, lake, version).select("event_id").distinct().withColumn("_known", F.lit(True))
    return arrivals.join(ids, "event_id", "left")


def _rules(at: Pin, version: int) -> list[Rule]:
    kinds = at.lake.pipeline.kinds
    then = position(at.lake, version)
    arrived = then.seq + then.duplicates
    return [
        Columns(control_schema(kinds)),
        given(("processing_time", "event_id", "kind", "file", "line", "batch", "written_at"), SHOWS),
        known("kind", (kind.name for kind in kinds), SHOWS),
        NoRow(
            "arrivals are of the log",
            f"Each arrival is of an event that the log has at version {version}.",
            "_known is null",
            SHOWS,
        ),
        not_after("written_at", at.moment, SHOWS),
        Figure(
            "nothing is lost",
            f"There are at least as many arrivals as the log and the duplicates have rows: {arrived:,}.",
            "count(1)",
            least=arrived,
        ),
    ]
