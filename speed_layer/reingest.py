"""The re-ingestion: a log built anew from the raw lines of the first one, beside it, by the rules of now.

    parity reingest --lake LAKE --as-log 2

A replay of the log repeats a mistake of parsing, of clock correction or of de-duplication: those were made before the
log. The raw lines are in the lake, in their order of arrival, so the landing files are not needed. Versions are replayed
from the new log with `parity replay --log 2`. Run again, it goes on where it ended, and follows the first log. No requeue runs
meanwhile: it moves lines from one table to another, and they are read one after the other.
"""

from collections.abc import Callable, Iterator
from dataclasses import replace

from pyspark.sql import SparkSession

from lakehouse.errors import ParityError, SettingsChanged
from lakehouse.fingerprint import keep_code, parser_fingerprint
from lakehouse.lake import Lake
from lakehouse.landings import manifests
from lakehouse.locks import exclusive
from lakehouse.log import EVENTS, Position, create_log, newest_version, position
from lakehouse.notes import edited, note
from lakehouse.runs import measured
from lakehouse.settings import Settings
from speed_layer.intake import Judge, half_written, judge_of, take_in
from speed_layer.raw import RAW_LINES, judged_again, raw_lines

BYTES_A_STEP = 64 * 1024**2
Told = Callable[[int, int], object]
"""Is told how many micro-batches of how many are in the new log."""


def reingest(
    spark: SparkSession, lake: Lake, settings: Settings, *, as_log: int, told: Told = lambda *_: None
) -> Position:
    """Bring log number `as_log` up to the first log; returns where it stands then."""
    newest_version(lake)
    if as_log == lake.log:
        raise ParityError(f"Log {as_log} is the one that `parity ingest` writes. Name another number with --as-log.")
    new, goal, judge = replace(lake, log=as_log), position(lake), judge_of(settings)
    with (
        exclusive(spark, lake.lock_file(new.of_log("ingest")), wait=False),
        exclusive(spark, lake.lock_file(RAW_LINES), wait=False),
        measured(spark, lake, "ingest", []) as cost,
    ):
        _agree_on_judge(new, judge)
        create_log(spark, new, horizon=settings.retention.horizon)
        keep_code(lake, parser_fingerprint())
        for first, last in _steps(lake, new, goal.batch):
            lines = raw_lines(spark, lake, first=first, last=last)
            take_in(spark, new, judged_again(lines, settings), last, judge)
            cost.batches += 1
            told(last + 1, goal.batch + 1)
        cost.rows_written = position(new).seq
    return position(new)


def _agree_on_judge(new: Lake, judge: Judge) -> None:
    """Note the rules that a log is made by, or refuse other ones: a log that two rules made is the answer of neither."""
    name = new.of_log(EVENTS)
    known = note(new, name).get("judge", judge)
    changed = [
        f"{each} was {known.get(each)!r}, is {value!r}" for each, value in judge.items() if known.get(each) != value
    ]
    if changed:
        raise SettingsChanged(
            f"Log {new.log} of {new.path} is made by other rules: {', '.join(changed)}. Nothing was written. "
            f"Set [clock] back (for `code`: use the Parity that made it), or choose another number with --as-log."
        )
    with edited(new, name) as content:
        content["judge"] = judge


def _steps(lake: Lake, new: Lake, last: int) -> Iterator[tuple[int, int]]:
    """The micro-batches that the new log lacks, up to `last`, in stretches of about equal size.

    How they are cut changes nothing, but for a stretch that was begun and not finished: it ends where it was to end, wherever
    the first log does by now.
    """
    first, size = position(new).batch + 1, 0
    if begun := half_written(new):
        yield first, begun["batch"]
        first = begun["batch"] + 1
    for number, landings in manifests(lake):
        if not first <= number <= last:
            continue
        size += sum(landing.size for landing in landings)
        if size >= BYTES_A_STEP or number == last:
            yield first, number
            first, size = number + 1, 0
