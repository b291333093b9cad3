"""The moments at which a writer can be killed.

Inside a micro-batch the writer kills itself at a failpoint, so that the moment is exact. What Spark does between two
micro-batches is seen from outside, by a file that appears, and the writer is killed within milliseconds of that.
"""

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from chaos.system import System, Writer
from lakehouse.arrivals import ARRIVALS
from lakehouse.batches import batch_name
from lakehouse.commits import newest
from transformations.result import Result

Seen = Callable[[], bool]
Watch = Callable[[System, Result], Seen]
"""What has to be seen from now on for the moment to be there."""


@dataclass(frozen=True)
class Moment:
    """A moment of a writer: a failpoint inside it, or something that is watched from outside."""

    name: str
    said: str
    place: str | None = None
    watch: Watch | None = None
    over: bool = False
    """Whether the next start does not come to the place again for the same micro-batch."""


def _manifest(system: System, _: Result) -> Seen:
    number = len(list(system.lake.landings.glob("*.json")))
    return (system.lake.landings / f"{number:08d}.json").exists


def _commit_of_the_log(system: System, _: Result) -> Seen:
    before = newest(system.lake, ARRIVALS)
    return lambda: newest(system.lake, ARRIVALS, known=before) > before


def _commit_log(writer: Writer) -> Watch:
    def watch(system: System, result: Result) -> Seen:
        number = system.newest_batch(writer, result) + 1
        return (system.checkpoint(writer, result) / "commits" / str(number)).exists

    return watch


def _data_file(system: System, result: Result) -> Seen:
    table = Path(system.lake.table(batch_name(result)))
    before = _data_files(table)
    return lambda: bool(_data_files(table) - before)


def _data_files(table: Path) -> set[str]:
    return {file.name for file in table.glob("*.parquet")}


MOMENTS: dict[Writer, tuple[Moment, ...]] = {
    "ingest": (
        Moment("before-offsets", "before its offsets were logged", watch=_manifest),
        Moment("read", "when all was read, before the data file", place="ingest.read"),
        Moment("written", "after the data file, before the commit", place="ingest.written"),
        Moment("committed", "after the commit of the log", place="ingest.committed", over=True),
        Moment("indexing", "in the middle of the write of its index", place="ingest.indexing"),
        Moment("after-sink", "after all of it, before Spark's commit log", place="ingest.appended"),
        Moment("after-commit-log", "after Spark's commit log", watch=_commit_log("ingest")),
    ),
    "stream": (
        Moment("before-offsets", "before its offsets were logged", watch=_commit_of_the_log),
        Moment("after-offsets", "after its offsets were logged", place="stream.begun"),
        Moment("after-state", "after the commit of its state, before the sink's", place="stream.computed"),
        Moment("after-sink", "after the sink's commit, before Spark's commit log", place="stream.appended"),
        Moment("after-commit-log", "after Spark's commit log", watch=_commit_log("stream")),
    ),
    "batch": (
        Moment("begun", "before it had computed anything", place="recompute.begun"),
        Moment("computed", "after it had computed, before it wrote", place="recompute.computed"),
        Moment("half-written", "while its file was being written", watch=_data_file),
        Moment("after-sink", "after its commit", place="recompute.replaced"),
    ),
}
