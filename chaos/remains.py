"""What a killed writer has left on disk: how far each step of its micro-batch has come.

A kill proves nothing about a moment that it missed. So after each kill the disk has to show that it was the one that was meant.
"""

import json
from dataclasses import dataclass
from pathlib import Path

from deltalake import DeltaTable

from lakehouse.arrivals import ARRIVALS
from lakehouse.batches import batch_name, coverage
from lakehouse.changelogs import boundaries, changelog_name
from lakehouse.checkpoints import consumed_version
from lakehouse.identity import live_epoch
from lakehouse.lake import Lake
from lakehouse.log import position
from transformations.result import Result

NONE = -1
STATE_FILES = (".changelog", ".zip", ".delta", ".snapshot")


@dataclass(frozen=True)
class Remains:
    """The last micro-batch in each place, -1 for none."""

    planned: int = NONE
    """Spark's log of offsets."""
    state: int = NONE
    """The engine's state is committed up to this micro-batch; none of a query that has no state."""
    sink: int = NONE
    """The table has its commit; of a batch table it is the version of its last run."""
    indexed: bool = True
    """Whether the index of ids has what the log has."""
    begun_runs: frozenset[str] = frozenset()
    """Files of the index that its state does not name."""
    done: int = NONE
    """Spark's commit log."""
    offered: int = NONE
    """What there is to be planned: the last manifest, or version of the log."""
    taken: int = NONE
    """What of it the last planned micro-batch covers."""
    orphans: frozenset[str] = frozenset()
    """Data files in the table's folder that no commit names."""


def remains_of_ingestion(lake: Lake) -> Remains:
    checkpoint, at = lake.checkpoint("ingest"), position(lake)
    covered, named = _index(lake)
    runs = frozenset(file.name for file in lake.ids.glob("*.run"))
    planned = last_numbered(checkpoint / "offsets")
    return Remains(
        planned=planned,
        sink=at.batch,
        indexed=covered == at.token,
        begun_runs=runs - named,
        done=last_numbered(checkpoint / "commits"),
        offered=max((int(file.stem) for file in lake.landings.glob("*.json")), default=NONE),
        taken=planned,
        orphans=orphans(lake, ARRIVALS),
    )


def remains_of_stream(lake: Lake, result: Result) -> Remains:
    epoch = live_epoch(lake, result)
    planned, found = last_numbered(epoch.checkpoint / "offsets"), boundaries(lake, result, epoch)
    return Remains(
        planned=planned,
        state=_state(epoch.checkpoint / "state"),
        sink=found[0].batch if found else NONE,
        done=last_numbered(epoch.checkpoint / "commits"),
        offered=position(lake).version,
        taken=consumed_version(epoch.checkpoint, planned),
        orphans=orphans(lake, changelog_name(result)),
    )


def remains_of_batch(lake: Lake, result: Result) -> Remains:
    covered = coverage(lake, result)
    return Remains(sink=covered[0].table_version if covered else NONE, orphans=orphans(lake, batch_name(result)))


def last_numbered(directory: Path) -> int:
    """The last micro-batch of a log of Spark's."""
    names = directory.iterdir() if directory.is_dir() else ()
    return max((int(file.name) for file in names if file.name.isdigit()), default=NONE)


def orphans(lake: Lake, name: str) -> frozenset[str]:
    """Data files in a table's folder that its newest version does not name. Those that a commit has replaced are among them."""
    if not lake.has(name):
        return frozenset()
    table = Path(lake.table(name))
    named = {Path(path).name for path in DeltaTable(table).file_uris()}
    return frozenset(file.name for file in table.glob("*.parquet") if file.name not in named)


def _state(directory: Path) -> int:
    """Version n + 1 of the state is the one that micro-batch n leaves."""
    files = (file for file in directory.rglob("*") if file.suffix in STATE_FILES)
    numbers = (file.stem.partition("_")[0] for file in files if not file.name.startswith("."))
    return max((int(number) for number in numbers if number.isdigit()), default=0) - 1


def _index(lake: Lake) -> tuple[str, frozenset[str]]:
    """The commit of the log up to which the index goes, and the files that it names; read as it lies there, opened by nobody."""
    try:
        said = json.loads((lake.ids / "state").read_bytes().partition(b"\n")[2])
    except (FileNotFoundError, ValueError):
        return "", frozenset()
    merges = (merge["to"] for merge in said["merges"])
    return (said["covered"] or {"token": ""})["token"], frozenset([*said["runs"], *merges])
