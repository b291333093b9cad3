"""One micro-batch of a stream: the engine's rows and the repairs of its slice of the log, in one append.

Which slice it is, and which rows the engine drops in it, is read from the checkpoint: Spark writes that down before the
micro-batch runs, so it is the same for every attempt. What the append says of itself is what later micro-batches, views and the
reconciliation go by.
"""

from dataclasses import dataclass
from datetime import datetime
from functools import reduce

from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from lakehouse.appends import FEW, Appender, Counts
from lakehouse.arrivals import ARRIVALS
from lakehouse.changelogs import boundaries, mark, settled_before
from lakehouse.checkpoints import consumed_version, dropped_until, watermark
from lakehouse.clock import Clock
from lakehouse.commits import has_commit
from lakehouse.failpoints import failpoint
from lakehouse.identity import Epoch, refuse_stale
from lakehouse.lake import Lake
from lakehouse.log import position, refuse_compacted
from lakehouse.log_files import LogFiles
from lakehouse.runs import Run
from lakehouse.settings import Settings
from lakehouse.tables import Transaction, no_rows
from lakehouse.terms import settings_fingerprint
from speed_layer.repair import Slice, open_repairs_before, repaired
from transformations.changelog import Cause, Stamp, changelog_schema, folded, stamped
from transformations.durations import to_millis
from transformations.result import Result


@dataclass(frozen=True)
class Writing:
    """What the micro-batches of one query have in common."""

    lake: Lake
    result: Result
    epoch: Epoch
    settings: Settings
    cost: Run
    clock: Clock
    code: str
    """The fingerprint of the result's code when the query began."""
    changelog: Appender
    log: LogFiles

    @property
    def from_history(self) -> datetime | None:
        """Until when the static steps of a replay have settled results, if there were any."""
        if self.epoch.history is None:
            return None
        return settled_before(mark(self.lake, self.epoch.history), self.settings.lateness.allowed)


def append_revisions(rows: DataFrame, batch: int, of: Writing) -> int | None:
    """Append a micro-batch once. Returns of how many results the engine must have dropped rows; none if that is not known."""
    spark, result = rows.sparkSession, of.result
    failpoint(spark, "stream.begun", result.name, batch)
    covered, arrived = _covered(batch, of)
    transaction = Transaction(of.epoch.app_id, batch)
    if covered is None or of.changelog.has(transaction):
        # The engine's frame has to be consumed all the same, or the state store finds its commit missing and the query dies.
        if result.way == "engine":
            rows.write.format("noop").mode("overwrite").save()
        failpoint(spark, "stream.appended", result.name, batch)
        return 0 if covered is None else _drops(covered, _repairs_of(batch, of), of)
    stamp = Stamp(
        log_version=covered.version,
        high_water=covered.high_water,
        allowed=of.settings.lateness.allowed,
        epoch=of.epoch.number,
        batch=batch,
        written_at=of.clock(),
        fingerprint=of.code,
    )
    parts: dict[Cause, DataFrame] = {}
    if result.way == "engine":
        parts["on_time"] = _own(folded(rows, result), of)
    found = repaired(spark, of.log, result, of.settings, covered)
    if found is not None:
        parts["late" if result.way == "engine" else "recompute"] = found
    said, repairs = _said(covered, of), 0

    def metadata(counts: Counts) -> dict[str, int | str | None]:
        nonlocal repairs
        own = _counted(counts)
        repairs = own["late"]
        # Without news nothing is repaired, and what was open stays open.
        kept = {} if covered.has_news else {"open_repairs": open_repairs_before(of.lake, result, covered)}
        return {**said, **own, **kept}

    stamped_parts = [stamped(part, result, stamp, cause=cause) for cause, part in parts.items()]
    of.cost.rows_written += of.changelog.append(
        reduce(DataFrame.unionByName, stamped_parts or [no_rows(spark, changelog_schema(result))]),
        few=arrived <= FEW,
        transaction=transaction,
        metadata=metadata,
        check=lambda: refuse_stale(of.lake, result, of.epoch),
        written=lambda: failpoint(spark, "stream.computed", result.name, batch),
    )
    failpoint(spark, "stream.appended", result.name, batch)
    if found is not None:
        found.unpersist()
    return _drops(covered, repairs, of)


def refuse_lost(lake: Lake, result: Result, *, since: int) -> None:
    """Refuse a stream that would go on with commits of the log that are gone."""
    if result.window.endless:
        instead = "Its rows go on for ever, so it needs them all: ingest the landing files into a new lake."
    else:
        replayed = f"parity replay --lake {lake.path} --result {result.name} --way steps"
        instead = f"`{replayed}` reads the log as a whole up to its open edge."
    refuse_compacted(lake, f"The stream of {result.id}", since=since, instead=instead)


def _covered(batch: int, of: Writing) -> tuple[Slice | None, int]:
    """The slice of a micro-batch, none while the log is empty; and how many events it has for the engine."""
    lake, result, epoch = of.lake, of.result, of.epoch
    consumed = (consumed_version(epoch.checkpoint, each) for each in (batch - 1, batch))
    # A commit of maintenance has no events. A micro-batch that ends there stands at the last commit that has some.
    previous, version = (position(lake, max(each, epoch.since - 1)).version for each in consumed)
    if not has_commit(lake, lake.of_log(ARRIVALS), previous + 1):  # removed since the start, or not written yet
        refuse_lost(lake, result, since=max(previous + 1, epoch.since))
    at = position(lake, version)
    arrived = at.seq - position(lake, previous).seq
    if epoch.history is not None and (result.way == "recompute" or not result.window.reopens):
        # The steps have computed all that was there; what a row was late for was settled there, late row and all. A late
        # row can bear upon an open session, though, which the steps have not.
        previous = max(previous, min(epoch.history, version))
    if at.high_water is None:
        return None, arrived
    bound = None
    if of.settings.lateness.hold_of(result) is not None:
        # Of what the steps have settled the engine has seen a part at most.
        bound = max(dropped_until(epoch.checkpoint, batch), of.from_history or dropped_until(epoch.checkpoint, 0))
    return Slice(epoch, batch, previous, version, at.high_water, bound), arrived


def _said(covered: Slice, of: Writing) -> dict[str, int | str]:
    """What the append says of the micro-batch, beside its counts."""
    result, epoch = of.result, of.epoch
    said: dict[str, int | str] = {"epoch": epoch.number, "batch": covered.batch, "log_version": covered.version}
    said |= {"code": of.code, "settings": settings_fingerprint(of.lake, result, of.settings)}
    if epoch.history is not None:
        said["history"] = epoch.history
    if result.way == "engine" and result.window.mode == "append":
        said["watermark"] = to_millis(watermark(epoch.checkpoint, covered.batch))
    if covered.bound is not None:
        said["bound"] = to_millis(covered.bound)
    return said


def _counted(counts: Counts) -> dict[str, int]:
    """How many revisions of each cause a commit has, and how many repairs of what is not settled."""
    causes = ("on_time", "late", "recompute")
    by_cause = {cause: sum(count for (own, _), count in counts.items() if own == cause) for cause in causes}
    return {**by_cause, "open_repairs": counts.get(("late", False), 0)}


def _drops(covered: Slice, repairs: int | None, of: Writing) -> int | None:
    """Of how many results the engine must have dropped rows, where so many were repaired.

    An engine that gets no late row drops none. What the steps of a replay have settled is repaired whether the engine has
    dropped rows of it or not, so until the engine's own bound is beyond that, the two cannot be compared.
    """
    if covered.bound is None:
        return 0
    history = of.from_history
    if history is not None and dropped_until(of.epoch.checkpoint, covered.batch) <= history:
        return None
    return repairs


def _repairs_of(batch: int, of: Writing) -> int | None:
    """How many results a micro-batch has repaired that was appended before, as far as its commit is known."""
    found = (each for each in boundaries(of.lake, of.result, of.epoch) if each.batch == batch)
    return next((each.repairs for each in found), None)


def _own(rows: DataFrame, of: Writing) -> DataFrame:
    """The engine's rows without those that were settled when it began: it has seen only a part of what they are made of."""
    history = of.from_history
    return rows if history is None else rows.where(~of.result.settled(F.lit(history)))
