"""The table `kappa_<result>`: how far the stream has come in it, and the view as of a version of the log."""

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime, timedelta

from pyspark.sql import DataFrame, SparkSession

from lakehouse.commits import commits, lasting
from lakehouse.errors import NothingToCompare
from lakehouse.identity import Epoch, live_epoch
from lakehouse.identity import changelog_name as changelog_name  # the table's name is known there, and asked for here
from lakehouse.lake import Lake
from lakehouse.log import position
from lakehouse.table_files import TableFiles, read_files, table_files
from transformations.changelog import kappa_view, written_until
from transformations.durations import from_millis
from transformations.result import Result

_NEVER = from_millis(0)


@dataclass(frozen=True)
class Boundary:
    """A version of the log at which a micro-batch of the stream ended, and the version of the changelog that holds it.

    It names its epoch, so that everything read at it is of one, also if a rebuild begins meanwhile. An engine that tells
    a result once has told those up to its `watermark`, which is behind the mark of the log; others have none. What was
    settled at log version `history` does not come from the engine, if there is one. `open_repairs` are the repairs in it of
    what was not settled, `repairs` all of them; none if that is not known. An engine that gets late rows has dropped those of
    windows that ended at or before `bound`; others have none.
    """

    epoch: int
    batch: int
    log_version: int
    table_version: int
    watermark: datetime | None = None
    history: int | None = None
    open_repairs: int | None = None
    repairs: int | None = None
    bound: datetime | None = None

    @property
    def reached(self) -> tuple[int, datetime]:
        """How far it is: in the log, and of one version of it, in what the engine has told."""
        return self.log_version, self.watermark or _NEVER


def boundaries(lake: Lake, result: Result, epoch: Epoch) -> list[Boundary]:
    """The boundaries of the epoch, newest first."""
    return [each for each in every_boundary(lake, result) if each.epoch == epoch.number]


def boundary(lake: Lake, result: Result, log_version: int | None = None) -> Boundary:
    """The newest boundary of the epoch that readers see, at or before `log_version` if that is given."""
    served = served_boundaries(lake, result, log_version)
    if log_version is not None and served:
        _refuse_folded(lake, result, served[0].epoch, log_version)
    for each in served:
        if log_version is None or each.log_version <= log_version:
            return each
    asked = "" if log_version is None else f" at or before log version {log_version}"
    raise NothingToCompare(
        f"The stream of {result.id} has written nothing{asked} in {lake.path}. Run `parity stream` first."
    )


def served_boundaries(lake: Lake, result: Result, log_version: int | None = None) -> list[Boundary]:
    """The boundaries of the newest epoch that has come as far as any before it, or as far as `log_version`.

    An epoch that begins anew has nothing to show at first. Until it has caught up, the one before answers.
    """
    live = live_epoch(lake, result)
    by_epoch: dict[int, list[Boundary]] = {}
    for each in every_boundary(lake, result):
        if each.epoch <= live.number:
            by_epoch.setdefault(each.epoch, []).append(each)
    reached = {number: found[0].reached for number, found in by_epoch.items()}
    asked = max(reached.values(), default=(0, _NEVER))
    if log_version is not None:
        asked = min(asked, (log_version, _NEVER))
    return next((by_epoch[number] for number in sorted(by_epoch, reverse=True) if reached[number] >= asked), [])


def every_boundary(lake: Lake, result: Result) -> Iterator[Boundary]:
    """The boundaries of all epochs, newest first."""
    name = changelog_name(result)
    for said in commits(lake, name) if lake.has(name) else ():
        if "batch" in said:
            yield Boundary(
                said["epoch"],
                said["batch"],
                said["log_version"],
                said["version"],
                _moment(said.get("watermark")),
                said.get("history"),
                said.get("open_repairs"),
                None if "restored" in said else said.get("late"),  # that commit counts those of earlier ones too
                _moment(said.get("bound")),
            )


def _refuse_folded(lake: Lake, result: Result, epoch: int, log_version: int) -> None:
    folded = folded_until(lake, result, epoch)
    if folded is not None and log_version < folded:
        raise NothingToCompare(
            f"What the stream of {result.id} said at log version {log_version} is no longer known: in {lake.path} its "
            f"superseded revisions up to log version {folded} have been folded. Ask at log version {folded} or later."
        )


def folded_until(lake: Lake, result: Result, epoch: int) -> int | None:
    """The log version as of which the superseded revisions of an epoch have been folded; views from there on are whole."""
    said = (commit for commit in commits(lake, changelog_name(result)) if "folded" in commit)
    return next((commit["folded"] for commit in said if commit["epoch"] == epoch), None)


def read_changelog(spark: SparkSession, lake: Lake, result: Result, at: Boundary) -> DataFrame:
    """The revisions up to a boundary; where the table has been maintained since, without what came later."""
    kept = lasting(lake, changelog_name(result), at.table_version)
    revisions = read_files(spark, lake, changelog_name(result), version=kept)
    if kept == at.table_version:
        return revisions
    return revisions.where(written_until(at.epoch, at.batch))


def changelog_files(lake: Lake, result: Result, at: Boundary) -> TableFiles:
    """The files of the revisions up to a boundary; after a maintenance they have what came later too."""
    name = changelog_name(result)
    return table_files(lake, name, version=lasting(lake, name, at.table_version))


def read_kappa(spark: SparkSession, lake: Lake, result: Result, at: Boundary) -> DataFrame:
    """The answer of the stream at a boundary, with the stamps of the rows that give it."""
    return kappa_view(read_changelog(spark, lake, result, at), result, epoch=at.epoch, log_version=at.log_version)


def settled_before(high_water: datetime, allowed: timedelta, at: Boundary | None = None) -> datetime:
    """Results that end until then are settled: the mark less the allowed lateness, or as far as the engine has told."""
    before = high_water - allowed
    return before if at is None or at.watermark is None else min(before, at.watermark)


def _moment(millis: int | None) -> datetime | None:
    return None if millis is None else from_millis(millis)


def mark(lake: Lake, log_version: int) -> datetime:
    """The high-water mark at a version of the log that has events."""
    found = position(lake, log_version).high_water
    if found is None:
        raise NothingToCompare(f"The log of {lake.path} is empty at version {log_version}. Run `parity ingest` first.")
    return found
