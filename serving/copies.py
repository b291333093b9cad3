"""Copies of Delta tables in DuckDB's memory, without a JVM. They follow their tables commit by commit.

delta-rs reads the tables, DuckDB holds their rows: a query then costs milliseconds, where opening the files alone costs
more. A row knows the version that added it, so a reader who is pinned to a version sees nothing of a later one, also while
its rows come in. A commit that removes files (a recompute, a fold, a compaction) makes a new copy; whoever reads the old
one reads on.

Personal columns hold pseudonyms from here on, unless the settings say otherwise: what is not in memory in clear cannot be
sent in clear.
"""

import threading
from collections import OrderedDict
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import count
from typing import Any

import duckdb
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
from deltalake import DeltaTable
from deltalake.exceptions import DeltaError

from lakehouse.commits import files_of
from lakehouse.errors import NothingToCompare
from lakehouse.lake import Lake
from serving.dialect import speak_spark

ADDED_BY = "_added_by"
"""The column with the version that added a row; -1 where a maintenance has moved it since, and nobody knows any more."""
OLD_COPIES = 4
"""How many copies of older versions are kept, for readers who look back."""

Rewrite = Callable[[pa.Table], pa.Table]


@dataclass
class Copy:
    """The rows of a table up to `version`, as a relation of DuckDB."""

    relation: str
    version: int
    readers: int = 0
    superseded: bool = False


class Copies:
    """The copies of a lake's tables, each made when it is first asked for."""

    def __init__(self, lake: Lake, *, rewrite: Rewrite = lambda rows: rows) -> None:
        self._lake = lake
        self._rewrite = rewrite
        self._database = duckdb.connect()
        self._database.execute("set global timezone = 'UTC'")
        speak_spark(self._database)
        self._numbers = count()
        self._newest: dict[str, Copy] = {}
        self._old: OrderedDict[tuple[str, int], Copy] = OrderedDict()
        self._locks: dict[str, threading.Lock] = {}
        self._lock = threading.Lock()

    def cursor(self) -> duckdb.DuckDBPyConnection:
        """A connection of one's own to the copies."""
        return self._database.cursor()

    @contextmanager
    def at(self, name: str, version: int) -> Iterator[str]:
        """The relation with the rows of a table up to `version`, which stays as long as it is read.

        It may have rows of later versions: `ADDED_BY` tells them.
        """
        with self._lock:
            lock = self._locks.setdefault(name, threading.Lock())
        with lock:
            copy = self._found(name, version)
            copy.readers += 1
        try:
            yield copy.relation
        finally:
            with lock:
                copy.readers -= 1
                self._let_go(copy)

    def close(self) -> None:
        self._database.close()

    def _found(self, name: str, version: int) -> Copy:
        newest = self._newest.get(name)
        if newest is None:
            newest = self._newest[name] = self._made(name, version)
        elif newest.version < version:
            newest = self._newest[name] = self._followed(name, newest, version)
        # A changelog only grows. Of a table whose rows are replaced, a version is what it is.
        if newest.version == version or name.startswith("kappa_"):
            return newest
        if (name, version) not in self._old:
            self._old[name, version] = self._made(name, version)
            if len(self._old) > OLD_COPIES:
                _, oldest = self._old.popitem(last=False)
                oldest.superseded = True
                self._let_go(oldest)
        self._old.move_to_end((name, version))
        return self._old[name, version]

    def _made(self, name: str, version: int) -> Copy:
        rows = self._rewrite(_rows_at(self._lake, name, version))
        relation = f"copy_{next(self._numbers)}"
        cursor = self.cursor()
        cursor.register("incoming", rows)
        cursor.execute(f"create table {relation} as select * from incoming")
        cursor.close()
        return Copy(relation, version)

    def _followed(self, name: str, copy: Copy, version: int) -> Copy:
        """The copy with the rows that came since; a new one if rows went as well."""
        commits = [files_of(self._lake, name, each) for each in range(copy.version + 1, version + 1)]
        if any(commit.removes for commit in commits):
            made = self._made(name, version)
            copy.superseded = True
            self._let_go(copy)
            return made
        files = [(addition.file, commit.version) for commit in commits for addition in commit.added]
        if files:
            rows = pa.concat_tables(_with_version(pq.read_table(file), added) for file, added in files)
            cursor = self.cursor()
            cursor.register("incoming", self._rewrite(rows))
            cursor.execute(f"insert into {copy.relation} by name select * from incoming")  # all of them or none
            cursor.close()
        copy.version = version
        return copy

    def _let_go(self, copy: Copy) -> None:
        if copy.superseded and not copy.readers:
            cursor = self.cursor()
            cursor.execute(f"drop table if exists {copy.relation}")
            cursor.close()


def _rows_at(lake: Lake, name: str, version: int) -> pa.Table:
    """The rows of a version, each with the version that added it."""
    try:
        dataset = DeltaTable(lake.table(name), version=version).to_pyarrow_dataset()
        rows = dataset.to_table(columns=[*dataset.schema.names, "__filename"])
    except (DeltaError, FileNotFoundError, OSError) as error:
        raise NothingToCompare(
            f"{name} cannot be read as it was at version {version}: {_first_line(error)}. What a vacuum has removed is "
            "gone; ask for a later time."
        ) from None
    added_by = _added_by(lake, name, version)
    named = pc.dictionary_encode(rows["__filename"].combine_chunks())
    versions = pa.array(
        [added_by.get(file.rpartition("/")[2], -1) for file in named.dictionary.to_pylist()], pa.int64()
    )
    return rows.drop_columns("__filename").append_column(ADDED_BY, versions.take(named.indices))


def _with_version(rows: pa.Table, version: int) -> pa.Table:
    return rows.append_column(ADDED_BY, pa.repeat(pa.scalar(version, pa.int64()), len(rows)))


def _added_by(lake: Lake, name: str, version: int) -> dict[str, int]:
    """For each data file the version that brought its rows, as far back as the commits are kept."""
    found: dict[str, int] = {}
    while version >= 0:
        try:
            commit = files_of(lake, name, version)
        except FileNotFoundError:
            break
        found |= {addition.file.name: version for addition in commit.added if addition.changes}
        version -= 1
    return found


def _first_line(error: Any) -> str:
    return (str(error).strip().splitlines() or [type(error).__name__])[0][:200]
