"""The choice of the allowed lateness as plain data: the options, which one suits a budget, and that in a sentence."""

from dataclasses import dataclass
from datetime import timedelta
from fractions import Fraction
from typing import Any

from reconciliation.marks import Clock
from reconciliation.words import seconds, share
from transformations.durations import written

BUDGET = Fraction(1, 100)


@dataclass(frozen=True)
class Option:
    """One allowed lateness: the events that are late, the rows of each result that are repaired, and the waits.

    `not_settled` are the rows that the log ends too early for; the waits are of the others, none where there is none.
    """

    allowed: timedelta
    late_events: int
    repairs: dict[str, int]
    not_settled: int
    median_wait: timedelta | None
    p99_wait: timedelta | None

    @property
    def repaired(self) -> int:
        return sum(self.repairs.values())


@dataclass(frozen=True)
class Choice:
    """The options in ascending order: from zero to the first for which nothing is late, and the current one.

    `events` are those that a counted result reads, `results` the rows of each. `budget` is the share of all rows that
    may be repaired.
    """

    log_version: int
    events: int
    results: dict[str, int]
    left_out: dict[str, str]
    options: list[Option]
    current: Option
    budget: Fraction
    clock: Clock

    @property
    def rows(self) -> int:
        return sum(self.results.values())

    @property
    def recommended(self) -> Option:
        """The smallest that keeps to the budget over all results. There is one: the last repairs nothing."""
        return next(each for each in self.options if each.repaired <= self.budget * self.rows)

    def needed(self, result: str) -> Option:
        """The smallest that keeps to the budget for one result alone."""
        return next(each for each in self.options if each.repairs[result] <= self.budget * self.results[result])

    def as_dict(self) -> dict[str, Any]:
        return {
            "log_version": self.log_version,
            "events": self.events,
            "results": {
                name: {"rows": rows, "recommended": written(self.needed(name).allowed)}
                for name, rows in self.results.items()
            },
            "left_out": self.left_out,
            "clock": self.clock,
            "repair_budget": float(self.budget),
            "current": written(self.current.allowed),
            "recommended": written(self.recommended.allowed),
            "options": [self._told(each) for each in self.options],
        }

    def _told(self, option: Option) -> dict[str, Any]:
        waits = {"median": option.median_wait, "p99": option.p99_wait}
        return {
            "allowed": written(option.allowed),
            "allowed_seconds": option.allowed.total_seconds(),
            "late_events": option.late_events,
            "late_share": option.late_events / self.events,
            "repairs": option.repaired,
            "repair_share": option.repaired / self.rows,
            "repairs_by_result": option.repairs,
            "wait_seconds": {name: None if wait is None else wait.total_seconds() for name, wait in waits.items()},
            "not_settled": option.not_settled,
        }


def advice(choice: Choice) -> str:
    """The recommendation in one or two sentences."""
    best, now = choice.recommended, choice.current
    said = f"The smallest lateness that repairs at most {percent(choice.budget)} of the results is"
    if best is now:
        return f"{said} the current one, {written(best.allowed)}."
    repaired, was = (share(each.repaired, choice.rows) for each in (best, now))
    waits = [wait(each.median_wait) for each in (best, now)]
    return (
        f"{said} {written(best.allowed)}. It repairs {repaired} (the current {written(now.allowed)}: {was}), and half of "
        f"the results are settled within {waits[0]} of the end of their window (now {waits[1]})."
    )


def percent(budget: Fraction) -> str:
    return f"{float(100 * budget):g} %"


def wait(duration: timedelta | None) -> str:
    return "-" if duration is None else seconds(duration.total_seconds())
