"""Savepoints: where every stream of a lake stood at one moment, with its state, so that one can start there again.

    parity savepoint --lake LAKE --name monday
    parity stream --lake LAKE --from-savepoint monday

LAKE/savepoints/monday.json            the version of the log, and of each stream its epoch and its last micro-batch
LAKE/savepoints/monday/door_counts@1   a copy of its checkpoint: the positions and the state of the engine

The rows of the streams are not copied: their tables only grow, and the savepoint names a version of each. How a stream
starts from a savepoint is the speed layer's matter, in `speed_layer/restore.py`.
"""

import json
import re
import shutil
from collections.abc import Sequence
from contextlib import ExitStack
from dataclasses import asdict, dataclass, replace
from datetime import UTC, datetime
from pathlib import Path

from pyspark.sql import SparkSession

from lakehouse.changelogs import boundaries
from lakehouse.errors import SavepointRefused, UnknownSavepoint
from lakehouse.identity import live_epoch, noted, refuse_lost_checkpoint
from lakehouse.lake import Lake, write_json
from lakehouse.locks import exclusive
from lakehouse.log import newest_version
from lakehouse.versions import consumed, is_replaying, numbers
from transformations.durations import iso
from transformations.result import Result

PLAIN = re.compile(r"[A-Za-z0-9][A-Za-z0-9_.-]{0,99}")


@dataclass(frozen=True)
class SavedStream:
    """Where a stream stood: the last micro-batch of its epoch, and the versions of log and changelog that belong to it."""

    epoch: int
    batch: int
    log_version: int
    table_version: int
    code: str | None
    settings: dict[str, str]
    since: int
    history: int | None


@dataclass(frozen=True)
class Savepoint:
    """A moment in which no stream of `streams` was running; the log had come to `log_version`."""

    name: str
    taken_at: str
    log_version: int
    streams: dict[str, SavedStream]


def take(spark: SparkSession, lake: Lake, name: str, results: Sequence[Result]) -> Savepoint:
    """Record where the streams of these versions stand. None of them may be running: each is held as if it were."""
    refuse_savepoint(lake, name, results)
    with ExitStack() as held:
        for lock in ("savepoints", *(f"stream-{result.id}" for result in results)):
            held.enter_context(exclusive(spark, lake.lock_file(lock), wait=False))
        refuse_savepoint(lake, name, results)  # another one may have been taken meanwhile
        streams = {result.id: _standing(lake, result) for result in results}
        taken = Savepoint(name, iso(datetime.now(UTC)), newest_version(lake), streams)
        shutil.rmtree(_folder(lake, name), ignore_errors=True)  # what a killed command has left
        for result in results:
            shutil.copytree(live_epoch(lake, result).checkpoint, saved_checkpoint(lake, name, result))
        write_json(_file(lake, name), asdict(taken))  # last: with it the savepoint exists
    return taken


def refuse_savepoint(lake: Lake, name: str, results: Sequence[Result]) -> None:
    """Refuse a name that cannot be one, or is taken, and a savepoint of nothing. Needs no Spark."""
    _refuse_name(name)
    if not results:
        raise SavepointRefused(f"No stream has written anything in {lake.path}. Run `parity stream` first.")
    if _file(lake, name).exists():
        raise SavepointRefused(
            f"There is a savepoint {name!r} in {lake.path}, and it stays as it is. Take another name, or remove it "
            f"first: `parity savepoint --lake {lake.path} --remove {name}`."
        )


def streams_of(lake: Lake) -> list[Result]:
    """Every version of every result whose stream has written something, or is being replayed."""
    declared = lake.pipeline.catalogue().values()
    versions = (replace(result, version=number) for result in declared for number in numbers(lake, result.name))
    return [each for each in versions if consumed(lake, each) is not None or is_replaying(lake, each)]


def savepoints(lake: Lake) -> list[Savepoint]:
    """The savepoints of a lake, oldest first."""
    found = (_read(file) for file in (lake.path / "savepoints").glob("*.json"))
    return sorted(found, key=lambda each: (each.taken_at, each.name))


def savepoint(lake: Lake, name: str) -> Savepoint:
    """The savepoint of this name, which has to be there."""
    if not PLAIN.fullmatch(name) or not _file(lake, name).exists():
        known = ", ".join(each.name for each in savepoints(lake))
        raise UnknownSavepoint(
            f"There is no savepoint {name!r} in {lake.path}. "
            + (f"There are: {known}." if known else f"`parity savepoint --lake {lake.path} --name NAME` takes one.")
        )
    return _read(_file(lake, name))


def saved_checkpoint(lake: Lake, name: str, result: Result) -> Path:
    """The copy of a stream's checkpoint."""
    return _folder(lake, name) / result.id


def remove(lake: Lake, name: str) -> None:
    """Remove a savepoint. Streams that have started from it have copies of their own."""
    savepoint(lake, name)
    _file(lake, name).unlink()  # first: without it there is no savepoint, whatever a crash leaves of the copies
    shutil.rmtree(_folder(lake, name), ignore_errors=True)


def _standing(lake: Lake, result: Result) -> SavedStream:
    """Where the stream of this version stands; its checkpoint has to know the last micro-batch in the table."""
    if is_replaying(lake, result):
        raise SavepointRefused(
            f"{result.id} is being replayed and has no answer of its own yet, so there is nothing to start from. Nothing "
            f"was written. `parity replay --lake {lake.path} --result {result.name} --as-version {result.version}` "
            f"finishes it, `parity retire --lake {lake.path} --result {result.id}` gives it up; or name the others with "
            "--result."
        )
    note, epoch = noted(lake, result), live_epoch(lake, result)
    at = next(iter(boundaries(lake, result, epoch)), None)
    if at is None:
        raise SavepointRefused(
            f"The stream of {result.id} has begun anew and has written nothing yet. Nothing was recorded. Let "
            f"`parity stream --lake {lake.path} --result {result.id}` catch up first."
        )
    refuse_lost_checkpoint(lake, result, epoch, last_batch=at.batch)
    return SavedStream(
        epoch=at.epoch,
        batch=at.batch,
        log_version=at.log_version,
        table_version=at.table_version,
        code=note["epoch"].get("code"),
        settings=note.get("settings", {}),
        since=epoch.since,
        history=epoch.history,
    )


def _refuse_name(name: str) -> None:
    if not PLAIN.fullmatch(name) or name.endswith(".json"):  # the directory `a.json` would be the file of `a`
        raise SavepointRefused(
            f"{name!r} cannot be the name of a savepoint: it names a file. Take letters, digits, '-', '_' and '.', at most "
            "100, a letter or a digit first, and not '.json' at the end."
        )


def _read(file: Path) -> Savepoint:
    try:
        said = json.loads(file.read_text())
        return Savepoint(**{**said, "streams": {name: SavedStream(**each) for name, each in said["streams"].items()}})
    except (ValueError, TypeError, KeyError) as error:
        raise SavepointRefused(
            f"The savepoint {file.stem!r} cannot be read: {file} says something else ({error})."
        ) from None


def _file(lake: Lake, name: str) -> Path:
    return lake.path / "savepoints" / f"{name}.json"


def _folder(lake: Lake, name: str) -> Path:
    return lake.path / "savepoints" / name
