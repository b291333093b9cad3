"""The index of ids brought up to the log: it follows the log, is never ahead of it, and is made anew if it cannot be trusted."""

from collections.abc import Iterable, Iterator

import numpy as np
import pyarrow as pa
import pyarrow.dataset as ds

from ingestion.index import IdIndex
from ingestion.index.id_index import PIECE
from ingestion.index.moment import Moment, unwatched
from ingestion.index.sorted_ids import SortedIds
from lakehouse.arrivals import ARRIVALS, HASHES
from lakehouse.carrying import said_at
from lakehouse.commits import newest
from lakehouse.delta_table import delta_table
from lakehouse.errors import Forgotten
from lakehouse.lake import Lake, marker
from lakehouse.log import Position


def known_ids(lake: Lake, at: Position, *, moment: Moment = unwatched) -> IdIndex:
    """The index of a log that stands `at` a position, with every id up to there and none beyond."""
    index = IdIndex.open(lake.ids, lake=marker(lake).id, log=lake.log, moment=moment)
    covered = index.covered
    if covered is not None and (covered.seq > at.seq or not _same_history(lake, covered.seq, covered.token)):
        index.clear()
    _follow(index, lake, at)
    return index


def _same_history(lake: Lake, seq: int, token: str) -> bool:
    """Whether the log's commit that came to `seq` is the one that the index has followed.

    A lake that was put back from a backup and went on otherwise has the same numbers with other events.
    """
    name = lake.of_log(ARRIVALS)
    version = newest(lake, name)
    while version > 0:
        try:
            said = said_at(lake, name, version, about="seq")
        except Forgotten:
            return False
        if said is None or said["seq"] < seq:
            return False
        if said["token"] == token:
            return bool(said["seq"] == seq)
        version = said["version"] - 1
    return False


def _follow(index: IdIndex, lake: Lake, at: Position) -> None:
    """Put the ids of the rows that the index does not have yet: those of the last commit after a kill, all after a loss."""
    since = 0 if index.covered is None else index.covered.seq
    if at.seq == since:
        return
    table = delta_table(lake, lake.of_log(ARRIVALS))
    rows = table.to_pyarrow_dataset().scanner(
        columns=[*HASHES, "seq"], filter=(ds.field("seq") > since) & (ds.field("seq") <= at.seq)
    )
    index.put_sorted(_sorted_parts(rows.to_batches()), seq=at.seq, token=at.token)


def _sorted_parts(batches: Iterable[pa.RecordBatch]) -> Iterator[SortedIds]:
    """Some hundred thousand ids at a time: a log of any length is read in the memory of one part."""
    together: list[pa.RecordBatch] = []
    for batch in batches:
        together.append(batch)
        if sum(each.num_rows for each in together) >= PIECE:
            yield _sorted(together)
            together = []
    if together:
        yield _sorted(together)


def _sorted(batches: list[pa.RecordBatch]) -> SortedIds:
    return SortedIds.of(*(np.concatenate([batch[name].to_numpy() for batch in batches]) for name in HASHES))
