"""The one version of the log at which two sides are compared, and what is settled there."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Literal

from pyspark.sql import DataFrame, SparkSession

from lakehouse.changelogs import Boundary, boundary, mark, read_kappa, settled_before
from lakehouse.control import ControlBoundary, control_boundary, read_legacy
from lakehouse.errors import NothingToCompare
from lakehouse.lake import Lake
from transformations.result import Result

Candidate = Literal["kappa", "legacy"]


@dataclass(frozen=True)
class Pin:
    """The newest boundary that the candidate has consumed, or the newest at or before the version that was asked for."""

    candidate: Candidate
    log_version: int
    high_water: datetime
    boundary: Boundary | ControlBoundary

    def settled_before(self, allowed: timedelta) -> datetime:
        """Results that end until then are settled on both sides."""
        own = self.boundary if isinstance(self.boundary, Boundary) else None
        return settled_before(self.high_water, allowed, own)


def pin(lake: Lake, result: Result, candidate: Candidate, log_version: int | None = None) -> Pin:
    if candidate == "kappa":
        at = boundary(lake, result, log_version)
        return Pin(candidate, at.log_version, mark(lake, at.log_version), at)
    if lake.log != 1:
        raise NothingToCompare(f"The control reads the first log, {result.id} is computed from log {lake.log}.")
    arrived = control_boundary(lake)
    if log_version is not None and arrived.log_version != log_version:
        raise NothingToCompare(
            f"The control keeps no history: it stands at log version {arrived.log_version}, not {log_version}. "
            "Leave --log-version out."
        )
    return Pin(candidate, arrived.log_version, mark(lake, arrived.log_version), arrived)


def controlled(lake: Lake, results: Sequence[Result]) -> list[Result]:
    """Those of `results` that the control is judged on."""
    return [result for result in results if result.name in lake.pipeline.story.controlled] or list(results[:1])


def candidate_rows(spark: SparkSession, lake: Lake, result: Result, at: Pin) -> DataFrame:
    """The candidate's answer at the pin."""
    if isinstance(at.boundary, Boundary):
        return read_kappa(spark, lake, result, at.boundary)
    return read_legacy(spark, lake, result, at.boundary)
