"""Commands of Parity as processes that a fault strikes, and small lakes for them."""

from collections.abc import Sequence
from pathlib import Path

from deliveries import at, heartbeat, land, pop
from processes import environment

from chaos.processes import Process
from ingestion.ingest import ingest
from lakehouse.lake import Lake, create_lake
from lakehouse.settings import Settings

PATIENCE = 180.0
SOON = 0.002
KILLED, REFUSED = -9, 2
FILES = 2


def landed(landing: Path) -> Path:
    """Two files, the second later than the first; it has late events, a copy and a line that is no event."""
    landing.mkdir()
    for part in range(FILES):
        pops = [pop(f"{part}-{n}", part * 600 + n * 40, bubbles=n, received_at=at(part * 600 + 400)) for n in range(10)]
        late = [pop(f"{part}-late", 30, bubbles=5), pops[0], "no event at all"]
        land(landing, f"{part}.jsonl", [*pops, heartbeat(f"{part}-beat", part * 600 + 500), *late])
    return landing


def ingested(home: Path, settings: Settings) -> tuple[Lake, Path]:
    """A lake with one commit of its log for each file, and its landing directory."""
    landing, lake = landed(home / "landing"), create_lake(home / "lake")
    ingest(None, lake, landing, settings, files_per_batch=1)
    return lake, landing


def begun(lake: Lake, command: Sequence[str | Path], *, failpoint: str = "", **more: str) -> Process:
    """The command as a process, to be struck at the failpoint."""
    if failpoint:
        more["PARITY_FAILPOINT"] = failpoint
    return Process([str(part) for part in command], environment=environment(**more), log=lake.log_file)
