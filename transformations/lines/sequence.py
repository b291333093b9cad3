"""The order of arrival: which copy of an event came first, its place in the log, and the high-water mark at it.

Lateness is decided here, once, and written into the log. A block of judged lines is put behind what the log has; how a
delivery is cut into blocks and micro-batches changes nothing, because a block begins where the one before ended.
"""

from dataclasses import dataclass
from typing import Protocol

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

OTHER_CONTENT = "copy of an event with other content"
EVENT, DUPLICATE, QUARANTINED = range(3)
FATES = ("event", "duplicate", "quarantined")
_NEVER = np.iinfo(np.int64).min
_TIME = pa.timestamp("us", "UTC")

Numbers = NDArray[np.int64]
Answers = NDArray[np.bool_]


class KnownIds(Protocol):
    """Whoever knows the ids of the log, by their hashes."""

    def find(self, high: Numbers, low: Numbers) -> tuple[Answers, Numbers]:
        """Whether each id is known, and the hash of the content that it came with."""
        ...


@dataclass(frozen=True)
class Learnt:
    """The ids that a block has added to the log, with the hashes of their contents."""

    high: Numbers
    low: Numbers
    content: Numbers


@dataclass(frozen=True)
class Sequenced:
    """A block behind the log: its rows with `fate`, `reason`, `seq` and `high_water`, and what it adds.

    Times are in milliseconds. `behind` is the most that an event of the block is behind the mark at it.
    """

    rows: pa.Table
    learnt: Learnt
    seq: int
    high_water: int | None
    events: int
    duplicates: int
    quarantined: int
    least: int | None
    greatest: int | None
    behind: int | None


def sequence(judged: pa.Table, known: KnownIds, *, seq: int, high_water: int | None) -> Sequenced:
    """The rows of a judged block with hashes, put behind a log that has `seq` events and this high-water mark.

    The first arrival of an id wins, over any distance in time, and its event time with it: the stamps of another delivery
    may correct the clock by something else. A copy has the same content. The mark is running, not per block: a backlog
    that is ingested in one go must not make everything in it late.
    """
    fate = _fates(judged, known)
    new = fate == EVENT
    high, low, content = (_numbers(judged[name])[new] for name in ("id_high", "id_low", "content_hash"))
    times = _numbers(judged["event_time"])
    before = _NEVER if high_water is None else high_water * 1000
    marks = np.maximum(np.maximum.accumulate(np.where(new, times, _NEVER)), before) if len(times) else times
    differs = (fate == QUARANTINED) & np.asarray(judged["reason"].is_null())
    reason = judged["reason"]
    if differs.any():
        reason = pc.if_else(pa.array(differs), OTHER_CONTENT, reason)
    events, own = int(new.sum()), times[new]
    added = {
        "fate": pa.DictionaryArray.from_arrays(pa.array(fate), FATES).cast(pa.string()),
        "reason": reason,
        "seq": pa.array(seq + np.cumsum(new), mask=~new),
        "high_water": pa.array(marks, mask=~new).cast(_TIME),
    }
    rows = judged.drop_columns([name for name in added if name in judged.column_names])
    for name, column in added.items():
        rows = rows.append_column(name, column)
    return Sequenced(
        rows=rows,
        learnt=Learnt(high, low, content),
        seq=seq + events,
        high_water=int(marks[-1]) // 1000 if len(marks) and marks[-1] != _NEVER else high_water,
        events=events,
        duplicates=int((fate == DUPLICATE).sum()),
        quarantined=int((fate == QUARANTINED).sum()),
        least=int(own.min()) // 1000 if events else None,
        greatest=int(own.max()) // 1000 if events else None,
        behind=int((marks[new] - own).max()) // 1000 if events else None,
    )


def _fates(judged: pa.Table, known: KnownIds) -> NDArray[np.int8]:
    fate = np.full(judged.num_rows, QUARANTINED, np.int8)
    [places] = np.nonzero(np.asarray(judged["reason"].is_null()))
    if not len(places):
        return fate
    high, low, content = (_numbers(judged[name])[places] for name in ("id_high", "id_low", "content_hash"))
    # Ids are numbered as they come up, so a number above all before it is an id that the block has not had.
    ids = judged["event_id"].combine_chunks().take(pa.array(places))
    which = ids.dictionary_encode().indices.to_numpy()
    first = np.append(True, which[1:] > np.maximum.accumulate(which)[:-1])
    found, logged = known.find(high[first], low[first])
    original = np.where(found, logged, content[first])
    is_new = first & ~found[which]
    same = content == original[which]
    fate[places] = np.where(is_new, EVENT, np.where(same, DUPLICATE, QUARANTINED))
    return fate


def _numbers(column: pa.ChunkedArray) -> Numbers:
    numbers: Numbers = column.cast(pa.int64()).fill_null(0).to_numpy()
    return numbers
