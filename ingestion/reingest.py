"""The re-ingestion: a log built anew from the raw lines of the first one, beside it, by the rules of now.

    parity reingest --lake LAKE --as-log 2

A replay of the log repeats a mistake of parsing, of clock correction or of de-duplication: those were made before the
log. The raw lines are in the lake, in their order of arrival, so the landing files are not needed. Versions are replayed
from the new log with `parity replay --log 2`. Run again, it goes on where it ended, and follows the first log.
"""

from collections.abc import Callable, Iterator
from dataclasses import replace

from ingestion.intake import Intake
from ingestion.raw import RAW_LINES, judged_again, landed_lines
from ingestion.rules import Rules, rules_of
from ingestion.table import create_arrivals
from lakehouse.arrivals import ARRIVALS
from lakehouse.errors import ParityError, SettingsChanged
from lakehouse.fingerprint import keep_code
from lakehouse.lake import Lake
from lakehouse.landings import manifests
from lakehouse.locks import exclusive_here
from lakehouse.log import Position, newest_version, position
from lakehouse.notes import edited, note
from lakehouse.runs import measured
from lakehouse.settings import Settings

BYTES_A_STEP = 64 * 1024**2
Told = Callable[[int, int], object]
"""Is told how many micro-batches of how many are in the new log."""


def reingest(lake: Lake, settings: Settings, *, as_log: int, told: Told = lambda *_: None) -> Position:
    """Bring log number `as_log` up to the first log; returns where it stands then."""
    newest_version(lake)
    if as_log < 2:
        raise ParityError(f"Log 1 is the one that `parity ingest` writes. Name 2 or more with --as-log, not {as_log}.")
    new, goal, rules = replace(lake, log=as_log), position(lake), rules_of(lake, settings)
    with (
        exclusive_here(lake.lock_file(new.of_log("ingest")), wait=False),
        exclusive_here(lake.lock_file(RAW_LINES), wait=False),
        measured(None, lake, "ingest", []) as cost,
    ):
        _agree_on_rules(new, rules)
        create_arrivals(new, horizon=settings.retention.horizon)
        keep_code(lake, rules.fingerprint)
        with Intake(new) as intake:
            for first, last in _steps(lake, position(new).batch + 1, goal.batch):
                lines = landed_lines(lake, first=first, last=last)
                intake.take_in(last, judged_again(lines, rules, lake))
                cost.batches += 1
                told(last + 1, goal.batch + 1)
        cost.rows_written = position(new).seq
    return position(new)


def _agree_on_rules(new: Lake, rules: Rules) -> None:
    """Note the rules that a log is made by, or refuse other ones: a log that two rules made is the answer of neither."""
    name = new.of_log(ARRIVALS)
    known = note(new, name).get("rules", rules.said)
    changed = [
        f"{each} was {known.get(each)!r}, is {value!r}"
        for each, value in rules.said.items()
        if known.get(each) != value
    ]
    if changed:
        raise SettingsChanged(
            f"Log {new.log} of {new.path} is made by other rules: {', '.join(changed)}. Nothing was written. "
            f"Set [clock] back (for `code`: use the Parity that made it), or choose another number with --as-log."
        )
    with edited(new, name) as content:
        content["rules"] = rules.said


def _steps(lake: Lake, first: int, last: int) -> Iterator[tuple[int, int]]:
    """The micro-batches from `first` to `last` in stretches of about equal size. How they are cut changes nothing."""
    size = 0
    for number, landings in manifests(lake):
        if not first <= number <= last:
            continue
        size += sum(landing.size for landing in landings)
        if size >= BYTES_A_STEP or number == last:
            yield first, number
            first, size = number + 1, 0
