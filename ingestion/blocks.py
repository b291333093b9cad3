"""Blocks: landing files cut into stretches of whole lines, each small enough to be judged in memory by whichever core is free.

Several small files share a block, because judging a block has a price of its own. A large file is cut at line feeds. However
files are cut, the log says the same.
"""

import codecs
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import BinaryIO

from lakehouse.errors import ParityError
from lakehouse.landings import Landing
from transformations.lines.judge import lines_of

BYTES = 4 * 1024**2
"""The size of a block: some 20,000 lines. Larger ones are not judged quicker, and take more memory."""
_SCANNED = 64 * 1024


@dataclass(frozen=True)
class Piece:
    """The bytes `[start, end)` of a landing file: whole lines."""

    path: str
    start: int
    end: int


Block = tuple[Piece, ...]


def cut(files: Sequence[Landing], *, size: int = BYTES) -> list[Block]:
    """The blocks of landing files, in their order."""
    blocks: list[Block] = []
    together: list[Piece] = []
    for piece in (piece for file in files for piece in _pieces(file, size)):
        if together and sum(each.end - each.start for each in together) + piece.end - piece.start > size:
            blocks.append(tuple(together))
            together = []
        together.append(piece)
    return [*blocks, tuple(together)] if together else blocks


def read(block: Block) -> tuple[list[bytes], list[int]]:
    """The lines of a block, and how many of them each of its pieces has. A byte order mark is no part of a line."""
    lines: list[bytes] = []
    counts: list[int] = []
    for piece in block:
        with _opened(piece.path) as file:
            file.seek(piece.start)
            content = file.read(piece.end - piece.start)
        own = lines_of(content.removeprefix(codecs.BOM_UTF8) if piece.start == 0 else content)
        lines += own
        counts.append(len(own))
    return lines, counts


def _pieces(landing: Landing, size: int) -> Iterator[Piece]:
    with _opened(landing.path) as file:
        start = 0
        while start < landing.size:
            end = _end_of_line(file, start + size, landing.size)
            yield Piece(landing.path, start, end)
            start = end


def _end_of_line(file: BinaryIO, near: int, size: int) -> int:
    """Where the line ends that has the byte before `near`."""
    near -= 1
    while near < size:
        file.seek(near)
        scanned = file.read(_SCANNED)
        if not scanned:
            break  # the file has become shorter, which is found out before anything is written
        if (found := scanned.find(b"\n")) >= 0:
            return near + found + 1
        near += len(scanned)
    return size


@contextmanager
def _opened(path: str) -> Iterator[BinaryIO]:
    try:
        with Path(path).open("rb") as file:
            yield file
    except (FileNotFoundError, IsADirectoryError):
        raise ParityError(
            f"Landing files are gone before they were read: {path}. Put them back and start again."
        ) from None
    except OSError as error:
        raise ParityError(
            f"A landing file cannot be read: {path} ({error.strerror}). Nothing was written. Start again when it can."
        ) from error
