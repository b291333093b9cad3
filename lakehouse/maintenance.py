"""Maintenance: the lake stays small and quick to read, and nothing goes that somebody still needs.

    parity maintain --lake LAKE

It folds superseded revisions (`folding`), makes few files of many and removes those beyond the horizon (`compaction`).
The streams and the ingestion go on meanwhile: each commit is made under the lock of its table, which they take as well.
A second run finds nothing to do.
"""

from collections.abc import Iterator
from dataclasses import dataclass, replace

from pyspark.sql import SparkSession

from lakehouse.arrivals import ARRIVALS
from lakehouse.batches import batch_name
from lakehouse.changelogs import changelog_name
from lakehouse.commits import last_maintenance
from lakehouse.compaction import compact, has_expired_files, live_files, maintenance_session, vacuum
from lakehouse.control import legacy_name
from lakehouse.folding import fold
from lakehouse.identity import noted
from lakehouse.lake import Lake
from lakehouse.locks import exclusive
from lakehouse.log import logs, newest_version
from lakehouse.needs import anchors, readers_behind
from lakehouse.settings import Settings
from lakehouse.terms import at_log
from lakehouse.versions import as_noted, is_replaying, numbers
from transformations.result import Result


@dataclass(frozen=True)
class Upkeep:
    """What was done to a table. Files that may go but are `needed_by` somebody stay."""

    table: str
    files_before: int
    files_after: int
    rows_folded: int = 0
    files_vacuumed: int = 0
    needed_by: tuple[str, ...] = ()


def maintain(spark: SparkSession, lake: Lake, settings: Settings) -> Iterator[Upkeep]:
    """Maintain one table after the other, the log first."""
    newest_version(lake)
    session = maintenance_session(spark)
    with exclusive(spark, lake.lock_file("maintain"), wait=False):
        for number in logs(lake):
            log = replace(lake, log=number)
            yield _log_kept(session, log)
        for result in _versions(lake):
            yield from _version_kept(session, at_log(lake, result), result, settings)


def _versions(lake: Lake) -> list[Result]:
    return [
        replace(each, version=number)
        for each in lake.pipeline.catalogue().values()
        for number in numbers(lake, each.name)
    ]


def _version_kept(session: SparkSession, lake: Lake, result: Result, settings: Settings) -> Iterator[Upkeep]:
    """The tables of a version; one that is being replayed is left alone until it has caught up."""
    if is_replaying(lake, result):
        return
    own, given = as_noted(lake, result, settings)
    if "epoch" in noted(lake, result) and lake.has(changelog_name(own)):
        yield _changelog_kept(session, lake, own, given)
    for name in (batch_name(own), legacy_name(own)):
        if lake.has(name):
            yield _vacuumed(session, lake, name)


def _log_kept(session: SparkSession, lake: Lake) -> Upkeep:
    """The log waits for those that have yet to read what the last compaction replaced.

    So its vacuum comes before its compaction: a stream that runs is past the last one, and hardly ever past a new one.
    """
    name = lake.of_log(ARRIVALS)
    behind = readers_behind(lake, last_maintenance(lake, name)) if has_expired_files(session, lake, name) else []
    if behind:
        return replace(_compacted(session, lake, name), needed_by=tuple(behind))
    return _kept(session, lake, name)


def _changelog_kept(session: SparkSession, lake: Lake, result: Result, settings: Settings) -> Upkeep:
    name = changelog_name(result)
    files = len(live_files(session, lake, name))
    folded = fold(session, lake, result, settings)
    return replace(_kept(session, lake, name), files_before=files, rows_folded=folded)


def _kept(session: SparkSession, lake: Lake, name: str) -> Upkeep:
    vacuumed = _vacuumed(session, lake, name).files_vacuumed
    return replace(_compacted(session, lake, name), files_vacuumed=vacuumed)


def _compacted(session: SparkSession, lake: Lake, name: str) -> Upkeep:
    before = len(live_files(session, lake, name))
    compact(session, lake, name, anchors=anchors(lake, name))
    return Upkeep(name, before, len(live_files(session, lake, name)))


def _vacuumed(session: SparkSession, lake: Lake, name: str) -> Upkeep:
    files = len(live_files(session, lake, name))
    gone = vacuum(session, lake, name) if has_expired_files(session, lake, name) else 0
    return Upkeep(name, files, files, files_vacuumed=gone)
