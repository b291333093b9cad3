"""Directories that a command may clear because the same command made them: a marker file in them says so."""

import fcntl
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TextIO

from lakehouse.errors import AlreadyRunning, ParityError
from lakehouse.lake import Lake, create_lake
from transformations.pipeline import Pipeline


def fresh(directory: Path, pipeline: Pipeline, *, command: str) -> Lake:
    """An empty lake with the command's marker; what was there is cleared only if it carries the marker too."""
    if directory.is_dir() and any(directory.iterdir()):
        if not _marker(directory, command).is_file():
            raise ParityError(
                f"{directory} is not empty and was not made by `parity {command}`, so it is not cleared. "
                "Name another with --lake."
            )
        with at_work(directory, command=command):
            shutil.rmtree(directory)
    made = create_lake(directory, pipeline)
    _marker(made.path, command).write_text(
        f"Made by `parity {command}`, which clears this directory when it runs again.\n"
    )
    return made


@contextmanager
def at_work(directory: Path, *, command: str) -> Iterator[None]:
    """Hold the marker, so that a second run of the command does not clear what this one works on."""
    with _marker(directory, command).open("a") as marker:
        _hold(marker, directory, command)
        yield


def _hold(marker: TextIO, directory: Path, command: str) -> None:
    try:
        fcntl.flock(marker, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        raise AlreadyRunning(
            f"Another `parity {command}` is at work in {directory}. Stop it, or name another directory with --lake; "
            "nothing was changed."
        ) from None


def _marker(directory: Path, command: str) -> Path:
    return directory / f".parity-{command}"
