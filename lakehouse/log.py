"""The log: where it stands at a version, and its rows for Spark.

The log is the events among the arrivals (`lakehouse/arrivals.py`). Its versions are those of that table, and each commit of
ingestion says where the log stands after it, so that nobody has to read rows to know.
"""

from dataclasses import dataclass, fields
from datetime import datetime
from typing import Any

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F
from pyspark.sql.pandas.types import from_arrow_schema

from lakehouse.arrivals import (
    ARRIVALS,
    DUPLICATE,
    EVENT,
    OF_NO_COPY,
    OF_NO_EVENT,
    QUARANTINE_COLUMNS,
    QUARANTINED,
    schema,
)
from lakehouse.carrying import said_at
from lakehouse.commits import additions, commits, is_cleaned, lasting
from lakehouse.commits import newest as newest_commit
from lakehouse.errors import Forgotten, LogCompacted, NothingToCompare, ParityError, PositionForgotten
from lakehouse.lake import Lake
from lakehouse.table_files import read_files
from lakehouse.tables import read_table, with_columns
from transformations.durations import from_millis, to_millis


@dataclass(frozen=True)
class Position:
    """Where the log stands at a version: its last `seq`, which is its number of events, the high-water mark (none while
    it is empty), the last micro-batch of ingestion, the rows of all fates, and how many of these are what.

    `quarantined` are the lines that wait in quarantine. `requeued` are the rows of lines that waited there once. `token` is
    of one commit: another history of the same lake has another.
    """

    version: int
    seq: int = 0
    high_water: datetime | None = None
    batch: int = -1
    arrivals: int = 0
    duplicates: int = 0
    quarantined: int = 0
    requeued: int = 0
    token: str = ""

    @property
    def lines(self) -> int:
        """The landed lines that have become a row."""
        return self.arrivals - self.requeued

    @property
    def said(self) -> dict[str, Any]:
        """As a commit says it. The version is that of the commit."""
        mark = None if self.high_water is None else to_millis(self.high_water)
        own = {each.name: getattr(self, each.name) for each in fields(self) if each.name != "version"}
        return {**own, "high_water": mark}


def position(lake: Lake, version: int | None = None) -> Position:
    """The position at `version`, or at the newest one; its own version is that of ingestion's last commit until then."""
    at = newest_version(lake) if version is None else version
    said = said_at(lake, lake.of_log(ARRIVALS), at, about="seq")
    if said is None:
        return Position(at)
    mark = said["high_water"]
    own = {each.name: said[each.name] for each in fields(Position)}
    return Position(**{**own, "high_water": None if mark is None else from_millis(mark)})


def arrivals_at(spark: SparkSession, lake: Lake, version: int, *, whole: bool = False) -> DataFrame:
    """Every row as of `version`; where the table was compacted since, those rows in the files of now.

    Who wants the `whole` of it is spared the jobs by which Delta finds the files of a part.
    """
    table = lake.of_log(ARRIVALS)
    kept = lasting(lake, table, version)
    rows = as_declared(lake, (read_files if whole else read_table)(spark, lake, table, version=kept))
    return rows if kept == version else rows.where(F.col("arrival") <= position(lake, version).arrivals)


def as_declared(lake: Lake, arrivals: DataFrame) -> DataFrame:
    """Rows of a log that may be older than a kind, or younger, with the columns that are declared here and now."""
    declared = from_arrow_schema(schema(lake.pipeline.kinds))
    return with_columns(arrivals, declared).select(*declared.names)


def log_at(spark: SparkSession, lake: Lake, version: int, *, whole: bool = False) -> DataFrame:
    """The rows of the log that count, as of `version`."""
    log = events(arrivals_at(spark, lake, version, whole=whole))
    return log.where(F.col("seq") > position(lake, lake.since - 1).seq) if lake.since else log


def events(arrivals: DataFrame) -> DataFrame:
    """The log among arrivals, read or streamed. Predicates may move below a watermark, which follows the events alone."""
    return arrivals.where(F.col("fate") == EVENT).drop(*OF_NO_EVENT)


def duplicates_at(spark: SparkSession, lake: Lake, version: int) -> DataFrame:
    """The copies of events that had arrived when the log had this version."""
    rows = arrivals_at(spark, lake, version, whole=True)
    return rows.where(F.col("fate") == DUPLICATE).drop(*OF_NO_EVENT, *OF_NO_COPY)


def quarantine_at(spark: SparkSession, lake: Lake, version: int) -> DataFrame:
    """The lines that were quarantined when the log had this version, those too that were accepted since."""
    return arrivals_at(spark, lake, version, whole=True).where(F.col("fate") == QUARANTINED).select(*QUARANTINE_COLUMNS)


def waiting(spark: SparkSession, lake: Lake, version: int) -> DataFrame:
    """The quarantined lines of which no requeue had made an event or a copy when the log had this version."""
    lines = quarantine_at(spark, lake, version)
    if not position(lake, version).requeued:
        return lines
    origin = ["batch", "file", "line"]
    taken = arrivals_at(spark, lake, version, whole=True).where("requeued").select(*origin)
    return lines.join(F.broadcast(taken), origin, "left_anti")


def logs(lake: Lake) -> list[int]:
    """The numbers of the logs that the lake has."""
    names = (name.partition("@") for name in lake.tables())
    return sorted(int(number or 1) for name, _, number in names if name == ARRIVALS)


def newest_version(lake: Lake) -> int:
    """The version of ingestion's newest commit. A later one is of maintenance, and nobody is behind for it."""
    if not lake.has(lake.of_log(ARRIVALS)):
        if lake.log > 1:
            raise NothingToCompare(
                f"The lake {lake.path} has no log {lake.log}. Run `parity reingest --as-log {lake.log}` first."
            )
        raise NothingToCompare(f"The lake {lake.path} has no log yet. Run `parity ingest` first.")
    for said in commits(lake, lake.of_log(ARRIVALS)):
        return int(said["version"])
    if is_cleaned(lake, lake.of_log(ARRIVALS)):
        other = "" if lake.log == 1 else f" --log {lake.log}"
        raise PositionForgotten(
            f"Where the log of {lake.path} stands ({lake.of_log(ARRIVALS)}) is not known: no commit that is left says it, and "
            "nobody has carried it on (a tool other than Parity has maintained the table). Nothing was written: the events would "
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
    horizon. Where no row was among these, nothing is missing.
    """
    first = newest_commit(lake, lake.of_log(ARRIVALS)) + 1
    earlier = position(lake).arrivals
    for version, files in additions(lake, lake.of_log(ARRIVALS)):
        if version < since or not all(each.file.exists() for each in files):
            break
        first = version
        earlier -= sum(each.rows for each in files)
    if first <= since:
        return since
    try:
        return since if earlier == position(lake, since - 1).arrivals else first
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
