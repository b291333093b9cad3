"""The requeue: quarantined lines judged again, after a fix of the code or of the clock's tolerances, or when
their kind is declared.

    parity requeue --lake LAKE

What is accepted now enters the log at its end, as a late arrival with its own event time; the streams repair what it
bears upon. The line stays in quarantine as evidence, and counts as waiting no more. It is one commit: a requeue that is
killed has happened or not, and is simply run again.
"""

from dataclasses import dataclass

from ingestion.intake import Intake
from ingestion.raw import RAW_LINES, judged_again, waiting_lines, withheld
from ingestion.rules import rules_of
from ingestion.table import create_arrivals
from lakehouse.fingerprint import keep_code
from lakehouse.lake import Lake
from lakehouse.locks import exclusive_here
from lakehouse.log import newest_version, position
from lakehouse.settings import Settings


@dataclass(frozen=True)
class Requeued:
    """What became of the lines that waited: events, copies of events that the log has, and those that wait still.

    The bytes of some of these may be `withheld`: the landing files alone have them, so they cannot be judged again.
    """

    accepted: int
    copies: int
    waiting: int
    withheld: int = 0


def requeue(lake: Lake, settings: Settings) -> Requeued:
    """Take the quarantined lines that are events by the rules of now into the log, each once."""
    newest_version(lake)
    with exclusive_here(lake.lock_file("ingest"), wait=False), exclusive_here(lake.lock_file(RAW_LINES), wait=False):
        create_arrivals(lake, horizon=settings.retention.horizon)  # a kind that was unknown may be known now
        rules = rules_of(lake, settings)
        keep_code(lake, rules.fingerprint)
        with Intake(lake) as intake:
            before, lines = position(lake), waiting_lines(lake)
            after = intake.take_in(before.batch, judged_again(lines, rules, lake), requeue=True)
    return Requeued(
        accepted=after.seq - before.seq,
        copies=after.duplicates - before.duplicates,
        waiting=after.quarantined,
        withheld=withheld(lines, lake),
    )
