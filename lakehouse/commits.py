"""The commits of a Delta table, read from its log without a JVM: what the writers said of them, and the files they added.

Delta writes a commit once, as a file that appears whole. One that is torn is refused here, for whoever asks. When it
writes a checkpoint, Delta removes the files of commits beyond the horizon, and with them what their writers said. So each
commit of a maintenance carries on what has to be known longer (`lakehouse/carrying.py`). What nobody has carried on is
refused: an answer as if nothing had been said would be a wrong one.
"""

import json
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime
from functools import lru_cache
from pathlib import Path
from typing import Any
from urllib.parse import unquote

from lakehouse.errors import Forgotten
from lakehouse.lake import Lake
from lakehouse.torn import torn_commit
from transformations.durations import from_millis, iso, to_millis

CARRIED = "carried"


def commits(lake: Lake, name: str) -> Iterator[dict[str, Any]]:
    """What the writers said of their commits, newest first, each with its `version`; silent commits are left out.

    Read from the commit files themselves: DESCRIBE HISTORY is a Spark job, and a reader may have no JVM. Those that have
    no file any more come last, as far as they were carried on. Where the lake is pinned, later commits do not count.
    """
    pinned = dict(lake.pins).get(name)
    for version, commit in known_commits(lake, name):
        if commit.said and (pinned is None or version <= pinned):
            yield {**commit.said, "version": version}


def has_commit(lake: Lake, name: str, version: int) -> bool:
    """Whether Delta still has the commit. It removes the oldest first: then all later ones are there too."""
    return _file(_log(lake, name), version).exists()


def is_cleaned(lake: Lake, name: str) -> bool:
    """Whether Delta has removed commits of the table that are beyond the horizon."""
    return lake.has(name) and not _file(_log(lake, name), 0).exists()


def newest(lake: Lake, name: str, *, known: int = 0) -> int:
    """The newest version of the table. Who knows one finds a later one sooner."""
    return _newest(_log(lake, name), known)


def newest_at(lake: Lake, name: str, moment: datetime) -> int:
    """The newest version of the table that was committed by that moment, -1 if there was none."""
    at = to_millis(moment)
    found = next((version for version in _versions(lake, name) if _commit(lake, name, version).at <= at), -1)
    if found < 0 and is_cleaned(lake, name):
        raise Forgotten(
            f"What {name} in {lake.path} was at {iso(moment)} is no longer known: Delta has removed its commits of that time, "
            "which are beyond the horizon ([retention] horizon). Ask for a later time."
        )
    return found


def committed_at(lake: Lake, name: str, version: int) -> datetime:
    """When a version was committed, by the writer's clock."""
    if _file(_log(lake, name), version).exists():
        return from_millis(_commit(lake, name, version).at)
    for known, commit in known_commits(lake, name):
        if known == version:
            return from_millis(commit.at)
    raise Forgotten(f"When version {version} of {name} in {lake.path} was committed is no longer known.")


def lasting(lake: Lake, name: str, version: int) -> int:
    """The version to read instead of `version`: the newest that a maintenance left, if that is later.

    It holds what is left of all versions before it, and no vacuum breaks it. The files of an earlier one may be gone. So
    may be the commits that Delta needs to tell them; the newest version then holds their rows too.
    """
    later = last_maintenance(lake, name)
    if later > version:
        return later
    return version if _is_readable(_log(lake, name), version) else newest(lake, name)


def last_maintenance(lake: Lake, name: str) -> int:
    """The newest version that a maintenance left, -1 if none did."""
    for version in _versions(lake, name):
        commit = _commit(lake, name, version)
        if commit.operation == "OPTIMIZE" or "folded" in commit.said:
            return version
    return -1


def _is_readable(log: Path, version: int) -> bool:
    """Whether Delta can tell which files the version has: from the first commit on, or from a checkpoint up to it."""
    if version < 0 or _file(log, 0).exists():
        return True
    if not _file(log, version).exists():
        return False
    checkpoints = (int(file.name[:20]) for file in log.glob("*.checkpoint*.parquet"))
    return any(each == version or (each < version and _file(log, each + 1).exists()) for each in checkpoints)


@dataclass(frozen=True)
class Addition:
    """A data file that a commit added; `changes` says whether its rows are new, or moved by a maintenance."""

    file: Path
    changes: bool
    rows: int


@dataclass(frozen=True)
class Files:
    """What a commit did to the files of its table."""

    version: int
    added: list[Addition]
    removes: bool
    alters: bool
    """Whether the table has other columns from here on."""


def files_of(lake: Lake, name: str, version: int) -> Files:
    actions = [json.loads(line) for line in _lines(_file(_log(lake, name), version).read_text())]
    table = Path(lake.table(name))
    added = [
        Addition(
            table / unquote(each["add"]["path"]),
            each["add"]["dataChange"],
            json.loads(each["add"].get("stats") or "{}").get("numRecords", 0),
        )
        for each in actions
        if "add" in each
    ]
    removes, alters = (any(action in each for each in actions) for action in ("remove", "metaData"))
    return Files(version, added, removes, alters)


def additions(lake: Lake, name: str) -> Iterator[tuple[int, list[Addition]]]:
    """Each version, newest first, with the files in which it added rows; a stream reads these, one version after another."""
    for version in _versions(lake, name):
        yield version, [each for each in files_of(lake, name, version).added if each.changes]


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


def known_commits(lake: Lake, name: str) -> Iterator[tuple[int, "Commit"]]:
    """The commits of which anything is known, newest first: those that have a file, and those carried on from before."""
    oldest, carried = -1, None
    for version in _versions(lake, name):
        oldest, commit = version, _commit(lake, name, version)
        carried = commit.carried if carried is None else carried
        yield version, commit
    yield from ((version, commit) for version, commit in carried or () if version < oldest)


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
class Commit:
    """When a commit was made, by which operation, and what its writer said of it and, in a maintenance, of others.

    One that has no file any more was the last word `until` a version, if any followed when it was carried on.
    """

    at: int
    operation: str | None
    said: dict[str, Any]
    carried: "tuple[tuple[int, Commit], ...] | None" = None
    until: int | None = None


def _commit(lake: Lake, name: str, version: int) -> Commit:
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
def _parsed(file: str, *_: int) -> Commit:
    """A commit is written once and read often. One in the same place of another lake is another file."""
    info: dict[str, Any] = {}
    lines = _lines(Path(file).read_text())
    json.loads(lines[-1])  # a torn one ends within a line; delta-rs ends a whole one without a line feed
    for line in lines:
        if line.startswith('{"commitInfo"'):
            info = json.loads(line)["commitInfo"]
    said: dict[str, Any] = json.loads(info.get("userMetadata") or "{}")
    carried = said.pop(CARRIED, None)
    if carried is not None:
        carried = tuple((it["version"], Commit(it["at"], None, it["said"], until=it["until"])) for it in carried)
    return Commit(info.get("timestamp", 0), info.get("operation"), said, carried)


def _lines(commit: str) -> list[str]:
    """One action a line. Only a line feed ends it: `splitlines` also takes signs that a value of the statistics may contain."""
    return commit.removesuffix("\n").split("\n")
