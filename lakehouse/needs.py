"""What the lake needs of its past: revisions for savepoints, and commits of the log that somebody has yet to read."""

from collections.abc import Iterator
from dataclasses import replace

from lakehouse.arrivals import ARRIVALS
from lakehouse.batches import coverage
from lakehouse.control import ControlBoundary, control_boundary
from lakehouse.errors import NothingToCompare
from lakehouse.identity import live_epoch, noted
from lakehouse.lake import Lake
from lakehouse.log import position
from lakehouse.savepoints import savepoints
from lakehouse.terms import at_log
from lakehouse.versions import consumed, is_replaying, live_number, numbers
from transformations.result import Result


def needed_since(lake: Lake, result: Result) -> dict[int, int]:
    """For each epoch of a version that a savepoint names, the earliest log version at which its view may be asked for."""
    found: dict[int, int] = {}
    for savepoint in savepoints(lake):
        if (at := savepoint.streams.get(result.id)) is not None:
            found[at.epoch] = min(at.log_version, found.get(at.epoch, at.log_version))
    return found


def anchors(lake: Lake, table: str) -> set[int]:
    """The versions of a table at which something stands that may last longer than the horizon.

    Of the log these are where versions begin, where the steps of a replay have computed, where streams, batch runs, the
    control and savepoints stand; of a changelog, where savepoints do.
    """
    if table == lake.of_log(ARRIVALS):
        return {version for version in _standing(lake) if version > 0}
    saved = (stream for savepoint in savepoints(lake) for stream in savepoint.streams.items())
    return {stream.table_version for name, stream in saved if table == f"kappa_{name}"}


def _standing(lake: Lake) -> Iterator[int]:
    for result in _versions(lake):
        if at_log(lake, result).log != lake.log:
            continue
        yield at_log(lake, result).since - 1
        yield from (each.log_version for each in coverage(lake, result))
        if "epoch" in noted(lake, result):
            epoch = live_epoch(lake, result)
            yield from (epoch.since - 1, epoch.history or 0, consumed(lake, result) or 0)
    yield from (reached for _, reached in _readers(lake))
    yield from (each.log_version for each in _control(lake))


def _control(lake: Lake) -> list[ControlBoundary]:
    """Where the control stands, which reads the first log alone."""
    try:
        return [control_boundary(lake)] if lake.log == 1 else []
    except NothingToCompare:
        return []


def _versions(lake: Lake) -> Iterator[Result]:
    for name, declared in lake.pipeline.catalogue().items():
        yield from (replace(declared, version=number) for number in numbers(lake, name))


def readers_behind(lake: Lake, version: int) -> list[str]:
    """Who has yet to read the log up to `version`, commit by commit: live versions, replays and savepoints."""
    events = position(lake, version).version
    return [reader for reader, reached in _readers(lake) if reached < events]


def _readers(lake: Lake) -> Iterator[tuple[str, int]]:
    """Who reads this log, each with the version that it has read."""
    for result in _versions(lake):
        live = result.version == live_number(lake, result.name) and "epoch" in noted(lake, result)
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
