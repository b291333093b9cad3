"""Where a lake stands: the log, and how far each layer is behind it. Read from the commits alone, without Spark."""

from collections.abc import Iterator, Sequence
from typing import Any

from lakehouse.arrivals import ARRIVALS
from lakehouse.batches import coverage
from lakehouse.changelogs import boundary, changelog_name
from lakehouse.commits import commits, committed_at
from lakehouse.control import CONTROL, control_boundary
from lakehouse.errors import NothingToCompare
from lakehouse.lake import Lake
from lakehouse.log import Position, position
from lakehouse.terms import at_log
from transformations.durations import iso
from transformations.result import Result


def lake_status(lake: Lake, results: Sequence[Result]) -> dict[str, Any]:
    """The position of the log and of every layer, as plain data."""
    log = position(lake)
    layers = [each for result in results for each in _layers(at_log(lake, result), result)]
    if lake.has(CONTROL):
        layers.append(_standing("legacy", "all", _legacy_version(lake), lake, log))
    return {
        "lake": str(lake.path),
        "log": {
            "version": log.version,
            "events": log.seq,
            "duplicates": log.duplicates,
            "quarantined": log.quarantined,
            "high_water": None if log.high_water is None else iso(log.high_water),
        },
        "layers": layers,
    }


def _layers(lake: Lake, result: Result) -> Iterator[dict[str, Any]]:
    log = position(lake)
    yield _kappa(lake, result, log)
    yield _batch(lake, result, log)


def _kappa(lake: Lake, result: Result, log: Position) -> dict[str, Any]:
    """The stream as readers see it: while a new epoch catches up, the one before answers, and it is told of that one."""
    try:
        at = boundary(lake, result)
    except NothingToCompare:
        return _standing("kappa", result.id, None, lake, log)
    return _standing("kappa", result.id, at.log_version, lake, log, **_revisions(lake, result, at.epoch))


def _revisions(lake: Lake, result: Result, epoch: int) -> dict[str, Any]:
    said = [commit for commit in commits(lake, changelog_name(result)) if commit["epoch"] == epoch]
    on_time, late, recomputed = (
        sum(commit.get(cause, 0) for commit in said) for cause in ("on_time", "late", "recompute")
    )
    return {"epoch": epoch, "engine_rows": on_time, "repairs": late, "recomputed": recomputed}


def _batch(lake: Lake, result: Result, log: Position) -> dict[str, Any]:
    runs = coverage(lake, result)
    return _standing("batch", result.id, runs[0].log_version if runs else None, lake, log)


def _legacy_version(lake: Lake) -> int | None:
    try:
        return control_boundary(lake).log_version
    except NothingToCompare:
        return None


def _standing(layer: str, result: str, version: int | None, lake: Lake, log: Position, **more: Any) -> dict[str, Any]:
    """One layer: the log version it has consumed, how far that is behind the log, and when it was the newest."""
    common: dict[str, Any] = {"layer": layer, "result": result, "log_version": version}
    if version is None:
        return {**common, "lag_versions": None, "lag_events": None, "logged_at": None, **more}
    behind = {"lag_versions": log.version - version, "lag_events": log.seq - position(lake, version).seq}
    return {**common, **behind, "logged_at": iso(committed_at(lake, lake.of_log(ARRIVALS), version)), **more}
