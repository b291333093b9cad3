"""Several runs become one, some slices with every put: no put waits for a whole merge, and no run is copied into memory.

How far a merge has come is part of the index's state, so the next process goes on where this one ended.
"""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np

from ingestion.index.moment import Moment
from ingestion.index.run import SLICE, Run, check_of, opened_draft, size_of, write_header, write_part
from ingestion.index.sorted_ids import SortedIds
from ingestion.index.unusable import Unusable


@dataclass(frozen=True)
class Merge:
    to: str
    sources: tuple[str, ...]
    taken: tuple[int, ...]
    """Of each source, how many ids are in `to` already."""
    check: int = 0
    """The check of the ids that are in `to` already."""

    @classmethod
    def of(cls, to: str, sources: tuple[str, ...]) -> "Merge":
        return cls(to=to, sources=sources, taken=(0,) * len(sources))

    def from_the_start(self) -> "Merge":
        return Merge.of(self.to, self.sources)

    def has_its_draft(self, folder: Path, runs: Mapping[str, Run]) -> bool:
        count = sum(len(runs[name]) for name in self.sources)
        draft = folder / self.to
        return draft.is_file() and draft.stat().st_size == size_of(count)

    def finished(self, runs: Mapping[str, Run]) -> bool:
        return all(taken == len(runs[name]) for taken, name in zip(self.taken, self.sources, strict=True))

    def advanced(self, folder: Path, runs: Mapping[str, Run], *, ids: int, moment: Moment) -> "Merge":
        """The merge after at least so many ids more, or after the last. Nothing but the draft of `to` is touched."""
        sources = [runs[name].ids for name in self.sources]
        count, merge = sum(map(len, sources)), self
        until = min(count, sum(self.taken) + ids)
        with opened_draft(folder / self.to, count) as draft:
            while sum(merge.taken) < until:
                upto = _next_cut(sources, merge.taken)
                part = SortedIds.merged(
                    source.cut(start, end) for source, start, end in zip(sources, merge.taken, upto, strict=True)
                )
                write_part(draft, count, sum(merge.taken), part.high, part.low, part.content)
                check = (merge.check + check_of(part.high, part.low, part.content)) % 2**64
                merge = replace(merge, taken=upto, check=check)
                moment("merge.slice")
            if merge.finished(runs):
                expected = sum(runs[name].check for name in self.sources) % 2**64
                if merge.check != expected:
                    raise Unusable(
                        f"{', '.join(self.sources)}: one of them is damaged, merged they are not what they were"
                    )
                write_header(draft, count, merge.check)
        return merge


def _next_cut(sources: list[SortedIds], taken: tuple[int, ...]) -> tuple[int, ...]:
    """Where the next slice ends in each source: at the least of the last ids of their next pieces."""
    piece = SLICE // len(sources)
    ends = [min(len(ids), start + piece) for ids, start in zip(sources, taken, strict=True)]
    open_ones = [(ids, start, end) for ids, start, end in zip(sources, taken, ends, strict=True) if start < end]
    last = min(ids.low[end - 1] for ids, _, end in open_ones)
    return tuple(
        start + int(np.searchsorted(ids.low[start:end], last, side="right"))
        for ids, start, end in zip(sources, taken, ends, strict=True)
    )
