"""The what-if: a version of a result with other settings judged beside the live one.

    parity what-if --lake LAKE --set windows.door_counts.size="5 minutes" --set lateness.allowed="30 seconds"

The command replays the log into a scratch lake. Here is what it reports: the reconciliation between the two versions,
what `parity lateness` says of both, and what the replay took.
"""

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from datetime import timedelta
from typing import Any

from pyspark.sql import SparkSession

from lakehouse.changelogs import changelog_name
from lakehouse.errors import NothingToCompare
from lakehouse.identity import noted
from lakehouse.lake import Lake
from lakehouse.log import position
from lakehouse.runs import Run
from lakehouse.settings import Settings
from lakehouse.terms import at_log, given_settings
from lakehouse.versions import as_noted, at_live, size_of
from reconciliation.changes import VersionComparison
from reconciliation.lateness import lateness_choice
from reconciliation.versions import versions_compared
from transformations.result import Result


@dataclass(frozen=True)
class Waiting:
    """What an allowed lateness means for a result: events that come too late, rows that are repaired, the wait for a row."""

    rows: int
    late_events: int
    repaired: int
    median_wait: timedelta | None
    p99_wait: timedelta | None

    def as_dict(self) -> dict[str, Any]:
        waits = {"median_wait": self.median_wait, "p99_wait": self.p99_wait}
        seconds = {name: None if wait is None else wait.total_seconds() for name, wait in waits.items()}
        return {**asdict(self), **seconds}


@dataclass(frozen=True)
class Trial:
    """One result as it would be: against the live one, in rows, in waits, and in what it took.

    The waits are none for a result that no row can be late for.
    """

    comparison: VersionComparison
    live: Waiting | None
    tried: Waiting | None
    events: int
    cpu_seconds: float
    wall_seconds: float
    live_bytes: int
    tried_bytes: int

    def as_dict(self) -> dict[str, Any]:
        waits = {"live": self.live, "tried": self.tried}
        told = {name: None if each is None else each.as_dict() for name, each in waits.items()}
        return {**vars(self), "comparison": self.comparison.as_dict(), **told}


def changed_results(lake: Lake, results: Sequence[Result], settings: Settings) -> list[Result]:
    """Those of `results` whose live version is computed with other settings than these; one that never ran is left out."""
    found = []
    for result in results:
        live = at_live(lake, result)
        known = noted(lake, live).get("settings")
        wanted = given_settings(at_log(lake, live), live, settings)
        if known is not None and any(known.get(name, value) != value for name, value in wanted.items()):
            found.append(result)
    return found


def trial(
    spark: SparkSession, lake: Lake, live: Result, new: Result, settings: Settings, *, cost: Sequence[Run]
) -> Trial:
    """The new version, replayed with `settings` at this `cost`, against the live one."""
    read, (own, given) = at_log(lake, new), as_noted(lake, live, settings)
    return Trial(
        comparison=versions_compared(spark, lake, live, new, settings),
        live=_waiting(spark, read, own, given.lateness.allowed),
        tried=_waiting(spark, read, new, settings.lateness.allowed),
        events=position(read).seq - position(read, read.since - 1).seq,
        cpu_seconds=round(sum(run.cpu_seconds for run in cost), 1),
        wall_seconds=round(sum(run.wall_seconds for run in cost), 1),
        live_bytes=size_of(lake, changelog_name(live)),
        tried_bytes=size_of(lake, changelog_name(new)),
    )


def _waiting(spark: SparkSession, lake: Lake, result: Result, allowed: timedelta) -> Waiting | None:
    try:
        choice = lateness_choice(spark, lake, [result], position(lake).version, allowed)
    except NothingToCompare:
        return None
    now = choice.current
    return Waiting(choice.rows, now.late_events, now.repaired, now.median_wait, now.p99_wait)
