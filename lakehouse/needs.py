"""What the lake needs of its past: revisions for savepoints, and commits of the log that somebody has yet to read."""

from collections.abc import Iterator
from dataclasses import replace

from lakehouse.errors import NothingToCompare
from lakehouse.identity import live_epoch, noted
from lakehouse.lake import Lake
from lakehouse.log import position
from lakehouse.savepoints import savepoints
from lakehouse.terms import at_log
from lakehouse.versions import consumed, is_replaying, live_number, numbers
from transformations.catalogue import catalogue
from transformations.result import Result


def needed_since(lake: Lake, result: Result) -> dict[int, int]:
    """For each epoch of a version that a savepoint names, the earliest log version at which its view may be asked for."""
    found: dict[int, int] = {}
    for savepoint in savepoints(lake):
        if (at := savepoint.streams.get(result.id)) is not None:
            found[at.epoch] = min(at.log_version, found.get(at.epoch, at.log_version))
    return found


def readers_behind(lake: Lake, version: int) -> list[str]:
    """Who has yet to read the log up to `version`, commit by commit: live versions, replays and savepoints."""
    events = position(lake, version).version
    return [reader for reader, reached in _readers(lake) if reached < events]


def _readers(lake: Lake) -> Iterator[tuple[str, int]]:
    """Who reads this log, each with the version that it has read."""
    for name, declared in catalogue().items():
        for number in numbers(lake, name):
            result = replace(declared, version=number)
            live = number == live_number(lake, name) and "epoch" in noted(lake, result)
            if (live or is_replaying(lake, result)) and at_log(lake, result).log == lake.log:
                yield result.id, _reached(lake, result)
    for savepoint in savepoints(lake):
        for stream in savepoint.streams.values():
            if stream.settings.get("log", "1") == str(lake.log):
                yield f"savepoint {savepoint.name}", stream.log_version


def _reached(lake: Lake, result: Result) -> int:
    reached = consumed(lake, result)
    if reached is not None:
        return reached
    try:
        return live_epoch(lake, result).since - 1
    except NothingToCompare:
        return -1
