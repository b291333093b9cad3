"""The log: the tables that ingestion writes, their columns, and where the log stands at a version."""

from dataclasses import dataclass
from datetime import datetime, timedelta

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F
from pyspark.sql.types import BinaryType, LongType, StringType, StructField, StructType, TimestampType

from lakehouse.carrying import said_at
from lakehouse.commits import additions, commits, is_cleaned, lasting
from lakehouse.commits import newest as newest_commit
from lakehouse.errors import Forgotten, LogCompacted, NothingToCompare, ParityError, PositionForgotten
from lakehouse.lake import Lake
from lakehouse.notes import edited, note
from lakehouse.tables import create_table, read_table
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

    @property
    def lines(self) -> int:
        """The landed lines that have become a row of one of the three tables."""
        return self.seq + self.duplicates + self.quarantined

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
    """The position at `version`, or at the newest one; its own version is that of ingestion's last commit until then."""
    at = newest_version(lake) if version is None else version
    said = said_at(lake, lake.of_log(EVENTS), at, about="seq")
    if said is None:
        return Position(at)
    mark = said.pop("high_water")
    return Position(high_water=None if mark is None else from_millis(mark), **said)


def log_at(spark: SparkSession, lake: Lake, version: int) -> DataFrame:
    """The rows of the log that count, as of `version`; where it was compacted since, those rows in the files of now."""
    table = lake.of_log(EVENTS)
    kept = lasting(lake, table, version)
    log = read_table(spark, lake, table, version=kept)
    if kept != version:
        log = log.where(F.col("seq") <= position(lake, version).seq)
    return log.where(F.col("seq") > position(lake, lake.since - 1).seq) if lake.since else log


def duplicates_at(spark: SparkSession, lake: Lake, version: int) -> DataFrame:
    """The copies that the duplicates had at a version of them."""
    table = lake.of_log(DUPLICATES)
    kept = lasting(lake, table, version)
    copies = read_table(spark, lake, table, version=kept)
    if kept == version:
        return copies
    said = said_at(lake, table, version, about="batch")
    return copies.where(F.col("batch") <= (-1 if said is None else said["batch"]))


def waiting(spark: SparkSession, lake: Lake, *, until: int | None = None) -> DataFrame:
    """The quarantined lines of finished micro-batches that no requeue has made events or copies of since.

    The last finished one is `until`, or the one that the log stands at.
    """
    origin = ["batch", "file", "line"]
    last = position(lake).batch if until is None else until
    lines = read_table(spark, lake, lake.of_log(QUARANTINE)).where(F.col("batch") <= last)
    if not note(lake, lake.of_log(QUARANTINE)).get("requeued"):
        return lines  # no requeue has begun to take any; the log need not be read for that
    taken = [
        read_table(spark, lake, lake.of_log(name)).select(*origin).join(F.broadcast(lines), origin, "left_semi")
        for name in (EVENTS, DUPLICATES)
    ]
    return lines.join(F.broadcast(taken[0].unionByName(taken[1])), origin, "left_anti")


def note_requeue(lake: Lake) -> None:
    """Note that lines of the quarantine may be in the log from now on."""
    with edited(lake, lake.of_log(QUARANTINE)) as content:
        content["requeued"] = True


def logs(lake: Lake) -> list[int]:
    """The numbers of the logs that the lake has."""
    names = (name.partition("@") for name in lake.tables())
    return sorted(int(number or 1) for name, _, number in names if name == EVENTS)


def newest_version(lake: Lake) -> int:
    """The version of ingestion's newest commit. A later one is of maintenance, and nobody is behind for it."""
    if not lake.has(lake.of_log(EVENTS)):
        if lake.log > 1:
            raise NothingToCompare(
                f"The lake {lake.path} has no log {lake.log}. Run `parity reingest --as-log {lake.log}` first."
            )
        raise NothingToCompare(f"The lake {lake.path} has no log yet. Run `parity ingest` first.")
    for said in commits(lake, lake.of_log(EVENTS)):
        return int(said["version"])
    if is_cleaned(lake, lake.of_log(EVENTS)):
        other = "" if lake.log == 1 else f" --log {lake.log}"
        raise PositionForgotten(
            f"Where the {lake.of_log(EVENTS)} of {lake.path} stand is not known: no commit that is left says it, and nobody "
            "has carried it on (a tool other than Parity has maintained the table). Nothing was written: the events would "
            f"be numbered from 1 again. `parity maintain --lake {lake.path} --recover-position{other}` derives it from the rows."
        )
    return 0


def known_version(lake: Lake, version: int | None, *, option: str) -> int:
    """The version of the log that an option names, or the newest one."""
    newest = newest_version(lake)
    if version is None:
        return newest
    if not 0 <= version <= newest:
        raise ParityError(f"The log has no version {version}; it has 0 to {newest}. Name one of those with {option}.")
    return version


def first_streamable(lake: Lake, *, since: int = 0) -> int:
    """The first version, `since` or later, from which on the log can be read commit by commit.

    A vacuum removes the files that a compaction replaced, and Delta the commits themselves, once they are beyond the
    horizon. Where no event was among these, nothing is missing.
    """
    first = newest_commit(lake, lake.of_log(EVENTS)) + 1
    earlier = position(lake).seq
    for version, files in additions(lake, lake.of_log(EVENTS)):
        if version < since or not all(each.file.exists() for each in files):
            break
        first = version
        earlier -= sum(each.rows for each in files)
    if first <= since:
        return since
    try:
        return since if earlier == position(lake, since - 1).seq else first
    except Forgotten:
        return first


def refuse_compacted(lake: Lake, reader: str, *, since: int, instead: str) -> None:
    """Refuse a stream that would begin at a version of which only the rows are left, in the files of a compaction."""
    first = first_streamable(lake, since=since)
    if first > since:
        raise LogCompacted(
            f"{reader} would read the log of {lake.path} commit by commit from version {since} on. What lies before version "
            f"{first} has been compacted and vacuumed: its events are all there, its single commits are not. Nothing was "
            f"written. {instead}"
        )
