"""The moments at which a writer can be killed, and how the disk looks then.

Inside a micro-batch the writer kills itself at a failpoint, so that the moment is exact. What Spark does between two
micro-batches is seen from outside, by a file that appears, and the writer is killed within milliseconds of that.
"""

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from chaos.remains import Remains, last_numbered, remains_of_batch, remains_of_ingestion, remains_of_stream
from chaos.system import System, Writer
from lakehouse.arrivals import ARRIVALS
from lakehouse.batches import batch_name
from lakehouse.commits import newest
from transformations.result import Result

Seen = Callable[[], bool]
Watch = Callable[[System, Result], Seen]
"""What has to be seen from now on for the moment to be there."""
Shown = Callable[[Remains, Remains], bool]
"""Whether what is left shows the moment, beside what there was before the writer went on."""


@dataclass(frozen=True)
class Moment:
    """A moment of a writer: a failpoint inside it, or something that is watched from outside."""

    name: str
    said: str
    shown: Shown
    place: str | None = None
    watch: Watch | None = None
    over: bool = False
    """Whether the next start does not come to the place again for the same micro-batch."""

    @property
    def comes_again(self) -> bool:
        """Whether the next start comes to this moment of the same micro-batch by itself."""
        return self.place is not None and not self.over


def remains(system: System, writer: Writer, result: Result) -> Remains:
    """What a writer has left."""
    if writer == "ingest":
        return remains_of_ingestion(system.lake)
    of = remains_of_stream if writer == "stream" else remains_of_batch
    return of(system.lake, result)


def _manifest(system: System, _: Result) -> Seen:
    number = len(list(system.lake.landings.glob("*.json")))
    return (system.lake.landings / f"{number:08d}.json").exists


def _commit_of_the_log(system: System, _: Result) -> Seen:
    before = newest(system.lake, ARRIVALS)
    return lambda: newest(system.lake, ARRIVALS, known=before) > before


def _commit_log(writer: Writer) -> Watch:
    def watch(system: System, result: Result) -> Seen:
        checkpoint = system.checkpoint(writer, result)
        number = last_numbered(checkpoint / "offsets") + 1
        return (checkpoint / "commits" / str(number)).exists

    return watch


def _data_file(system: System, result: Result) -> Seen:
    table = Path(system.lake.table(batch_name(result)))
    before = _data_files(table)
    return lambda: bool(_data_files(table) - before)


def _data_files(table: Path) -> set[str]:
    return {file.name for file in table.glob("*.parquet")}


def _not_planned(_: Remains, left: Remains) -> bool:
    return left.offered > left.taken and left.planned == left.done


def _under_way(left: Remains) -> bool:
    """Planned, and in the sink's table not yet."""
    return left.planned == left.done + 1 and left.sink < left.planned


def _no_file(before: Remains, left: Remains) -> bool:
    return _under_way(left) and left.orphans <= before.orphans and left.state < left.planned


def _file(before: Remains, left: Remains) -> bool:
    return _under_way(left) and left.orphans > before.orphans


def _computed(before: Remains, left: Remains) -> bool:
    """A query with a state has committed it, also where nothing is to be told yet; of another the file is there."""
    has_state = before.state >= 0
    return _under_way(left) and (left.state == left.planned if has_state else left.orphans > before.orphans)


def _in_the_sink(left: Remains) -> bool:
    return left.sink == left.planned == left.done + 1


def _done(before: Remains, left: Remains) -> bool:
    return left.sink == left.planned == left.done > before.done


def _replaced(before: Remains, left: Remains) -> bool:
    return left.sink > before.sink


def _as_before(before: Remains, left: Remains) -> bool:
    return left.sink == before.sink and left.orphans == before.orphans


def _file_of_batch(before: Remains, left: Remains) -> bool:
    return left.sink == before.sink and left.orphans > before.orphans


MOMENTS: dict[Writer, tuple[Moment, ...]] = {
    "ingest": (
        Moment("before-offsets", "before its offsets were logged", _not_planned, watch=_manifest),
        Moment("read", "when all was read, before the data file", _no_file, place="ingest.read"),
        Moment("written", "after the data file, before the commit", _file, place="ingest.written"),
        Moment(
            "committed", "after the commit of the log",
            lambda before, left: _in_the_sink(left) and not left.indexed and left.begun_runs <= before.begun_runs,
            place="ingest.committed", over=True,
        ),
        Moment(
            "indexing", "in the middle of the write of its index",
            lambda _, left: _in_the_sink(left) and not left.indexed and bool(left.begun_runs),
            place="ingest.indexing",
        ),
        Moment(
            "after-sink", "after all of it, before Spark's commit log",
            lambda _, left: _in_the_sink(left) and left.indexed,
            place="ingest.appended",
        ),
        Moment("after-commit-log", "after Spark's commit log", _done, watch=_commit_log("ingest")),
    ),
    "stream": (
        Moment("before-offsets", "before its offsets were logged", _not_planned, watch=_commit_of_the_log),
        Moment("after-offsets", "after its offsets were logged", _no_file, place="stream.begun"),
        Moment("after-state", "after the commit of its state, before the sink's", _computed, place="stream.computed"),
        Moment(
            "after-sink", "after the sink's commit, before Spark's commit log",
            lambda _, left: _in_the_sink(left),
            place="stream.appended",
        ),
        Moment("after-commit-log", "after Spark's commit log", _done, watch=_commit_log("stream")),
    ),
    "batch": (
        Moment("begun", "before it had computed anything", _as_before, place="recompute.begun"),
        Moment("computed", "after it had computed, before it wrote", _file_of_batch, place="recompute.computed"),
        Moment("half-written", "while its file was being written", _file_of_batch, watch=_data_file),
        Moment("after-sink", "after its commit", _replaced, place="recompute.replaced"),
    ),
}  # fmt: skip
