"""Copies of Delta tables in DuckDB's memory, without a JVM. They follow their tables commit by commit.

delta-rs reads the tables, DuckDB holds their rows: a query then costs milliseconds, where opening the files alone costs
more. Of a table that only grows there is one copy, the newest: its rows say themselves which micro-batch wrote them, so a
reader who looks back leaves out what came later, wherever a compaction has put it. Of a table whose rows are replaced, a
version is what it is, and a reader gets exactly that. A commit that removes files or adds a column makes a new copy; whoever
reads the old one reads on.

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
from deltalake import DeltaTable, QueryBuilder
from deltalake.exceptions import DeltaError

from lakehouse.commits import files_of, newest
from lakehouse.errors import NothingToCompare
from lakehouse.lake import Lake
from serving.dialect import speak_spark

OLD_COPIES = 4
"""How many copies of older versions are kept, for readers who look back."""

Rewrite = Callable[[pa.Table], pa.Table]


@dataclass
class Copy:
    """The rows of a table at `version`, as a relation of DuckDB."""

    relation: str
    version: int
    readers: int = 0
    superseded: bool = False


class Copies:
    """The copies of a lake's tables, each made when it is first asked for.

    Under the lock of a table one thread makes a copy and the others wait for it. Who reads what, and what may go, is noted
    under the one lock for all: a copy of one table can make that of another go.
    """

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
    def newest(self, name: str) -> Iterator[str]:
        """The relation with the rows of a table that only grows. More may come in while it is read."""
        with self._locked(name):
            known = self._newest.get(name)
            version = newest(self._lake, name, known=max(known.version, 0) if known else 0)
            copy = self._taken(self._followed(name, known, version))
        with self._reading(copy) as relation:
            yield relation

    @contextmanager
    def at(self, name: str, version: int) -> Iterator[str]:
        """The relation with exactly the rows that a table has at `version`."""
        with self._locked(name):
            copy = self._known(name, version)
            if copy is None:
                known = self._newest.get(name)
                if known is None or known.version < version:
                    copy = self._followed(name, known, version, in_place=known is not None and not known.readers)
                else:
                    copy = self._kept(name, self._made(name, version))
                self._taken(copy)
        with self._reading(copy) as relation:
            yield relation

    def close(self) -> None:
        self._database.close()

    @contextmanager
    def _locked(self, name: str) -> Iterator[None]:
        with self._lock:
            lock = self._locks.setdefault(name, threading.Lock())
        with lock:
            yield

    @contextmanager
    def _reading(self, copy: Copy) -> Iterator[str]:
        try:
            yield copy.relation
        finally:
            with self._lock:
                copy.readers -= 1
                self._let_go(copy)

    def _taken(self, copy: Copy) -> Copy:
        with self._lock:
            copy.readers += 1
        return copy

    def _known(self, name: str, version: int) -> Copy | None:
        """A copy of this version that is there, taken for reading in one step: no other thread can make it go in between."""
        with self._lock:
            copy = self._newest.get(name)
            if copy is None or copy.version != version:
                copy = self._old.get((name, version))
                if copy is None:
                    return None
                self._old.move_to_end((name, version))
            copy.readers += 1
            return copy

    def _kept(self, name: str, made: Copy) -> Copy:
        """A copy of an older version, which takes the place of the one that was asked for least recently."""
        with self._lock:
            self._old[name, made.version] = made
            if len(self._old) > OLD_COPIES:
                self._supersede(self._old.popitem(last=False)[1])
        return made

    def _made(self, name: str, version: int) -> Copy:
        rows = self._rewrite(_rows_at(self._lake, name, version))
        relation = f"copy_{next(self._numbers)}"
        cursor = self.cursor()
        cursor.register("incoming", rows)
        cursor.execute(f"create table {relation} as select * from incoming")
        cursor.close()
        return Copy(relation, version)

    def _followed(self, name: str, copy: Copy | None, version: int, *, in_place: bool = True) -> Copy:
        """The copy with the rows that came since; a new one if rows went as well, or nobody may see them come."""
        if copy is not None and copy.version == version:
            return copy
        commits = [files_of(self._lake, name, each) for each in range(copy.version + 1, version + 1)] if copy else []
        if copy is None or not in_place or any(commit.removes or commit.alters for commit in commits):
            made = self._made(name, version)
            with self._lock:
                self._newest[name] = made
                if copy is not None:
                    self._supersede(copy)
            return made
        files = [addition.file for commit in commits for addition in commit.added]
        if files:
            import pyarrow.parquet as pq  # takes a tenth of a second, which a command that asks once does not have

            rows = pa.concat_tables(pq.read_table(file) for file in files)
            cursor = self.cursor()
            cursor.register("incoming", self._rewrite(rows))
            cursor.execute(f"insert into {copy.relation} by name select * from incoming")  # all of them or none
            cursor.close()
        copy.version = version
        return copy

    def _supersede(self, copy: Copy) -> None:
        copy.superseded = True
        self._let_go(copy)

    def _let_go(self, copy: Copy) -> None:
        if copy.superseded and not copy.readers:
            cursor = self.cursor()
            cursor.execute(f"drop table if exists {copy.relation}")
            cursor.close()


def _rows_at(lake: Lake, name: str, version: int) -> pa.Table:
    """The rows of a table at a version. By way of PyArrow's datasets pandas would be loaded: 0.3 s that nobody needs."""
    try:
        table = DeltaTable(lake.table(name), version=version)
        rows = QueryBuilder().register("rows", table).execute("select * from rows")
        return pa.RecordBatchReader.from_stream(rows).read_all()
    except (DeltaError, pa.ArrowException, OSError) as error:
        raise NothingToCompare(
            f"{name} cannot be read as it was at version {version}: {_reason(error, lake)}. What a vacuum has removed is "
            "gone; ask for a later time."
        ) from None


def _reason(error: Any, lake: Lake) -> str:
    """What went wrong, without the path of the lake: delta-rs writes it with its first slash and without."""
    path = str(lake.path)
    said = str(error).replace(path, "the lake").replace(path.lstrip("/"), "the lake")
    return (said.strip().splitlines() or [type(error).__name__])[0][:200]
