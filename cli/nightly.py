"""What a nightly run of the batch layer covers, and which days it may publish. No clock decides about either.

A day is published when the mark has passed it, so that nothing in time can change it any more. What the batch layer has
settled without a gap, the cut-off of the Lambda view, says where a run has to begin: at the first day that is not settled
yet, however long the log stood still, and never later than the day before, which late events may have changed.
"""

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from datetime import UTC, datetime, timedelta
from typing import Any

from lakehouse.batches import coverage
from lakehouse.lake import Lake
from lakehouse.log import position
from lakehouse.settings import Settings
from lakehouse.terms import at_log
from lakehouse.versions import as_noted
from serving.stretches import contiguous, settled_stretches
from transformations.durations import iso
from transformations.result import Result

DAY = timedelta(days=1)


@dataclass(frozen=True)
class Nightly:
    """The interval `[first, to)` to recompute, with no `first` for everything before `to`, and the days to publish."""

    first: str | None
    to: str
    publish: list[str]

    def as_dict(self) -> dict[str, Any]:
        return asdict(self)


def nightly(lake: Lake, results: Sequence[Result], settings: Settings, day: datetime, log_version: int) -> Nightly:
    """The run for the day of event time that begins at `day`, at this version of the log."""
    own = [as_noted(lake, result, settings) for result in results]
    windowed = [(result, given) for result, given in own if not result.window.endless]
    settled = [_settled(lake, result, given) for result, given in windowed]
    known = [each for each in settled if each is not None]
    first = min(_midnight(min(known)), day - DAY) if known and len(known) == len(settled) else None
    passed = [_passed(lake, result, given, log_version) for result, given in windowed]
    candidates = _days(first or day - DAY, day)
    return Nightly(
        first=None if first is None else iso(first),
        to=iso(day + DAY),
        publish=[
            f"{each:%Y-%m-%d}" for each in candidates if all(at is not None and each + DAY <= at for at in passed)
        ],
    )


def _settled(lake: Lake, result: Result, settings: Settings) -> datetime | None:
    """Before which moment the windows of a result that start there are settled in the batch layer, without a gap."""
    reached = None
    for each in contiguous(settled_stretches(coverage(lake, result), settings.lateness.allowed)):
        settled = each.settled_before - _reach(result)
        reached = settled if each.end is None else min(each.end, settled)
        if reached != each.end:
            break  # its last windows reach beyond what was settled when it was computed, whatever follows it
    return reached


def _passed(lake: Lake, result: Result, settings: Settings, log_version: int) -> datetime | None:
    """The same in the log: before which moment every window that starts there is settled."""
    mark = position(at_log(lake, result), log_version).high_water
    return None if mark is None else mark - settings.lateness.allowed - _reach(result)


def _reach(result: Result) -> timedelta:
    """How long after its start a window can end and be added to. A session has no such bound: its gap stands for it."""
    return sum(result.window.durations.values(), timedelta())


def _midnight(moment: datetime) -> datetime:
    return moment.astimezone(UTC).replace(hour=0, minute=0, second=0, microsecond=0)


def _days(first: datetime, last: datetime) -> list[datetime]:
    return [first + number * DAY for number in range((last - first) // DAY + 1)]
