"""What is left of a micro-batch that a SIGKILL struck, and a lake for it with the log that it is to have in the end."""

import shutil
from dataclasses import dataclass, replace
from pathlib import Path

from deliveries import heartbeat, land, pop
from deltalake import DeltaTable
from logged import Row, assert_whole, written

from ingestion.index import IdIndex
from ingestion.ingest import ingest
from lakehouse.arrivals import ARRIVALS
from lakehouse.lake import Lake, create_lake, marker
from lakehouse.log import position
from lakehouse.settings import Settings


@dataclass(frozen=True)
class Left:
    """Whether the log has the micro-batch, how many data files are nobody's, and whether the index is behind the log."""

    committed: bool
    orphans: int
    index_behind: bool


@dataclass(frozen=True)
class Moment:
    said: str
    told: str
    once: Left
    twice: Left
    over: bool = False
    """Whether the next start has nothing more to do for the micro-batch, so that a second kill strikes the next one."""

    def after(self, times: int) -> Left:
        return self.once if times == 1 else self.twice


NOTHING = "The log has nothing of the micro-batch; the next start takes it in."
ALL = "The log has the micro-batch; the next start brings the index of ids up to it and goes on."
MOMENTS = {
    # A small micro-batch is written when its file is closed, so nothing of it is on disk before.
    "read": Moment("when all is read, before the data file", NOTHING, Left(False, 0, False), Left(False, 0, False)),
    "written": Moment(
        "after the data file, before the commit", f"{NOTHING} The file is nobody's.",
        Left(False, 1, False), Left(False, 2, False),
    ),
    "committed": Moment("after the commit", ALL, Left(True, 0, True), Left(True, 0, True), over=True),
    "indexing": Moment("in the middle of the index's write", ALL, Left(True, 0, True), Left(True, 0, True)),
    "appended": Moment("after all of it", "The next start goes on.", Left(True, 0, False), Left(True, 0, False), over=True),
}  # fmt: skip


@dataclass(frozen=True)
class Struck:
    lake: Lake
    landing: Path
    expected: list[Row]


def struck_lake(home: Path, settings: Settings, *, files: int = 3) -> Struck:
    """An empty lake, landing files for it, and the log that a run has which nobody kills. Both have the same secret."""
    landing, lake = home / "landing", create_lake(home / "lake")
    landing.mkdir()
    for number in range(files):
        pops = [pop(f"{number}-{n}", number * 600 + n * 40, bubbles=n) for n in range(10)]
        late = [pop(f"{number}-late", 30, bubbles=5), pops[0], pop("0-1", 40, bubbles=1), "no event at all"]
        land(landing, f"{number:02}.jsonl", [*pops, heartbeat(f"{number}-beat", number * 600 + 500), *late])
    other = replace(lake, path=Path(shutil.copytree(lake.path, home / "nobody kills this one")))
    ingest(None, other, landing, settings, files_per_batch=1)
    assert_whole(other)
    expected = written(other)
    assert len(expected) == 15 * files
    return Struck(lake, landing, expected)


def left_of(lake: Lake, batch: int) -> Left:
    """What is on disk, seen without touching it: the index is opened in a copy."""
    table = Path(lake.table(ARRIVALS))
    named = {Path(path).name for path in DeltaTable(table).file_uris()}
    orphans = {file.name for file in table.glob("*.parquet")} - named
    copy = Path(shutil.copytree(lake.ids, lake.path.parent / "copied index", dirs_exist_ok=True))
    covered = IdIndex.open(copy, lake=marker(lake).id, log=lake.log).covered
    shutil.rmtree(copy)
    at = position(lake)
    return Left(at.batch >= batch, len(orphans), (0 if covered is None else covered.seq) < at.seq)
