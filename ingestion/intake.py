"""The intake: judged lines put behind the log and committed, exactly once a micro-batch.

A micro-batch is one data file and one commit, and the commit is the only moment at which anything becomes visible. What
happens when the process dies:

    before the data file, or in it      nothing has happened; the file is nobody's
    before the commit                   the same
    after the commit                    the log has the micro-batch. The index of ids is behind, and is brought up to the
                                        log before the next one; a retry of the micro-batch finds it in the log
    in the index's write                the same: the index is what it was
"""

import json
import secrets
from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, Literal, Self

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from deltalake import CommitProperties, Transaction
from pyspark.sql import SparkSession

from ingestion.index import Pending
from ingestion.index.moment import Name as IndexMoment
from ingestion.known_ids import known_ids
from lakehouse.arrivals import ARRIVALS, COUNTED, QUARANTINED, STATISTICS, event_columns, schema
from lakehouse.commits import refuse_torn
from lakehouse.data_file import DataFile
from lakehouse.delta_table import delta_table
from lakehouse.errors import AlreadyRunning
from lakehouse.failpoints import failpoint
from lakehouse.lake import Lake
from lakehouse.locks import exclusive_here
from lakehouse.log import Position, position
from transformations.durations import from_millis, to_millis
from transformations.kind import Kind
from transformations.lines.sequence import Sequenced, sequence

INGEST = "ingest"
"""The app id of ingestion's transactions; their numbers are those of its micro-batches."""

Moment = Literal["ingest.read", "ingest.written", "ingest.committed", "ingest.indexing"]
Strike = Callable[[Moment, int], None]
"""Is called at each moment of a micro-batch, with its number. Tests let the process die there."""


def struck_here(lake: Lake, spark: SparkSession | None = None) -> Strike:
    """The moments of a log's intake as failpoints; with a session its JVM is struck as well."""

    def strike(moment: Moment, batch: int) -> None:
        failpoint(spark, moment, lake.of_log(ARRIVALS), batch)

    return strike


class Intake:
    """The end of a log, open for one process, which holds the lock of its ingestion."""

    def __init__(self, lake: Lake, strike: Strike | None = None) -> None:
        self._lake = lake
        self._name = lake.of_log(ARRIVALS)
        self._table = delta_table(lake, self._name)
        self._schema = schema(lake.pipeline.kinds)
        self._strike = strike or struck_here(lake)
        before = position(lake)
        self._batch = before.batch
        self._index = known_ids(lake, before, moment=self._index_moment)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._index.close()

    def take_in(
        self,
        batch: int,
        judged: Iterable[pa.Table],
        *,
        requeue: bool = False,
        check: Callable[[], None] = lambda: None,
    ) -> Position:
        """Append judged lines, in their order of arrival, as micro-batch `batch`; returns where the log stands then.

        The tables have hashes and origins. Lines of a `requeue` have a row in quarantine already: those that are rejected
        again stay there. `check` is called when all has been read and nothing is visible.
        """
        self._batch, before = batch, position(self._lake)
        end, pending = _End(before, self._lake.pipeline.kinds), Pending(self._index)
        file = DataFile(Path(self._lake.table(self._name)), self._schema, statistics=STATISTICS, counted=COUNTED)
        try:
            for table in judged:
                file.write(end.added(table, pending, requeue=requeue))
            check()
            self._strike("ingest.read", batch)
            added = file.closed()
            self._strike("ingest.written", batch)
        except BaseException:
            file.given_up()
            raise
        if requeue and added is None:
            return before
        # From here on the file may be the log's, whatever is raised: an interruption is heard when the commit is done.
        after = self._commit([] if added is None else [added], before, end.said(batch, requeue=requeue), batch, requeue)
        self._strike("ingest.committed", batch)
        pending.put(seq=after.seq, token=after.token)
        return after

    def _commit(
        self, actions: list[Any], before: Position, said: dict[str, Any], batch: int, requeue: bool
    ) -> Position:
        """One commit, under the table's lock: upkeep commits to the table too, from another process.

        Behind `before` and nowhere else. delta-rs asks nobody whether it has a transaction's number already, and puts a commit
        that was overtaken behind the other one: so both are asked for here.
        """
        properties = CommitProperties(
            {"userMetadata": json.dumps(said)},
            max_commit_retries=0,
            app_transactions=None if requeue else [Transaction(INGEST, batch)],
        )
        with exclusive_here(self._lake.lock_file(self._name), wait=True):
            refuse_torn(self._lake, self._name)
            if position(self._lake).token != before.token:
                raise AlreadyRunning(
                    f"The log of {self._lake.path} has gone on meanwhile: somebody else ingests into it, though this process "
                    "holds the lock. Nothing was written. End the other one, and leave the files in its folder of locks alone."
                )
            self._table.update_incremental()
            self._table.create_write_transaction(
                actions, mode="append", schema=self._schema, commit_properties=properties
            )
        return position(self._lake)

    def _index_moment(self, name: IndexMoment) -> None:
        if name == "run.half":
            self._strike("ingest.indexing", self._batch)


class _End:
    """The end of the log while a micro-batch is put behind it, and what its commit will say."""

    def __init__(self, before: Position, kinds: tuple[Kind, ...]) -> None:
        self._before = before
        self._kinds = kinds
        self._schema = schema(kinds)
        self._arrivals = before.arrivals
        self._seq = before.seq
        self._mark = None if before.high_water is None else to_millis(before.high_water)
        self._own: dict[str, Any] = {"events": 0, "duplicates": 0, "quarantined": 0}
        self._least: list[int] = []
        self._greatest: list[int] = []
        self._behind: list[int] = []

    def added(self, judged: pa.Table, pending: Pending, *, requeue: bool) -> pa.Table:
        """The rows of the next block."""
        found = sequence(judged, pending, seq=self._seq, high_water=self._mark)
        pending.add(found.learnt.high, found.learnt.low, found.learnt.content)
        self._count(found, requeue=requeue)
        rows = _without_rejected(found.rows) if requeue else found.rows
        places = pa.array(np.arange(self._arrivals + 1, self._arrivals + 1 + rows.num_rows))
        self._arrivals += rows.num_rows
        rows = _only_events_have_columns(rows, event_columns(self._kinds)).append_column("arrival", places)
        rows = rows.append_column("requeued", pa.repeat(requeue, rows.num_rows))
        return rows.select(self._schema.names).cast(self._schema)

    def _count(self, found: Sequenced, *, requeue: bool) -> None:
        self._seq, self._mark = found.seq, found.high_water
        for name in self._own:
            self._own[name] += 0 if requeue and name == "quarantined" else getattr(found, name)
        if found.least is not None and found.greatest is not None and found.behind is not None:
            self._least.append(found.least)
            self._greatest.append(found.greatest)
            self._behind.append(found.behind)

    def said(self, batch: int, *, requeue: bool) -> dict[str, Any]:
        """What the commit says: where the log stands then, and what is in the commit, so that readers can skip it.

        The times are of its events, in milliseconds: the least, the greatest, and the most that one is behind its mark.
        """
        before, own = self._before, self._own
        accepted = own["events"] + own["duplicates"]
        after = replace(
            before,
            seq=self._seq,
            high_water=None if self._mark is None else from_millis(self._mark),
            batch=before.batch if requeue else batch,
            arrivals=self._arrivals,
            duplicates=before.duplicates + own["duplicates"],
            quarantined=before.quarantined + (-accepted if requeue else own["quarantined"]),
            requeued=before.requeued + (accepted if requeue else 0),
            token=secrets.token_hex(8),
        )
        times = {
            "least": min(self._least, default=None),
            "greatest": max(self._greatest, default=None),
            "behind": max(self._behind, default=None),
        }
        return {**after.said, "of_commit": {**own, **times}}


def _without_rejected(rows: pa.Table) -> pa.Table:
    return rows.filter(pc.not_equal(rows["fate"], QUARANTINED))


def _only_events_have_columns(rows: pa.Table, columns: Sequence[str]) -> pa.Table:
    """Of a quarantined line nothing is believed: what its fields say stays in its bytes."""
    rejected = pc.equal(rows["fate"], QUARANTINED)
    if not pc.any(rejected).as_py():
        return rows
    for name in columns:
        place = rows.column_names.index(name)
        column = rows[name]
        rows = rows.set_column(place, name, pc.if_else(rejected, pa.scalar(None, column.type), column))
    return rows
