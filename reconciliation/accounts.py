"""Whose cost a run is. Plain arithmetic over the notes of the runs; nothing is estimated.

Streams of several results run in one process at once, and what each of them used cannot be told apart. So a result is
accounted for together with those that ever shared a run with it, each by its version. A replay is a cost of its own: it
builds a version, it does not keep one up to date.
"""

from collections.abc import Collection, Sequence
from dataclasses import dataclass

from lakehouse.runs import Job, Run


@dataclass(frozen=True)
class Account:
    """What the runs of one job come to. Runs that have noted no end, killed or still at work, count as far as they came."""

    runs: Sequence[Run]

    @property
    def cpu_seconds(self) -> float | None:
        return sum(run.cpu_seconds for run in self.runs) if self.runs else None

    @property
    def wall_seconds(self) -> float | None:
        return sum(run.wall_seconds for run in self.runs) if self.runs else None

    @property
    def rows_read(self) -> int | None:
        return sum(run.rows_read for run in self.runs) if self.runs else None

    @property
    def rows_written(self) -> int | None:
        return sum(run.rows_written for run in self.runs) if self.runs else None

    @property
    def unended(self) -> int:
        return sum(run.outcome == "no end noted" for run in self.runs)


def together(noted: Sequence[Run], ids: Collection[str]) -> frozenset[str]:
    """These results and all that ever ran in one process with one of them: the fewest whose cost is known."""
    found = frozenset(ids)
    while wider := frozenset(each for run in noted if found & set(run.results) for each in run.results) - found:
        found |= wider
    return found


def account(noted: Sequence[Run], job: Job, ids: Collection[str]) -> Account:
    """The runs of a job for these results; those that name no result, ingestion's and the control's, serve them all."""
    return Account([run for run in noted if run.job == job and (not run.results or set(ids) & set(run.results))])


def cost_of_a_batch_run(noted: Sequence[Run], ids: Collection[str]) -> tuple[float | None, list[str]]:
    """The CPU seconds of computing all these results once in batch, and those that have no run which ended.

    What killed and failed runs used is spread over those that ended: a result is had only from them.
    """
    found, missing = 0.0, []
    for each in sorted(ids):
        mine = account(noted, "recompute", [each])
        ended = sum(run.outcome == "ended" for run in mine.runs)
        if ended:
            found += (mine.cpu_seconds or 0.0) / ended
        else:
            missing.append(each)
    return (None if missing else found), missing
