"""What lands in a run of faults: a simulated time, cut into files, that lands portion by portion as the seed says.

The simulation itself is late, doubled and broken already. On top of that a portion can come out of order, with copies of old
files, or with files that were held back until all in them was late. A file is held back when its turn comes, so whatever is held
back is older than what has landed since.
"""

import os
import random
import shutil
from math import ceil
from pathlib import Path

from chaos.lines import event_of
from chaos.subject import HOURS, Subject
from chaos.violation import Violation

PORTION = 3
"""Files that land together."""
OF_WHICH_ONE_IS_HELD_BACK = 5
FIRST_HOURS = 2
"""Of so many `HOURS` that much lands before the first fault: by then some keys of each result are settled."""
HOUR = 3_600_000


class Deliveries:
    """The files that have not landed yet, in the order of their arrival, and those that are held back."""

    def __init__(self, pool: Path, landing: Path, rng: random.Random, subject: Subject) -> None:
        self._subject = subject
        self._landing = landing
        self._rng = rng
        self._landed: list[Path] = []
        self._copies = 0
        self._held: list[Path] = []
        self._passed, self._place = 0, 0
        self._coming = sorted(pool.glob("*.jsonl"))
        self._first = first_files(len(self._coming))

    @property
    def landed(self) -> int:
        """How many files have landed."""
        return len(self._landed)

    def first(self) -> int:
        """Let the first hours land; returns how many files that are."""
        return self._portion(self._first)

    def portion(self, *, portions: int = 1) -> int:
        """Let the next files land, or copies where all have landed; returns how many."""
        return self._portion(PORTION * portions) if self._coming else self.copies(PORTION * portions)

    def one(self) -> None:
        """Let the next file land. Who relies on a pace has to be told that nothing is left."""
        if not self._coming:
            raise Violation(
                f"all {self.landed} files have landed before their time: the simulation was cut into too few"
            )
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

    def late(self, before: int, *, kind: str) -> int:
        """Let half of the files land that are late by now, at least one; returns how many. See `late_files`."""
        late = self.late_files(before, kind=kind)
        landing = late[: (len(late) + 1) // 2]
        for file in landing:
            self._held.remove(file)
            self._land(file)
        return len(landing)

    def late_files(self, before: int, *, kind: str) -> list[Path]:
        """Those of the files held back in which all is from before a time, in milliseconds.

        A file without an event of the kind is left out: it would touch nothing that is made of these.
        """
        return [file for file in self._held if self._is_late(file, before, kind)]

    def copies(self, most: int | None = None) -> int:
        """Let half of what has landed before land once more, under other names; or so many files at most."""
        half = (len(self._landed) + 1) // 2
        again = self._rng.sample(self._landed, half if most is None else min(half, most))
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

    def _portion(self, count: int) -> int:
        """The next files; some of those that pass by are held back. The last one of all never is."""
        before = self.landed
        while self._coming and self.landed < before + count:
            file = self._coming.pop(0)
            if self._is_held_back() and self._coming:
                self._held.append(file)
            else:
                self._land(file)
        return self.landed - before

    def _is_held_back(self) -> bool:
        """Of five that pass by one is, and the seed says which; never the very first."""
        turn = self._passed % OF_WHICH_ONE_IS_HELD_BACK
        if turn == 0:
            self._place = self._rng.randrange(0 if self._passed else 1, OF_WHICH_ONE_IS_HELD_BACK)
        self._passed += 1
        return turn == self._place

    def _is_late(self, file: Path, before: int, kind: str) -> bool:
        whole = 2 * self._subject.hours * HOUR  # the last retries included
        lines = file.read_bytes().split(b"\n")
        events = [event_of(line, self._subject.kinds, now=before + whole) for line in lines]
        happened = [(event.kind, event.event_time) for event in events if event is not None]
        return any(each == kind for each, _ in happened) and all(time <= before for _, time in happened)

    def _land(self, file: Path) -> None:
        target = self._landing / file.name
        file.replace(target)
        self._landed.append(target)


def first_files(files: int) -> int:
    """How many of so many files land before the first fault."""
    return max(2 * PORTION, -(-files * FIRST_HOURS // HOURS))


def files_with(portioned: int, *, single: int = 0) -> int:
    """Into how many files a simulation is cut of which so many land in portions, and so many one by one, after the first ones.

    Of those that come in portions some are held back as they pass by, the first ones too.
    """
    passing = 1 - 1 / OF_WHICH_ONE_IS_HELD_BACK
    return ceil((portioned + passing * single) / (passing - FIRST_HOURS / HOURS)) + 3 * PORTION
