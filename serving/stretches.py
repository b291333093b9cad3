"""Stretches of a batch table: windows that were computed at one version of the log, and until when they were settled then.

A table of the batch layer is the work of several runs, each at its own version. Whether a row is settled follows from the
version that it was computed at: a window that straddled the end of a nightly run was in flight, however late the next night
is. The same decides from which layer the Lambda view takes a row.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timedelta

from lakehouse.batches import Coverage, stretches
from transformations.durations import to_millis
from transformations.result import Result


@dataclass(frozen=True)
class Stretch:
    """The windows that start in `[first, end)`, unbounded where none is given; those that ended by then are settled."""

    first: datetime | None
    end: datetime | None
    log_version: int
    settled_before: datetime


def settled_stretches(runs: Sequence[Coverage], allowed: timedelta) -> list[Stretch]:
    """What the runs have computed, in the order of event time; neighbours of one version are one stretch."""
    found: list[Stretch] = []
    for interval, run in stretches(runs):
        if run is None or run.high_water is None:
            continue
        last = found[-1] if found else None
        if last is not None and last.end == interval.first and last.log_version == run.log_version:
            found[-1] = replace(last, end=interval.end)
        else:
            found.append(Stretch(interval.first, interval.end, run.log_version, run.high_water - allowed))
    return found


def contiguous(found: Sequence[Stretch]) -> list[Stretch]:
    """Those from the beginning of time to the first that is missing, or was not settled up to its end."""
    kept: list[Stretch] = []
    for each in found:
        if each.first != (kept[-1].end if kept else None):
            break
        kept.append(each)
        if each.end is None or each.settled_before < each.end:
            break
    return kept


def settled_throughout(result: Result, found: Sequence[Stretch]) -> datetime:
    """Until when every row that was computed is settled, whichever run computed it.

    A stretch whose last window was over when it was computed holds nothing that was in flight. A session may be of any length.
    """
    reach = sum(result.window.durations.values(), result.window.settles_after)
    in_flight = [
        each.settled_before
        for each in found
        if each.end is None or not result.window.ends_by_itself or each.settled_before < each.end + reach
    ]
    return min(in_flight) if in_flight else max(each.settled_before for each in found)


def settled_when_computed(result: Result, found: Sequence[Stretch]) -> str:
    """Whether a row of the batch layer was settled at the version that it was computed at. SQL for Spark and DuckDB."""
    if result.window.endless:
        return "true"
    return _any([_settled(result, each) for each in found])


def taken_from_batch(result: Result, found: Sequence[Stretch]) -> str:
    """Whether the batch layer answers for a row in the Lambda view. SQL for Spark and DuckDB.

    What has no end is never behind the cut-off. Where the ends are not fixed, a row can grow across the edge of a stretch:
    the run on one side would know nothing of it, and the run on the other side only a part.
    """
    if result.window.endless:
        return "false"
    whole = not result.window.ends_by_itself
    within = [
        [_settled(result, each), *([_ends_by(each.end)] if whole and each.end is not None else [])] for each in found
    ]
    return _any([" and ".join(each) for each in within])


def _settled(result: Result, stretch: Stretch) -> str:
    start = "unix_millis(window_start)"
    conditions = [] if stretch.first is None else [f"{start} >= {to_millis(stretch.first)}"]
    if stretch.end is not None:
        conditions.append(f"{start} < {to_millis(stretch.end)}")
    return " and ".join([*conditions, _ends_by(stretch.settled_before - result.window.settles_after)])


def _ends_by(moment: datetime) -> str:
    return f"unix_millis(window_end) <= {to_millis(moment)}"


def _any(conditions: Sequence[str]) -> str:
    return f"({' or '.join(f'({each})' for each in conditions)})" if conditions else "false"
