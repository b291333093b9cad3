"""Delta tables: made before the first writer starts, read at a pinned version, appended to exactly once."""

import json
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta
from functools import lru_cache
from pathlib import Path
from typing import Any
from urllib.parse import unquote

from delta.tables import DeltaTable
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F
from pyspark.sql.types import StructType

from lakehouse.lake import Lake
from lakehouse.locks import exclusive
from lakehouse.torn import torn_commit
from transformations.durations import from_millis, milliseconds, to_millis


@dataclass(frozen=True)
class Transaction:
    """What makes an append idempotent: the writer's app id, and a number that a retry has again."""

    app_id: str
    number: int


def create_table(
    spark: SparkSession,
    lake: Lake,
    name: str,
    schema: StructType,
    *,
    horizon: timedelta,
    append_only: bool = True,
    statistics: tuple[str, ...] = (),
) -> None:
    """Make the table unless it is there. Two writers on an empty path would end in a ProtocolChangedException.

    Deletion vectors, v2 checkpoints and type widening stay off: readers without a JVM do not know them.
    """
    if lake.has(name):
        return
    hours = f"interval {max(milliseconds(horizon) // 3_600_000, 1)} hours"
    properties = {
        "delta.appendOnly": str(append_only).lower(),
        "delta.logRetentionDuration": hours,
        "delta.deletedFileRetentionDuration": hours,
        "delta.enableDeletionVectors": "false",
        "delta.checkpointPolicy": "classic",
        "delta.checkpointInterval": "50",
    }
    if statistics:
        properties["delta.dataSkippingStatsColumns"] = ",".join(statistics)
    with exclusive(spark, lake.lock_file(name), wait=True):
        table = DeltaTable.createIfNotExists(spark).location(lake.table(name)).addColumns(schema)
        for key, value in properties.items():
            table = table.property(key, value)
        table.execute()


def no_rows(spark: SparkSession, schema: StructType) -> DataFrame:
    """A frame without rows, made in the JVM: `createDataFrame` would start Python workers for it."""
    return spark.range(0).select(*(F.lit(None).cast(field.dataType).alias(field.name) for field in schema))


def read_table(spark: SparkSession, lake: Lake, name: str, *, version: int | None = None) -> DataFrame:
    """The table as of `version`, or as it is now."""
    reader = spark.read.format("delta")
    if version is not None:
        reader = reader.option("versionAsOf", version)
    return reader.load(lake.table(name))


def append(
    spark: SparkSession,
    lake: Lake,
    name: str,
    rows: DataFrame,
    *,
    transaction: Transaction | None,
    metadata: Mapping[str, Any] | None = None,
    check: Callable[[], None] = lambda: None,
) -> None:
    """Append `rows` in one commit; a second append of the same transaction changes nothing.

    One file a commit: a reader's micro-batch never splits a commit then. `check` is called under the table's lock.
    """
    writer = rows.coalesce(1).write.format("delta").mode("append")
    if transaction is not None:
        writer = writer.option("txnAppId", transaction.app_id).option("txnVersion", transaction.number)
    if metadata is not None:
        writer = writer.option("userMetadata", json.dumps(metadata))
    with exclusive(spark, lake.lock_file(name), wait=True):
        _refuse_torn(lake, name)
        check()
        writer.save(lake.table(name))


def replace(
    spark: SparkSession, lake: Lake, name: str, rows: DataFrame, *, where: str, metadata: Mapping[str, Any]
) -> None:
    """Replace the rows of the table that satisfy `where` by `rows`, in one commit."""
    writer = rows.coalesce(1).write.format("delta").mode("overwrite").option("replaceWhere", where)
    with exclusive(spark, lake.lock_file(name), wait=True):
        _refuse_torn(lake, name)
        writer.option("userMetadata", json.dumps(metadata)).save(lake.table(name))


def commits(lake: Lake, name: str) -> Iterator[dict[str, Any]]:
    """What the writers said of their commits, newest first, each with its `version`; silent commits are left out.

    Read from the commit files themselves: DESCRIBE HISTORY is a Spark job, and a reader may have no JVM. Where the lake
    is pinned, later commits do not count.
    """
    pinned = dict(lake.pins).get(name)
    for version in _versions(lake, name):
        if (pinned is None or version <= pinned) and (said := _commit(lake, name, version).said) is not None:
            yield {**said, "version": version}


def newest(lake: Lake, name: str, *, known: int = 0) -> int:
    """The newest version of the table. Who knows one finds a later one sooner."""
    return _newest(_log(lake, name), known)


def newest_at(lake: Lake, name: str, moment: datetime) -> int:
    """The newest version of the table that was committed by that moment, -1 if there was none."""
    at = to_millis(moment)
    return next((version for version in _versions(lake, name) if _commit(lake, name, version).at <= at), -1)


def committed_at(lake: Lake, name: str, version: int) -> datetime:
    """When a version was committed, by the writer's clock."""
    return from_millis(_commit(lake, name, version).at)


def lasting(lake: Lake, name: str, version: int) -> int:
    """The version to read instead of `version`: the newest that a maintenance left, if that is later.

    It holds what is left of all versions before it, and no vacuum breaks it. The files of an earlier one may be gone.
    """
    for later in _versions(lake, name):
        if later <= version:
            break
        commit = _commit(lake, name, later)
        if commit.operation == "OPTIMIZE" or "folded" in (commit.said or {}):
            return later
    return version


@dataclass(frozen=True)
class Addition:
    """A data file that a commit added; `changes` says whether its rows are new, or moved by a maintenance."""

    file: Path
    changes: bool


@dataclass(frozen=True)
class Files:
    """What a commit did to the files of its table."""

    version: int
    added: list[Addition]
    removes: bool


def files_of(lake: Lake, name: str, version: int) -> Files:
    actions = [json.loads(line) for line in _lines(_file(_log(lake, name), version).read_text())]
    table = Path(lake.table(name))
    added = [
        Addition(table / unquote(each["add"]["path"]), each["add"]["dataChange"]) for each in actions if "add" in each
    ]
    return Files(version, added, any("remove" in each for each in actions))


def additions(lake: Lake, name: str) -> Iterator[tuple[int, list[Path]]]:
    """Each version, newest first, with the files in which it added rows; a stream reads these, one version after another."""
    for version in _versions(lake, name):
        yield version, [each.file for each in files_of(lake, name, version).added if each.changes]


def _log(lake: Lake, name: str) -> Path:
    return Path(lake.table(name)) / "_delta_log"


def _file(log: Path, version: int) -> Path:
    return log / f"{version:020d}.json"


def _versions(lake: Lake, name: str) -> Iterator[int]:
    """The versions whose commits Delta still has, newest first."""
    log = _log(lake, name)
    version = _newest(log)
    while version >= 0 and _file(log, version).exists():
        yield version
        version -= 1


def _newest(log: Path, known: int = 0) -> int:
    """The newest version, from one that is known upwards: a table that is written for weeks has too many to list."""
    version = known or _checkpointed(log)
    if not _file(log, version).exists():  # the commits up to here are beyond the horizon
        version = max((int(file.stem) for file in log.glob("*.json") if file.stem.isdigit()), default=-1)
    while _file(log, version + 1).exists():
        version += 1
    return version


def _checkpointed(log: Path) -> int:
    """The version of Delta's last checkpoint, 0 if there is none; Delta may be about to write the file."""
    try:
        return int(json.loads((log / "_last_checkpoint").read_text())["version"])
    except (FileNotFoundError, ValueError, KeyError):
        return 0


@dataclass(frozen=True)
class _Commit:
    at: int
    operation: str | None
    said: dict[str, Any] | None


def _commit(lake: Lake, name: str, version: int) -> _Commit:
    file = _file(_log(lake, name), version)
    status = file.stat()
    try:
        return _parsed(str(file), status.st_ino, status.st_mtime_ns, status.st_size)
    except ValueError:
        raise torn_commit(name, version, file, newest=not _file(_log(lake, name), version + 1).exists()) from None


def _refuse_torn(lake: Lake, name: str) -> None:
    """Refuse to write after a torn commit, with more than Delta would say of it."""
    if lake.has(name):
        _commit(lake, name, _newest(_log(lake, name)))


@lru_cache(maxsize=50_000)
def _parsed(file: str, *_: int) -> _Commit:
    """A commit is written once and read often. One in the same place of another lake is another file."""
    info: dict[str, Any] = {}
    content = Path(file).read_text()
    if not content.endswith("}\n"):
        raise ValueError("torn")
    for line in _lines(content):
        if line.startswith('{"commitInfo"'):
            info = json.loads(line)["commitInfo"]
    said = info.get("userMetadata")
    return _Commit(info.get("timestamp", 0), info.get("operation"), dict(json.loads(said)) if said else None)


def _lines(commit: str) -> list[str]:
    """One action a line. Only a line feed ends it: `splitlines` also takes signs that a value of the statistics may contain."""
    return commit.removesuffix("\n").split("\n")
