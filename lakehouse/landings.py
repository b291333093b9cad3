"""The landing files in their order of arrival, decided once and written down before anything is read.

Spark's file source takes files of equal modification time in the order in which the directory lists them: of 40 such
files it took 012, 029, 009 and 003 first. So the order (modification time, then name) is written into manifests, one a
micro-batch, and the ingestion's query streams those. A file that changes after it was noted is noted again: its lines
are then copies, and nothing is lost.
"""

import json
import os
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from pathlib import Path

from lakehouse.errors import ParityError
from lakehouse.lake import Lake


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


def landed(directory: Path) -> list[Landing]:
    """The files `*.jsonl` in the directory in order of arrival. Names that start with `.` or `_` are not finished yet."""
    if not directory.is_dir():
        raise ParityError(f"There is no landing directory {directory}. Make it, or name another with --landing.")
    found = []
    for entry in os.scandir(directory.resolve()):
        if ":" in entry.name and entry.name.endswith(".jsonl") and not entry.name.startswith((".", "_")):
            raise ParityError(
                f"Spark cannot read a file with a colon in its name: {entry.path}. Rename it; nothing was read."
            )
        if entry.name.endswith(".jsonl") and not entry.name.startswith((".", "_")) and entry.is_file():
            status = entry.stat()
            found.append((status.st_mtime_ns, entry.name, entry.path, status.st_size))
    return [Landing(place, path, modified, size) for place, (modified, _, path, size) in enumerate(sorted(found))]


class Landings:
    """The landing files that have been noted. It reads the manifests once; who notes is the only one who writes them."""

    def __init__(self, lake: Lake, directory: Path, *, files_per_batch: int) -> None:
        self._lake = lake
        self._directory = directory
        self._files_per_batch = files_per_batch
        self._noted = {_seen(landing) for _, files in manifests(lake) for landing in files}
        self.manifests = len(_manifest_files(lake))
        """How many manifests there are, which is also the number of the next."""

    def note(self) -> int:
        """Write manifests for the files that are new since the last call; returns how many files that are."""
        new = [file for file in landed(self._directory) if _seen(file) not in self._noted]
        for first in range(0, len(new), self._files_per_batch):
            together = new[first : first + self._files_per_batch]
            _write_manifest(self._lake, self.manifests, together)
            self.manifests += 1
            self._noted.update(map(_seen, together))
        return len(new)


def note_landings(lake: Lake, directory: Path, *, files_per_batch: int) -> int:
    """Note what has landed, once."""
    return Landings(lake, directory, files_per_batch=files_per_batch).note()


def _seen(landing: Landing) -> tuple[str, int, int]:
    return landing.path, landing.modified_ns, landing.size


def manifests(lake: Lake) -> Iterator[tuple[int, list[Landing]]]:
    """Each manifest with its number, which is that of its micro-batch."""
    for file in _manifest_files(lake):
        yield int(file.stem), manifest(lake, int(file.stem))


def manifest(lake: Lake, number: int) -> list[Landing]:
    """The landing files of one micro-batch in their order."""
    return [Landing(**json.loads(line)) for line in _manifest_file(lake, number).read_text().splitlines()]


def _manifest_files(lake: Lake) -> list[Path]:
    return sorted(lake.landings.glob("*.json"))


def _manifest_file(lake: Lake, number: int) -> Path:
    return lake.landings / f"{number:08d}.json"


def _write_manifest(lake: Lake, number: int, landings: list[Landing]) -> None:
    file = _manifest_file(lake, number)
    draft = file.with_name(f".{file.name}")
    draft.write_text("".join(json.dumps(asdict(landing)) + "\n" for landing in landings))
    # Spark's file source orders by modification time in milliseconds: make these distinct and increasing.
    os.utime(draft, ns=(0, (number + 1) * 1_000_000_000))
    draft.replace(file)
