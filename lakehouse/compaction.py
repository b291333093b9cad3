"""The files of a table: many small ones made into few, and those that nobody can ask for any more removed.

Both are commits of Delta's own (OPTIMIZE) or none at all (VACUUM). A compaction moves rows and changes none, so a stream
that reads the table does not see it. Its commit carries on what those before it said: it may be the one with which Delta
removes them.
"""

import json
import time
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any
from urllib.parse import unquote, urlparse

from delta.tables import DeltaTable
from pyspark.sql import SparkSession

from lakehouse.carrying import carried_on
from lakehouse.lake import Lake
from lakehouse.locks import exclusive
from lakehouse.tables import read_table
from transformations.durations import parse_duration

USER_METADATA = "spark.databricks.delta.commitInfo.userMetadata"
SMALL = 32 * 1024 * 1024
FULL = 128 * 1024 * 1024
A_HANDFUL = 8
"""So many small files may lie in a table: a compaction rewrites them all, and costs a commit."""

OPTIONS = {
    "spark.databricks.delta.optimize.minFileSize": str(SMALL),
    "spark.databricks.delta.optimize.maxFileSize": str(FULL),
    # A vacuum would note its start and its end as commits of the table.
    "spark.databricks.delta.vacuum.logging.enabled": "false",
    # A vacuum lists a table's folder in so many tasks, 10,000 by default: 40 s a table.
    "spark.sql.sources.parallelPartitionDiscovery.parallelism": "2",
}


def maintenance_session(spark: SparkSession) -> SparkSession:
    """A session beside the given one, so that these options are nobody else's."""
    session = spark.newSession()
    for name, value in OPTIONS.items():
        session.conf.set(name, value)
    return session


def live_files(session: SparkSession, lake: Lake, name: str) -> list[Path]:
    """The files that the table has now."""
    return [Path(unquote(urlparse(uri).path)) for uri in read_table(session, lake, name).inputFiles()]


def compact(session: SparkSession, lake: Lake, name: str, *, anchors: Iterable[int] = ()) -> None:
    """Make few files of many small ones, if there are more than a handful. What the commits said is carried on."""
    if sum(file.stat().st_size < SMALL for file in live_files(session, lake, name)) <= A_HANDFUL:
        return
    with exclusive(session, lake.lock_file(name), wait=True), saying(session, carried_on(lake, name, anchors=anchors)):
        DeltaTable.forPath(session, lake.table(name)).optimize().executeCompaction()


@contextmanager
def saying(session: SparkSession, said: Mapping[str, Any]) -> Iterator[None]:
    """Let the commits that this session makes say this; commands of Delta's own take it in no other way."""
    session.conf.set(USER_METADATA, json.dumps(said))
    try:
        yield
    finally:
        session.conf.unset(USER_METADATA)


def vacuum(session: SparkSession, lake: Lake, name: str) -> int:
    """Remove the files that no version within the horizon has; returns how many."""
    with exclusive(session, lake.lock_file(name), wait=True):
        before = len(_stored_files(lake, name))
        DeltaTable.forPath(session, lake.table(name)).vacuum()
        return before - len(_stored_files(lake, name))


def has_expired_files(session: SparkSession, lake: Lake, name: str) -> bool:
    """Whether the table has left files behind that are older than its horizon. A vacuum costs seconds, this does not."""
    left = set(_stored_files(lake, name)) - set(live_files(session, lake, name))
    if not left:
        return False
    horizon = parse_duration(properties(session, lake, name)["delta.deletedFileRetentionDuration"].split(" ", 1)[1])
    return any(file.stat().st_mtime < time.time() - horizon.total_seconds() for file in left)


def properties(session: SparkSession, lake: Lake, name: str) -> dict[str, str]:
    detail = DeltaTable.forPath(session, lake.table(name)).detail().select("properties").first()
    assert detail is not None
    return dict(detail.properties)


def _stored_files(lake: Lake, name: str) -> list[Path]:
    return list(Path(lake.table(name)).glob("*.parquet"))
