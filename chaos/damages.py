"""What can happen to a checkpoint on disk. Each takes the directory and damages what its last micro-batch has left there."""

import shutil
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

GARBAGE = b"\x00garbage\xff" * 64


Checkpointed = Literal["ingest", "stream"]


@dataclass(frozen=True)
class Damage:
    """A way to damage a checkpoint, whether only a stream has what it damages, and who can go on with what is left.

    Nobody else may: it has to refuse, and to name the command that makes it whole.
    """

    name: str
    said: str
    do: Callable[[Path], None]
    stateful: bool = False
    goes_on: tuple[Checkpointed, ...] = ()


def _last(directory: Path) -> Path:
    return max((file for file in directory.iterdir() if file.name.isdigit()), key=lambda file: int(file.name))


def _lost(file: Path) -> None:
    """The file and its checksum: of one without the other Spark thinks that a second query writes there."""
    file.unlink()
    file.with_name(f".{file.name}.crc").unlink(missing_ok=True)


def _torn(file: Path) -> None:
    """Half of the file, and a checksum that nobody compares with it."""
    content = file.read_bytes()
    file.write_bytes(content[: len(content) // 2])
    file.with_name(f".{file.name}.crc").unlink(missing_ok=True)


def _corrupted(state: Path) -> None:
    """Garbage in the place of everything that the newest version of the state consists of."""
    kinds = (".changelog", ".zip", ".delta", ".snapshot")
    files = [file for file in state.rglob("*") if file.suffix in kinds and file.stem.partition("_")[0].isdigit()]
    newest = max(int(file.stem.partition("_")[0]) for file in files)
    for file in files:
        if int(file.stem.partition("_")[0]) == newest:
            file.write_bytes(GARBAGE)
            file.with_name(f".{file.name}.crc").unlink(missing_ok=True)


DAMAGES = (
    Damage(
        "commit-log-lost", "the commit log of the last micro-batch is gone", lambda home: _lost(_last(home / "commits")),
        goes_on=("ingest", "stream"),  # the micro-batch is run again, and what the table has is skipped
    ),
    Damage("offsets-torn", "the last file of its offsets is torn", lambda home: _torn(_last(home / "offsets"))),
    Damage("commits-torn", "the last file of its commit log is torn", lambda home: _torn(_last(home / "commits"))),
    Damage("metadata-lost", "the metadata of its checkpoint is gone", lambda home: (home / "metadata").unlink()),
    Damage("state-corrupt", "the newest version of its state is garbage", lambda home: _corrupted(home / "state"), stateful=True),
    Damage(
        "checkpoint-lost", "its checkpoint is gone altogether", shutil.rmtree,
        goes_on=("ingest",),  # which micro-batches are in the log, the log says; of a result's state nobody else knows
    ),
)  # fmt: skip


def _torn_index(folder: Path) -> None:
    for file in folder.glob("*.run"):
        _torn(file)


INDEX_DAMAGES = (
    Damage("ids-lost", "the index of the log's ids was removed", shutil.rmtree),
    Damage("ids-torn", "every file of the index of the log's ids was cut in half", _torn_index),
)
"""What can happen to the index of ids, by its folder."""
