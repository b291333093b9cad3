"""The runs of an index and the merges between them; which runs are merged, and how fast.

Runs stand in tiers by their size, each tier four times the one below. Four runs of a tier become one of the tier above, so
an id is written once a tier, and there are at most some runs a tier: 100 million ids that came 100,000 at a time are in
about eight. Each put pays for its share: while n ids are put, every merge goes on by six times n. A merge in a tier is over
before four more runs have come into it.
"""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from itertools import groupby
from pathlib import Path

from ingestion.index.merge import Merge
from ingestion.index.moment import Moment
from ingestion.index.run import SLICE, SUFFIX, Run

FAN = 4
PACE = 6
LOWEST_TIER = 1 << 14  # ids: merging so few is cheaper than asking one more run


@dataclass(frozen=True)
class Shelf:
    runs: Mapping[str, Run]
    merges: tuple[Merge, ...]
    next: int
    """The number of the next run. No name is used twice."""

    def with_run(self, run: Run) -> "Shelf":
        return replace(self, runs={**self.runs, run.name: run}, next=self.next + 1)

    def next_name(self) -> str:
        return f"{self.next:08d}{SUFFIX}"

    def files(self) -> set[str]:
        return {*self.runs, *(merge.to for merge in self.merges)}

    def tended(self, folder: Path, *, put: int, moment: Moment) -> "Shelf":
        """After a put of so many ids: every merge goes on for a while, and those that are due are begun."""
        shelf, going = replace(self, merges=()), list(self.merges)
        while True:
            for merge in going:
                advanced = merge.advanced(folder, shelf.runs, ids=max(PACE * put, SLICE), moment=moment)
                if advanced.finished(shelf.runs):
                    shelf = shelf._with_merged(advanced, Run.open(folder / advanced.to))
                    moment("merge.finished")
                else:
                    shelf = replace(shelf, merges=(*shelf.merges, advanced))
            shelf, going = shelf._due()
            if not going:
                return shelf

    def _with_merged(self, merge: Merge, run: Run) -> "Shelf":
        rest = {name: each for name, each in self.runs.items() if name not in merge.sources}
        return replace(self, runs={**rest, run.name: run})

    def _due(self) -> tuple["Shelf", list[Merge]]:
        taken = {name for merge in self.merges for name in merge.sources}
        free = sorted((run for name, run in self.runs.items() if name not in taken), key=len)
        shelf, merges = self, list[Merge]()
        for _, runs in groupby(free, key=lambda run: _tier(len(run))):
            names = [run.name for run in runs]
            while len(names) >= FAN:
                merges.append(Merge.of(shelf.next_name(), tuple(names[: 2 * FAN])))
                shelf, names = replace(shelf, next=shelf.next + 1), names[2 * FAN :]
        return shelf, merges


def _tier(count: int) -> int:
    return ((count // LOWEST_TIER).bit_length() + 1) // 2
