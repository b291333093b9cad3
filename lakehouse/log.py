"""The log: the tables that ingestion writes, their columns, and where the log stands at a version."""

from dataclasses import dataclass
from datetime import datetime, timedelta

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F
from pyspark.sql.types import BinaryType, LongType, StringType, StructField, StructType, TimestampType

from lakehouse.errors import NothingToCompare, ParityError
from lakehouse.lake import Lake
from lakehouse.tables import commits, create_table, read_table
from lakehouse.tables import newest as newest_commit
from transformations.durations import from_millis, to_millis
from transformations.kind import COLUMN_TYPES
from transformations.kinds import fields

EVENTS, DUPLICATES, QUARANTINE = "events", "duplicates", "quarantine"

_ORIGIN = (
    StructField("file", StringType()),
    StructField("line", LongType()),
    StructField("batch", LongType()),
    StructField("ingested_at", TimestampType()),
    StructField("fingerprint", StringType()),
)
_EVENT = (
    StructField("seq", LongType()),
    StructField("event_time", TimestampType()),
    StructField("high_water", TimestampType()),
    StructField("occurred_at", TimestampType()),
    StructField("id_hash", LongType()),
    StructField("event_id", StringType()),
    StructField("kind", StringType()),
    *(StructField(field.name, COLUMN_TYPES[field.type]) for field in fields().values()),
    StructField("sent_at", TimestampType()),
    StructField("received_at", TimestampType()),
)
SCHEMAS = {
    EVENTS: StructType([*_EVENT, *_ORIGIN, StructField("raw", StringType())]),
    DUPLICATES: StructType(
        [*(f for f in _EVENT if f.name not in ("seq", "high_water")), *_ORIGIN, StructField("raw", StringType())]
    ),
    QUARANTINE: StructType([StructField("reason", StringType()), *_ORIGIN, StructField("raw", BinaryType())]),
}


def create_log(spark: SparkSession, lake: Lake, *, horizon: timedelta) -> None:
    """Make the tables of ingestion. Not partitioned: the commits of the log lie in time order as they are."""
    for name, schema in SCHEMAS.items():
        known = ("seq", "event_time", "high_water", "occurred_at", "batch")
        statistics = tuple(field.name for field in schema if field.name in known)
        create_table(spark, lake, lake.of_log(name), schema, horizon=horizon, statistics=statistics)
    missing = set(SCHEMAS[EVENTS].names) - set(read_table(spark, lake, lake.of_log(EVENTS)).columns)
    if missing:
        raise ParityError(
            f"The log of {lake.path} has no column for {', '.join(sorted(missing))}: it was made before the kinds of events "
            "that have such fields were declared. Ingest into a new lake."
        )


@dataclass(frozen=True)
class Position:
    """Where the log stands at a version: its last `seq`, which is its number of events, the high-water mark (none while
    it is empty), the last micro-batch of ingestion, and the lines that went elsewhere until then.

    Ingestion says it with each commit, so that nobody has to read a table for it.
    """

    version: int
    seq: int = 0
    high_water: datetime | None = None
    batch: int = -1
    duplicates: int = 0
    quarantined: int = 0

    def after(
        self, batch: int, *, events: int, latest: datetime | None, duplicates: int, quarantined: int
    ) -> dict[str, int | None]:
        """What the commit of `batch` says; `latest` is the greatest event time of its `events`."""
        marks = [mark for mark in (self.high_water, latest) if mark is not None]
        return {
            "batch": batch,
            "seq": self.seq + events,
            "high_water": to_millis(max(marks)) if marks else None,
            "duplicates": self.duplicates + duplicates,
            "quarantined": self.quarantined + quarantined,
        }


def position(lake: Lake, version: int | None = None) -> Position:
    """The position at `version`, or at the newest one."""
    at = newest_version(lake) if version is None else version
    for said in commits(lake, lake.of_log(EVENTS)):
        if said.pop("version") <= at:
            mark = said.pop("high_water")
            return Position(version=at, high_water=None if mark is None else from_millis(mark), **said)
    return Position(at)


def log_at(spark: SparkSession, lake: Lake, version: int) -> DataFrame:
    """The rows of the log that count, as of `version`."""
    rows = read_table(spark, lake, lake.of_log(EVENTS), version=version)
    return rows.where(F.col("seq") > position(lake, lake.since - 1).seq) if lake.since else rows


def waiting(spark: SparkSession, lake: Lake) -> DataFrame:
    """The quarantined lines of finished micro-batches that no requeue has made events or copies of since."""
    origin = ["batch", "file", "line"]
    lines = read_table(spark, lake, lake.of_log(QUARANTINE)).where(F.col("batch") <= position(lake).batch)
    taken = [
        read_table(spark, lake, lake.of_log(name)).select(*origin).join(F.broadcast(lines), origin, "left_semi")
        for name in (EVENTS, DUPLICATES)
    ]
    return lines.join(F.broadcast(taken[0].unionByName(taken[1])), origin, "left_anti")


def newest_version(lake: Lake) -> int:
    if not lake.has(lake.of_log(EVENTS)):
        if lake.log > 1:
            raise NothingToCompare(
                f"The lake {lake.path} has no log {lake.log}. Run `parity reingest --as-log {lake.log}` first."
            )
        raise NothingToCompare(f"The lake {lake.path} has no log yet. Run `parity ingest` first.")
    return newest_commit(lake, lake.of_log(EVENTS))


def known_version(lake: Lake, version: int | None, *, option: str) -> int:
    """The version of the log that an option names, or the newest one."""
    newest = newest_version(lake)
    if version is None:
        return newest
    if not 0 <= version <= newest:
        raise ParityError(f"The log has no version {version}; it has 0 to {newest}. Name one of those with {option}.")
    return version
