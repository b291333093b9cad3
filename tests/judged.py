"""Lines judged and put in order as ingestion does it, for tests: rows with attributes, times in milliseconds."""

from collections.abc import Sequence
from datetime import datetime
from types import SimpleNamespace

import numpy as np
import pyarrow as pa
from game import KINDS

from transformations.clock import Clock
from transformations.durations import to_millis
from transformations.lines.hashes import with_hashes
from transformations.lines.judge import judge
from transformations.lines.sequence import Answers, Learnt, Numbers, Sequenced, sequence

KEY = b"a key of a lake."
_MOMENT = pa.timestamp("us", "UTC")


class Known:
    """The ids of a log, in memory."""

    def __init__(self) -> None:
        self.contents: dict[tuple[int, int], int] = {}

    def find(self, high: Numbers, low: Numbers) -> tuple[Answers, Numbers]:
        found = [self.contents.get(each) for each in zip(high.tolist(), low.tolist(), strict=True)]
        return np.array([each is not None for each in found], bool), np.array([each or 0 for each in found], np.int64)

    def learn(self, learnt: Learnt) -> None:
        columns = (column.tolist() for column in (learnt.high, learnt.low, learnt.content))
        self.contents |= {(high, low): content for high, low, content in zip(*columns, strict=True)}


def judged_table(lines: Sequence[str | bytes], *, ingested_at: datetime, clock: Clock | None = None) -> pa.Table:
    content = [line if isinstance(line, bytes) else line.encode() for line in lines]
    judged = judge(content, clock or Clock(), ingested_at=to_millis(ingested_at), kinds=KINDS)
    return with_hashes(judged, KEY, KINDS)


def in_order(
    judged: pa.Table, *, known: Known | None = None, seq: int = 0, high_water: datetime | None = None
) -> Sequenced:
    """Judged lines behind a log that has `seq` events, this mark, and the ids that are `known`."""
    mark = None if high_water is None else to_millis(high_water)
    return sequence(judged, known or Known(), seq=seq, high_water=mark)


def rows_of(table: pa.Table) -> list[SimpleNamespace]:
    for place, field in enumerate(table.schema):
        if field.type == _MOMENT:
            millis = table.column(place).cast(pa.timestamp("ms", "UTC")).cast(pa.int64())
            table = table.set_column(place, field.name, millis)
    return [SimpleNamespace(**row) for row in table.to_pylist()]
