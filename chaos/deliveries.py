"""What lands in a run of faults: a simulated day, cut into files, that lands portion by portion as the seed says.

The game itself is late, doubled and broken already. On top of that a portion can come out of order, with copies of old
files, or with files that were held back so long that all in them is late.
"""

import os
import random
import shutil
from pathlib import Path

PORTION = 3
"""Files that land together."""
HELD_BACK = 0.2


class Deliveries:
    """The files that have not landed yet, in the order of their arrival, and those that are held back."""

    def __init__(self, pool: Path, landing: Path, rng: random.Random) -> None:
        files = sorted(pool.glob("*.jsonl"))
        self._landing = landing
        self._rng = rng
        self._landed: list[Path] = []
        self._copies = 0
        # The first and the last file are never held back: something has to be there to be late for.
        held = rng.sample(files[1:-1], min(round(len(files) * HELD_BACK), len(files) - 2))
        self._held = sorted(held)
        self._coming = [file for file in files if file not in held]

    @property
    def landed(self) -> int:
        """How many files have landed."""
        return len(self._landed)

    def portion(self, *, portions: int = 1) -> int:
        """Let the next files land, or copies where all have landed; returns how many."""
        if not self._coming:
            return self.copies()
        count = min(PORTION * portions, len(self._coming))
        for file in self._coming[:count]:
            self._land(file)
        del self._coming[:count]
        return count

    def one(self) -> None:
        """Let the next file land."""
        if self._coming:
            self._land(self._coming.pop(0))

    def shuffled(self) -> int:
        """Let the next files land in another order than they were written in."""
        count = min(2 * PORTION, len(self._coming))
        files = self._coming[:count]
        del self._coming[:count]
        self._rng.shuffle(files)
        times = sorted(file.stat().st_mtime_ns for file in files)
        for file, modified in zip(files, times, strict=True):
            os.utime(file, ns=(modified, modified))
            self._land(file)
        return count

    def late(self) -> int:
        """Let half of what is held back land, at least a file: all of it is late by now."""
        count = (len(self._held) + 1) // 2
        for file in self._held[:count]:
            self._land(file)
        del self._held[:count]
        return count

    def copies(self) -> int:
        """Let a part of what has landed before land once more, under other names."""
        again = self._rng.sample(self._landed, (len(self._landed) + 1) // 2)
        for file in again:
            self._copies += 1
            copy = self._landing / f"copy-{self._copies:04d}.jsonl"
            draft = copy.with_name(f".{copy.name}")
            shutil.copyfile(file, draft)
            draft.replace(copy)
            self._landed.append(copy)
        return len(again)

    def rest(self) -> int:
        """Let everything land that has not."""
        left = [*self._held, *self._coming]
        for file in left:
            self._land(file)
        self._held, self._coming = [], []
        return len(left)

    def _land(self, file: Path) -> None:
        target = self._landing / file.name
        file.replace(target)
        self._landed.append(target)
