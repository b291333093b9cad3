"""The landing directory: files that appear whole or not at all, in the order of arrival."""

import os
from collections.abc import Sequence
from datetime import datetime
from pathlib import Path
from types import TracebackType
from typing import Self, TextIO

from simulator.lines import milliseconds


class LandingNotEmpty(ValueError):
    """The landing directory already holds landing files; a second run would mix its arrivals with theirs."""

    def __init__(self, directory: Path, present: list[str]) -> None:
        super().__init__(
            f"the landing directory {directory} already holds {len(present)} *.jsonl file(s), the first is "
            f"{present[0]}: choose an empty directory, or move these files away"
        )


def refuse_landed(directory: Path) -> None:
    """Make the directory, and refuse one that holds landing files."""
    directory.mkdir(parents=True, exist_ok=True)
    present = sorted(path.name for path in directory.glob("*.jsonl"))
    if present:
        raise LandingNotEmpty(directory, present)


def land(file: Path, lines: Sequence[str], *, modified: datetime) -> None:
    """Let a file appear with all of these lines, dated to the moment `modified`."""
    hidden = file.with_name(f".{file.name}.part")
    hidden.write_text("".join(f"{line}\n" for line in lines), encoding="utf-8", newline="\n")
    _appear(hidden, file, nanoseconds=milliseconds(modified) * 1_000_000)


def _appear(hidden: Path, file: Path, *, nanoseconds: int) -> None:
    # The time goes before the rename, so that nobody sees the file with another one.
    os.utime(hidden, ns=(nanoseconds, nanoseconds))
    hidden.replace(file)


class Landing:
    """Cuts `lines` lines into `files` files of equal size, named and dated in the order of arrival."""

    def __init__(self, directory: Path, *, files: int, lines: int) -> None:
        refuse_landed(directory)
        self._directory = directory
        self._wanted_files = min(files, lines)
        self._wanted_lines = lines
        self._digits = max(5, len(str(files - 1)))
        self._open: TextIO | None = None
        self._arrived = 0
        self._modified = 0
        self.files = 0
        self.lines = 0

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """A run that fails leaves no part of a file behind."""
        if self._open is not None:
            self._open.close()
            self._hidden.unlink(missing_ok=True)

    def add(self, line: str, *, arrives: int) -> None:
        """Append a line that arrived at a time in milliseconds; lines come in the order of arrival."""
        if self._open is None:
            self._open = self._hidden.open("w", encoding="utf-8", newline="\n")
        self._open.write(line + "\n")
        self.lines += 1
        self._arrived = arrives
        if self.lines >= (self.files + 1) * self._wanted_lines // self._wanted_files:
            self.publish()

    def publish(self) -> None:
        """Let the file appear, if one has been begun, dated to the whole second after its last arrival."""
        if self._open is None:
            return
        self._open.close()
        self._open = None
        self._modified = max(self._modified + 1, -(-self._arrived // 1000))
        _appear(self._hidden, self._directory / self._name, nanoseconds=self._modified * 1_000_000_000)
        self.files += 1

    @property
    def _name(self) -> str:
        return f"{self.files:0{self._digits}d}.jsonl"

    @property
    def _hidden(self) -> Path:
        return self._directory / f".{self._name}.part"
