"""How far a job has come, seen from outside: what its table in the lake says of itself."""

from collections.abc import Sequence
from typing import TYPE_CHECKING

from cli.steps import Look

if TYPE_CHECKING:
    from lakehouse.lake import Lake
    from transformations.result import Result


def ingested(lake: "Lake") -> Look:
    """Micro-batches that are in the log, of those whose landing files are noted."""

    def look() -> tuple[int, int]:
        from lakehouse.log import position

        return position(lake).batch + 1, sum(1 for _ in lake.landings.glob("[0-9]*.json"))

    return look


def streamed(lake: "Lake", results: "Sequence[Result]") -> Look:
    """Events that the streams of these results have read, of those in their logs."""

    def look() -> tuple[int, int]:
        from lakehouse.changelogs import changelog_name
        from lakehouse.commits import commits
        from lakehouse.log import position
        from lakehouse.terms import at_log

        done = of = 0
        for result in results:
            own = at_log(lake, result)
            of += position(own).seq
            table = changelog_name(result)
            newest = next(commits(own, table), None) if own.has(table) else None
            done += position(own, newest["log_version"]).seq if newest else 0
        return done, of

    return look
