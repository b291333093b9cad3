"""A commit of a table that is not whole, and the way out of it.

Delta writes a commit beside its place and renames it, so no process that dies leaves half of one. A power loss, a full
disk below the file system, or another program can.
"""

from pathlib import Path

from lakehouse.errors import TornCommit

_AGAIN = {
    "arrivals": "`parity ingest … --rebuild` takes its micro-batch in again, and `parity stream … --rebuild` follows",
    "kappa": "`parity stream … --rebuild` computes the result anew from the log",
    "batch": "`parity recompute …` computes it anew from the log",
}


def torn_commit(table: str, version: int, file: Path, *, newest: bool) -> TornCommit:
    """What to say of it. The newest commit can be given up; what later ones build upon cannot."""
    kind = table.partition("_")[0].partition("@")[0]
    again = _AGAIN.get(kind, "run the command that wrote it again")
    without = (
        f"Without one, all before it is whole: `mv {file} {file}.torn; rm -f {_checksum(file)}`, then {again}."
        if newest
        else "Without one, ingest the landing files into a new lake: later commits build upon this one."
    )
    return TornCommit(
        f"Commit {version} of the table {table} is torn: {file} has {file.stat().st_size} bytes and ends in the middle. A commit "
        "of Parity appears as a whole or not at all, so the disk or another program did that. Nothing was written. Put the "
        f"file back from a backup. {without}"
    )


def _checksum(file: Path) -> Path:
    """Hadoop's own, beside the file. Left behind, it makes Delta believe that the commit is there."""
    return file.with_name(f".{file.name}.crc")
