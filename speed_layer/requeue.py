"""The requeue: quarantined lines judged again, after a fix of the code or of the clock's tolerances.

    parity requeue --lake LAKE

What is accepted now enters the log at its end, as a late arrival with its own event time; the streams repair what it
bears upon. The line stays in `quarantine` as evidence, and counts as waiting no more. A killed requeue is simply run
again: whether a line waits is seen from the tables, not from what a run remembers. While a micro-batch of ingestion is half
written there is no requeue: it must find the same log when it is finished as when it was begun.
"""

from dataclasses import dataclass
from pathlib import Path

from pyspark.sql import SparkSession

from lakehouse.errors import ParityError
from lakehouse.fingerprint import keep_code, parser_fingerprint
from lakehouse.lake import Lake
from lakehouse.landings import manifest
from lakehouse.locks import exclusive
from lakehouse.log import DUPLICATES, newest_version, note_requeue, position
from lakehouse.nameless import is_nameless
from lakehouse.settings import Settings
from lakehouse.tables import append, read_table
from speed_layer.intake import append_events, as_rows, destinations, first_arrivals, half_written, judge_of
from speed_layer.raw import RAW_LINES, judged_again, waiting_lines


@dataclass(frozen=True)
class Requeued:
    """What became of the lines that waited: events, copies of events that the log has, and those that wait still.

    The bytes of some of these may be `withheld`: the landing files alone have them, so they cannot be judged again.
    """

    accepted: int
    copies: int
    waiting: int
    withheld: int = 0


def requeue(spark: SparkSession, lake: Lake, settings: Settings) -> Requeued:
    """Take the quarantined lines that are events by the rules of now into the log, each once."""
    newest_version(lake)
    with (
        exclusive(spark, lake.lock_file("ingest"), wait=False),
        exclusive(spark, lake.lock_file(RAW_LINES), wait=False),
    ):
        _refuse_half_written(lake)
        keep_code(lake, parser_fingerprint())
        lines = judged_again(waiting_lines(spark, lake), settings).persist()
        placed = first_arrivals(spark, lake, lines.where("reason is null")).persist()
        first, copies = placed.where("copy is null"), placed.where("copy")
        found = destinations(lines, placed)
        accepted, copied = found["events"].lines, found["copies"].lines
        left = found["broken"].lines + found["differing"].lines
        withheld = lines.where("withheld is not null").count() if is_nameless(lake) else 0
        if accepted or copied:
            note_requeue(lake)
        if copied:
            said = {"requeued": copied, "judge": judge_of(settings)}
            append(spark, lake, lake.of_log(DUPLICATES), as_rows(copies, DUPLICATES), transaction=None, metadata=said)
        before = position(lake)
        duplicates = read_table(spark, lake, lake.of_log(DUPLICATES)).where(f"batch <= {before.batch}").count()
        if (accepted, duplicates, left) != (0, before.duplicates, before.quarantined):
            append_events(
                spark,
                lake,
                first,
                found["events"],
                transaction=None,
                batch=before.batch,
                duplicates=duplicates - before.duplicates,
                quarantined=left - before.quarantined,
            )
        placed.unpersist()
        lines.unpersist()
    return Requeued(accepted, copied, left, withheld)


def _refuse_half_written(lake: Lake) -> None:
    """Refuse to change the log under a micro-batch that was begun: a first arrival of it could be a copy when it is finished,
    and the copies of it have been appended already."""
    if begun := half_written(lake):
        landing = Path(manifest(lake, begun["batch"])[0].path).parent
        raise ParityError(
            f"Micro-batch {begun['batch']} of the ingestion was begun and not finished, and one of its lines could be lost if "
            "others entered the log before it. Nothing was written. Finish it first: "
            f"`parity ingest --lake {lake.path} --landing {landing}`"
        )
