"""The commits of a Delta table, read from its log without a JVM: what the writers said of them, and the files they added.

Delta writes a commit once, as a file that appears whole. One that is torn is refused here, for whoever asks.
"""

import json
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime
from functools import lru_cache
from pathlib import Path
from typing import Any
from urllib.parse import unquote

from lakehouse.lake import Lake
from lakehouse.torn import torn_commit
from transformations.durations import from_millis, to_millis


def commits(lake: Lake, name: str) -> Iterator[dict[str, Any]]:
    """What the writers said of their commits, newest first, each with its `version`; silent commits are left out.

    Read from the commit files themselves: DESCRIBE HISTORY is a Spark job, and a reader may have no JVM. Where the lake
    is pinned, later commits do not count.
    """
    pinned = dict(lake.pins).get(name)
    for version in _versions(lake, name):
        if (pinned is None or version <= pinned) and (said := _commit(lake, name, version).said) is not None:
            yield {**said, "version": version}


def newest(lake: Lake, name: str, *, known: int = 0) -> int:
    """The newest version of the table. Who knows one finds a later one sooner."""
    return _newest(_log(lake, name), known)


def newest_at(lake: Lake, name: str, moment: datetime) -> int:
    """The newest version of the table that was committed by that moment, -1 if there was none."""
    at = to_millis(moment)
    return next((version for version in _versions(lake, name) if _commit(lake, name, version).at <= at), -1)


def committed_at(lake: Lake, name: str, version: int) -> datetime:
    """When a version was committed, by the writer's clock."""
    return from_millis(_commit(lake, name, version).at)


def lasting(lake: Lake, name: str, version: int) -> int:
    """The version to read instead of `version`: the newest that a maintenance left, if that is later.

    It holds what is left of all versions before it, and no vacuum breaks it. The files of an earlier one may be gone.
    """
    for later in _versions(lake, name):
        if later <= version:
            break
        commit = _commit(lake, name, later)
        if commit.operation == "OPTIMIZE" or "folded" in (commit.said or {}):
            return later
    return version


@dataclass(frozen=True)
class Addition:
    """A data file that a commit added; `changes` says whether its rows are new, or moved by a maintenance."""

    file: Path
    changes: bool


@dataclass(frozen=True)
class Files:
    """What a commit did to the files of its table."""

    version: int
    added: list[Addition]
    removes: bool


def files_of(lake: Lake, name: str, version: int) -> Files:
    actions = [json.loads(line) for line in _lines(_file(_log(lake, name), version).read_text())]
    table = Path(lake.table(name))
    added = [
        Addition(table / unquote(each["add"]["path"]), each["add"]["dataChange"]) for each in actions if "add" in each
    ]
    return Files(version, added, any("remove" in each for each in actions))


def additions(lake: Lake, name: str) -> Iterator[tuple[int, list[Path]]]:
    """Each version, newest first, with the files in which it added rows; a stream reads these, one version after another."""
    for version in _versions(lake, name):
        yield version, [each.file for each in files_of(lake, name, version).added if each.changes]


def _log(lake: Lake, name: str) -> Path:
    return Path(lake.table(name)) / "_delta_log"


def _file(log: Path, version: int) -> Path:
    return log / f"{version:020d}.json"


def _versions(lake: Lake, name: str) -> Iterator[int]:
    """The versions whose commits Delta still has, newest first."""
    log = _log(lake, name)
    version = _newest(log)
    while version >= 0 and _file(log, version).exists():
        yield version
        version -= 1


def _newest(log: Path, known: int = 0) -> int:
    """The newest version, from one that is known upwards: a table that is written for weeks has too many to list."""
    version = known or _checkpointed(log)
    if not _file(log, version).exists():  # the commits up to here are beyond the horizon
        version = max((int(file.stem) for file in log.glob("*.json") if file.stem.isdigit()), default=-1)
    while _file(log, version + 1).exists():
        version += 1
    return version


def _checkpointed(log: Path) -> int:
    """The version of Delta's last checkpoint, 0 if there is none; Delta may be about to write the file."""
    try:
        return int(json.loads((log / "_last_checkpoint").read_text())["version"])
    except (FileNotFoundError, ValueError, KeyError):
        return 0


@dataclass(frozen=True)
class _Commit:
    at: int
    operation: str | None
    said: dict[str, Any] | None


def _commit(lake: Lake, name: str, version: int) -> _Commit:
    file = _file(_log(lake, name), version)
    status = file.stat()
    try:
        return _parsed(str(file), status.st_ino, status.st_mtime_ns, status.st_size)
    except ValueError:
        raise torn_commit(name, version, file, newest=not _file(_log(lake, name), version + 1).exists()) from None


def refuse_torn(lake: Lake, name: str) -> None:
    """Refuse to write after a torn commit, with more than Delta would say of it."""
    if lake.has(name):
        _commit(lake, name, _newest(_log(lake, name)))


@lru_cache(maxsize=50_000)
def _parsed(file: str, *_: int) -> _Commit:
    """A commit is written once and read often. One in the same place of another lake is another file."""
    info: dict[str, Any] = {}
    content = Path(file).read_text()
    if not content.endswith("}\n"):
        raise ValueError("torn")
    for line in _lines(content):
        if line.startswith('{"commitInfo"'):
            info = json.loads(line)["commitInfo"]
    said = info.get("userMetadata")
    return _Commit(info.get("timestamp", 0), info.get("operation"), dict(json.loads(said)) if said else None)


def _lines(commit: str) -> list[str]:
    """One action a line. Only a line feed ends it: `splitlines` also takes signs that a value of the statistics may contain."""
    return commit.removesuffix("\n").split("\n")
