"""The landing files in their order of arrival, decided once and written down before anything is read.

Spark's file source takes files of equal modification time in the order in which the directory lists them: of 40 such
files it took 012, 029, 009 and 003 first. So the order (modification time, then name) is written into manifests, one a
micro-batch, and the ingestion's query streams those. A file that changes after it was noted is noted again. Where it had
been read its lines are then copies; where it had not, it is read as what it is now, once. Nothing is lost.

A manifest also has the clock of ingestion at which it was noted. No line of its files can be from later, and whoever judges them,
a retry or a re-ingestion, judges by that.
"""

import json
import os
from collections.abc import Callable, Iterator
from dataclasses import asdict, dataclass, fields
from datetime import datetime
from pathlib import Path
from typing import Any

from lakehouse.errors import ParityError
from lakehouse.lake import Lake
from transformations.durations import from_millis, to_millis


@dataclass(frozen=True)
class Landing:
    """A landing file as it was when it was noted."""

    place: int
    path: str
    modified_ns: int
    size: int

    @property
    def name(self) -> str:
        return Path(self.path).name

    @property
    def changed(self) -> bool:
        """Whether another file is in its place now. One that is gone is not: it may come back."""
        file = Path(self.path)
        return file.is_file() and _identity(file.stat()) != (self.modified_ns, self.size)


def _identity(status: os.stat_result) -> tuple[int, int]:
    return status.st_mtime_ns, status.st_size


def landed(directory: Path) -> list[Landing]:
    """The files `*.jsonl` in the directory in order of arrival. Names that start with `.` or `_` are not finished yet."""
    if not directory.is_dir():
        raise ParityError(f"There is no landing directory {directory}. Make it, or name another with --landing.")
    found = []
    for entry in os.scandir(directory.resolve()):
        if entry.name.startswith((".", "_")) or not entry.name.endswith(".jsonl"):
            continue
        _refuse_unreadable_name(entry)
        if _is_file(entry):
            modified, size = _identity(entry.stat())
            found.append((modified, entry.name, entry.path, size))
    return [Landing(place, path, modified, size) for place, (modified, _, path, size) in enumerate(sorted(found))]


def _refuse_unreadable_name(entry: os.DirEntry[str]) -> None:
    """Before it is noted: what a manifest has must be read, and a file that is renamed then is gone."""
    if entry.name.encode(errors="replace") != os.fsencode(entry.name):
        raise ParityError(
            f"The name of a landing file is not UTF-8, and the log could not say where its lines came from: {entry.path!a}. "
            "Rename it; nothing was read."
        )


def _is_file(entry: os.DirEntry[str]) -> bool:
    """Links that lead nowhere or in a circle are no files."""
    try:
        return entry.is_file()
    except OSError:
        return False


def as_noted(landings: list[Landing]) -> list[Landing]:
    """Those that have not changed since they were noted. The others are noted again, and read as what they are then."""
    return [each for each in landings if not each.changed]


def refuse_changed(landings: list[Landing]) -> None:
    """Refuse what was read of files that changed meanwhile: a line may be half of the old file and half of the new one."""
    if changed := [each.path for each in landings if each.changed]:
        raise ParityError(
            f"Landing files changed while they were read: {', '.join(changed[:3])}. Nothing was written. Start again: they are "
            "read as they are then. Let files appear by a rename, and leave them as they are."
        )


class Landings:
    """The landing files that have been noted. It reads the manifests once; who notes is the only one who writes them."""

    def __init__(self, lake: Lake, directory: Path, *, files_per_batch: int) -> None:
        self._lake = lake
        self._directory = directory
        self._files_per_batch = files_per_batch
        self._noted = {landing.path: _seen(landing) for _, files in manifests(lake) for landing in files}
        self.manifests = len(_manifest_files(lake))
        """How many manifests there are, which is also the number of the next."""

    def note(self, clock: Callable[[], datetime]) -> int:
        """Write manifests for the files that are new since the last call; returns how many files that are.

        The clock of ingestion is read when they have been seen: none of them has been received later.
        """
        new = [file for file in landed(self._directory) if _seen(file) != self._noted.get(file.path)]
        at = clock()
        for first in range(0, len(new), self._files_per_batch):
            together = new[first : first + self._files_per_batch]
            _write_manifest(self._lake, self.manifests, together, at)
            self.manifests += 1
            self._noted.update({file.path: _seen(file) for file in together})
        return len(new)


def _seen(landing: Landing) -> tuple[int, int]:
    return landing.modified_ns, landing.size


def manifests(lake: Lake) -> Iterator[tuple[int, list[Landing]]]:
    """Each manifest with its number, which is that of its micro-batch."""
    for file in _manifest_files(lake):
        yield int(file.stem), manifest(lake, int(file.stem))


def manifest(lake: Lake, number: int) -> list[Landing]:
    """The landing files of one micro-batch in their order."""
    return [Landing(*(said[each.name] for each in fields(Landing))) for said in _said(lake, number)]


def noted_at(lake: Lake, number: int) -> datetime:
    """The clock of ingestion when the files of one micro-batch were noted."""
    return from_millis(_said(lake, number)[0]["noted_at"])


def _said(lake: Lake, number: int) -> list[dict[str, Any]]:
    return [json.loads(line) for line in _manifest_file(lake, number).read_text().splitlines()]


def _manifest_files(lake: Lake) -> list[Path]:
    return sorted(lake.landings.glob("*.json"))


def _manifest_file(lake: Lake, number: int) -> Path:
    return lake.landings / f"{number:08d}.json"


def _write_manifest(lake: Lake, number: int, landings: list[Landing], at: datetime) -> None:
    file = _manifest_file(lake, number)
    draft = file.with_name(f".{file.name}")
    said = ({**asdict(landing), "noted_at": to_millis(at)} for landing in landings)
    draft.write_text("".join(json.dumps(each) + "\n" for each in said))
    # Spark's file source orders by modification time in milliseconds: make these distinct and increasing.
    os.utime(draft, ns=(0, (number + 1) * 1_000_000_000))
    draft.replace(file)
