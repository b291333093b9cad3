"""What the commits of a part of the log say of its events, so that nobody has to read rows to know it."""

from dataclasses import dataclass
from datetime import datetime, timedelta

from lakehouse.arrivals import ARRIVALS
from lakehouse.commits import commits, has_commit
from lakehouse.lake import Lake
from transformations.durations import from_millis


@dataclass(frozen=True)
class LogSummary:
    """The events of some commits: how many, from when to when, and the most that one of them is behind its mark."""

    events: int = 0
    least: datetime | None = None
    greatest: datetime | None = None
    behind: timedelta | None = None

    def may_have_late(self, allowed: timedelta) -> bool:
        """Whether an event can be late: none is that is behind its mark by less than what is allowed."""
        return self.behind is not None and self.behind >= allowed

    def may_have_ended(self, bound: datetime) -> bool:
        """Whether an event can be of a window that had ended by the bound: none is that happened at it or later."""
        return self.least is not None and self.least < bound


def log_summary(lake: Lake, after: int, version: int) -> LogSummary | None:
    """The events of the versions `(after, version]`; none if a commit among them does not say it, or is gone."""
    if not has_commit(lake, lake.of_log(ARRIVALS), after + 1):
        return None
    events, least, greatest, behind = 0, list[int](), list[int](), list[int]()
    for said in commits(lake, lake.of_log(ARRIVALS)):
        if said["version"] <= after:
            break
        if said["version"] > version or "seq" not in said:
            continue
        own = said.get("of_commit")
        if own is None:
            return None
        if own["events"]:
            events += own["events"]
            least.append(own["least"])
            greatest.append(own["greatest"])
            behind.append(own["behind"])
    if not events:
        return LogSummary()
    return LogSummary(events, from_millis(min(least)), from_millis(max(greatest)), timedelta(milliseconds=max(behind)))
