"""How long a recompute and a rebuild took so far, for a person who has to choose between them. Measured, never guessed.

Each run of a job has noted its length in LAKE/runs, without the start of Spark. A rebuild reads the whole log, which few runs
of a stream have done: so it is told how much the greatest of them read, beside what the log has.
"""

from collections.abc import Iterable, Sequence
from datetime import timedelta

from lakehouse.lake import Lake
from lakehouse.runs import Run, runs
from transformations.result import Result

RECOMPUTE, REBUILD = "recompute", "rebuild"


def lengths(lake: Lake, results: Sequence[Result], *, arrivals: int) -> dict[str, str]:
    """A sentence for each of the two."""
    ended = [run for run in runs(lake) if run.outcome == "ended"]
    names = {result.id for result in results}
    return {RECOMPUTE: _recompute(ended, names), REBUILD: _rebuild(ended, names, arrivals)}


def _recompute(ended: Sequence[Run], names: set[str]) -> str:
    last = {name: run for run in ended if run.job == "recompute" for name in run.results if name in names}
    if set(last) != names:
        return "How long it takes is not known: not all of it was recomputed here yet."
    in_part = sum(not run.whole for run in last.values())
    days = f", {in_part} of {len(last)} over some days only" if in_part else ", over the whole log"
    return f"The last time it took {_long(last.values())}{days}."


def _rebuild(ended: Sequence[Run], names: set[str], arrivals: int) -> str:
    greatest: dict[str, Run] = {}
    for run in ended:
        for name in names.intersection(run.results) if run.job in ("stream", "replay") else ():
            if name not in greatest or _read(run) >= _read(greatest[name]):
                greatest[name] = run
    if set(greatest) != names:
        return "How long it takes is not known: not all of it was streamed here yet."
    read = min(_read(run) for run in greatest.values())
    return f"The greatest run so far took {_long(greatest.values())} for {read:,} arrivals; there are {arrivals:,}."


def _read(run: Run) -> int:
    """The arrivals that each result of the run has read; a replay does without those that are no events."""
    return run.rows_read // max(len(run.results), 1)


def _long(found: Iterable[Run]) -> str:
    """The runs one after the other; one that was of several results counts once."""
    once = {run.started_at: run.wall_seconds for run in found}
    seconds = sum(once.values())
    if seconds < 60:
        return f"{seconds:.1f} s"
    hours, minutes = divmod(round(timedelta(seconds=seconds) / timedelta(minutes=1)), 60)
    return f"{hours} h {minutes} min" if hours else f"{minutes} min"
