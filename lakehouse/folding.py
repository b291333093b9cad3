"""Folding: what a changelog says more than once about results that are settled since long, it says once.

A changelog grows with every revision of a result; a view needs the last one. So far back that nobody asks how the answer
came about (`[retention] revisions`), the superseded ones go. From the log version F on, up to which a changelog has been
folded, every view is what it was. An earlier one is refused.
"""

import json
import math
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F

from lakehouse.arrivals import ARRIVALS
from lakehouse.carrying import carried_on
from lakehouse.changelogs import Boundary, boundaries, boundary, changelog_name, folded_until, mark, settled_before
from lakehouse.commits import commits, newest
from lakehouse.compaction import FULL, live_files, properties, saying
from lakehouse.identity import Epoch, live_epoch
from lakehouse.lake import Lake
from lakehouse.locks import exclusive
from lakehouse.log import position
from lakehouse.needs import anchors, needed_since
from lakehouse.settings import Settings
from lakehouse.tables import read_table
from transformations.changelog import unsuperseded
from transformations.durations import to_millis
from transformations.result import Result

LEAST_SHARE = 0.1
"""Delta can leave out rows without a sign to its readers only by writing the whole table anew. For less it is not done."""


def fold(session: SparkSession, lake: Lake, result: Result, settings: Settings) -> int:
    """Fold the changelog of a version with its own settings; returns how many rows went.

    Under the table's lock from the first look to the commit: what the stream appended in between would be lost.
    """
    name = changelog_name(result)
    with exclusive(session, lake.lock_file(name), wait=True):
        said = carried_on(lake, name, anchors=anchors(lake, name))
        with saying(session, said):
            _close(session, lake, name)
        epoch = live_epoch(lake, result)
        at = fold_point(lake, result, epoch, settings)
        if at is None or folded_until(lake, result, epoch.number) == at.log_version:
            return 0
        if boundary(lake, result).epoch != epoch.number:
            return 0  # readers see the epoch before, until this one has caught up
        revisions = read_table(session, lake, name, version=newest(lake, name))
        kept = _kept(revisions, lake, result, settings, at).persist()
        before, after = revisions.count(), kept.count()
        if before - after >= LEAST_SHARE * before > 0:
            with saying(session, said), _open_for_changes(session, lake, name):
                _rewrite(session, lake, name, kept, {"folded": at.log_version, "epoch": at.epoch, **said})
        else:
            after = before
        kept.unpersist()
    return before - after


def fold_point(lake: Lake, result: Result, epoch: Epoch, settings: Settings) -> Boundary | None:
    """The newest boundary that is far enough behind the mark of the log, and not later than a savepoint of its epoch."""
    newest_mark = position(lake).high_water
    if newest_mark is None:
        return None
    old = to_millis(newest_mark - settings.retention.revisions)
    marks = ((said["version"], said["high_water"]) for said in commits(lake, lake.of_log(ARRIVALS)))
    until = next((version for version, high_water in marks if high_water is not None and high_water <= old), -1)
    until = min(until, needed_since(lake, result).get(epoch.number, until))
    return next((each for each in boundaries(lake, result, epoch) if each.log_version <= until), None)


def _kept(revisions: DataFrame, lake: Lake, result: Result, settings: Settings, at: Boundary) -> DataFrame:
    """The revisions that stay; those of an epoch that a rebuild has replaced go, unless a savepoint names it."""
    dead = (F.col("epoch") < at.epoch) & (F.col("log_version") <= at.log_version)
    dead &= ~F.col("epoch").isin(list(needed_since(lake, result)))
    before = settled_before(mark(lake, at.log_version), settings.lateness.allowed, at)
    return unsuperseded(
        revisions.where(~dead), result, epoch=at.epoch, log_version=at.log_version, settled_before=before
    )


def _rewrite(session: SparkSession, lake: Lake, name: str, rows: DataFrame, said: Mapping[str, Any]) -> None:
    """The whole table anew in one commit. It says that no data changed, so a stream that reads the table goes on."""
    files = math.ceil(sum(file.stat().st_size for file in live_files(session, lake, name)) / FULL)
    ordered = rows.repartitionByRange(max(files, 1), "window_start").sortWithinPartitions("window_start")
    writer = ordered.write.format("delta").mode("overwrite").option("dataChange", "false")
    writer.option("userMetadata", json.dumps(said)).save(lake.table(name))


@contextmanager
def _open_for_changes(session: SparkSession, lake: Lake, name: str) -> Iterator[None]:
    """A changelog is append-only for everybody; whoever holds its lock may make an exception for a moment."""
    _set_append_only(session, lake, name, False)
    try:
        yield
    finally:
        _set_append_only(session, lake, name, True)


def _close(session: SparkSession, lake: Lake, name: str) -> None:
    """Make the table append-only again if a maintenance was killed before it could."""
    if properties(session, lake, name).get("delta.appendOnly") != "true":
        _set_append_only(session, lake, name, True)


def _set_append_only(session: SparkSession, lake: Lake, name: str, value: bool) -> None:
    table = lake.table(name).replace("`", "``")
    session.sql(f"alter table delta.`{table}` set tblproperties ('delta.appendOnly' = '{str(value).lower()}')")
