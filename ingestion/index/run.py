"""A run: a file of sorted ids that is written once and mapped into memory to be read.

    header, a page: magic, number of ids, check of the body, check of the header
    low, high, content: a column each, in the order of `low`
    fence: every 512th `low`

The header comes last: a file without one is not a run yet. The check is a sum over the ids, in any order, so that a merged
run must have the sum of its sources' checks; a page that was lost, or a column that is not its neighbour's, changes it.
"""

import mmap
import os
import struct
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from ingestion.index.moment import Moment
from ingestion.index.sorted_ids import FENCE, Longs, SortedIds
from ingestion.index.unusable import Unusable

SUFFIX = ".run"
SLICE = 1 << 16  # ids that are in memory at once while a file is merged or verified: 1.5 MB
_MAGIC = b"ids run1"
_HEADER = struct.Struct("<8sQQ")
_PAGE = 4096
_WORD = 8
_ODD = tuple(np.uint64(odd) for odd in (0x9E3779B97F4A7C15, 0xC2B2AE3D27D4EB4F, 0xD6E8FEB86659FD93))


@dataclass(frozen=True)
class Run:
    name: str
    ids: SortedIds
    check: int

    def __len__(self) -> int:
        return len(self.ids)

    @classmethod
    def open(cls, file: Path) -> "Run":
        try:
            with file.open("rb") as opened:
                header = opened.read(_HEADER.size + 4)
                size = os.fstat(opened.fileno()).st_size
                magic, count, check = _HEADER.unpack(header[: _HEADER.size])
                sound = zlib.crc32(header[: _HEADER.size]) == int.from_bytes(header[_HEADER.size :], "little")
                if magic != _MAGIC or not sound or size != size_of(count):
                    raise Unusable(f"{file.name} is torn: {size} bytes, and its header does not fit them")
                mapped = mmap.mmap(opened.fileno(), 0, prot=mmap.PROT_READ)
        except (OSError, struct.error) as error:
            raise Unusable(f"{file.name} cannot be read: {error}") from error
        words = np.frombuffer(mapped, np.int64)[_PAGE // _WORD :]
        low, high, content, fence = np.split(words, [count, 2 * count, 3 * count])
        return cls(name=file.name, ids=SortedIds(low=low, high=high, content=content, fence=fence), check=check)

    def verify(self) -> None:
        """Read all of it, and refuse it if it is not what was written."""
        ids, check, before = self.ids, 0, np.iinfo(np.int64).min
        for start in range(0, len(self), SLICE):
            low, high, content = (column[start : start + SLICE] for column in (ids.low, ids.high, ids.content))
            in_order = before <= low[0] and bool((low[:-1] <= low[1:]).all())
            if not in_order or not np.array_equal(low[::FENCE], ids.fence[start // FENCE :][: len(low[::FENCE])]):
                raise Unusable(f"{self.name} is damaged: its ids are not in order from number {start} on")
            check, before = (check + check_of(high, low, content)) % 2**64, low[-1]
        if check != self.check:
            raise Unusable(f"{self.name} is damaged: its ids have the check {check}, its header says {self.check}")


def size_of(count: int) -> int:
    return _PAGE + _WORD * (3 * count + -(-count // FENCE))


def check_of(high: Longs, low: Longs, content: Longs) -> int:
    """A sum of a number for each id, in which every bit of the three counts, and who belongs to whom. Overflow is meant."""
    mixed = low.view(np.uint64) * _ODD[0]
    mixed += high.view(np.uint64) * _ODD[1]
    mixed += content.view(np.uint64)
    mixed *= _ODD[2]
    mixed ^= mixed >> np.uint64(32)
    return int(mixed.sum(dtype=np.uint64))


def write_run(file: Path, ids: SortedIds, moment: Moment) -> Run:
    """A new run of these ids, whole."""
    moment("run.begun")
    with opened_draft(file, len(ids)) as draft:
        half = len(ids) // 2
        write_part(draft, len(ids), 0, ids.high[:half], ids.low[:half], ids.content[:half])
        moment("run.half")
        write_part(draft, len(ids), half, ids.high[half:], ids.low[half:], ids.content[half:])
        write_header(draft, len(ids), check_of(ids.high, ids.low, ids.content))
    moment("run.written")
    return Run.open(file)


@contextmanager
def opened_draft(file: Path, count: int) -> Iterator[int]:
    """A descriptor of a file that has room for so many ids. What it has already is kept."""
    descriptor = os.open(file, os.O_RDWR | os.O_CREAT, 0o600)
    try:
        os.ftruncate(descriptor, size_of(count))
        yield descriptor
    finally:
        os.close(descriptor)


def write_part(draft: int, count: int, start: int, high: Longs, low: Longs, content: Longs) -> None:
    """Ids number `start` and following of a run of `count`."""
    for place, column in enumerate((low, high, content)):
        _write(draft, _PAGE + _WORD * (place * count + start), column)
    first = -start % FENCE
    _write(draft, _PAGE + _WORD * (3 * count + (start + first) // FENCE), low[first::FENCE])


def write_header(draft: int, count: int, check: int) -> None:
    header = _HEADER.pack(_MAGIC, count, check)
    os.pwrite(draft, header + zlib.crc32(header).to_bytes(4, "little"), 0)


def _write(draft: int, offset: int, column: Longs) -> None:
    left = memoryview(np.ascontiguousarray(column).data).cast("B")
    while left:
        written = os.pwrite(draft, left, offset)
        left, offset = left[written:], offset + written
