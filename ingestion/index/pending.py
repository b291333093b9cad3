"""Ids of the micro-batch under way, on top of the index: known to the lines that follow, and not committed yet.

    pending = Pending(index)
    known, content = pending.find(high, low)          a block of lines
    pending.add(high, low, content)                   those of them that are new
    …                                                 the next block; then the log's commit
    pending.put(seq=…, token=…)

So a large micro-batch is sequenced block by block. An id takes 24 bytes; nothing is on disk before `put`.
"""

from ingestion.index.id_index import PIECE, IdIndex
from ingestion.index.sorted_ids import Bools, Longs, SortedIds, look_up, require_columns


class Pending:
    def __init__(self, index: IdIndex) -> None:
        self._index = index
        self._parts: list[SortedIds] = []

    def __len__(self) -> int:
        return sum(map(len, self._parts))

    def find(self, high: Longs, low: Longs) -> tuple[Bools, Longs]:
        """For each id whether the log has it or it was added before, and the content hash of those (0 of the others)."""
        return look_up([*self._index.places, *self._parts], high, low)

    def add(self, high: Longs, low: Longs, content: Longs) -> None:
        """New ids, each once, that will be in the log with the next commit."""
        require_columns(high, low, content)
        for start in range(0, len(low), PIECE):
            each = slice(start, start + PIECE)
            self._append(SortedIds.of(high[each], low[each], content[each]))

    def put(self, *, seq: int, token: str) -> None:
        """All of it into the index, at once, after the log's commit."""
        self._index.put_sorted(self._parts, seq=seq, token=token)
        self._parts = []

    def _append(self, part: SortedIds) -> None:
        """Small parts are merged, so that there are few, up to a size that is copied quickly and without much memory."""
        merged = [part]
        while self._parts and len(self._parts[-1]) <= 2 * (size := sum(map(len, merged))):
            if len(self._parts[-1]) + size > PIECE:
                break
            merged.append(self._parts.pop())
        self._parts.append(SortedIds.merged(reversed(merged)) if len(merged) > 1 else part)
