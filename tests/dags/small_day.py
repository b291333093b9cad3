"""A few minutes of the game as landing lines: late ones, copies, and a heartbeat two days later that settles all of it.

Plain Python: it is imported by tests in both environments.
"""

import json
import subprocess
from datetime import UTC, datetime, timedelta
from pathlib import Path

DAY = "2026-03-01"
START = datetime(2026, 3, 1, 10, tzinfo=UTC)
POPS = 60
PYTHON = Path(__file__).parents[2] / ".venv" / "bin" / "python"
SPOIL = """
import sys
from pathlib import Path
from deltalake import CommitProperties, DeltaTable

table = DeltaTable(sys.argv[1])
said = next(commit["userMetadata"] for commit in table.history() if "userMetadata" in commit)
table.update(
    updates={"bubbles": "bubbles + 1"}, commit_properties=CommitProperties(custom_metadata={"userMetadata": said})
)
with max(Path(sys.argv[1], "_delta_log").glob("*.json")).open("a") as commit:
    commit.write("\\n")  # without one, Parity takes a commit for torn
"""


def spoil_batch(lake: Path) -> None:
    """Make the scores of the batch layer wrong by a bubble: the stream differs from them until they are recomputed."""
    subprocess.run([PYTHON, "-c", SPOIL, lake / "tables" / "batch_team_scores@1"], check=True)


def land_small_day(landing: Path) -> None:
    """Two files. Every seventh pop comes three minutes late, every tenth twice: the control gets both wrong."""
    landing.mkdir(parents=True)
    pops = [_pop(number) for number in range(POPS)]
    pops.sort(key=lambda line: line["received_at"])
    copies = [pop for pop in pops if int(pop["event_id"]) % 10 == 0]
    beat = START + timedelta(days=2)
    heartbeat = {"event_id": "beat", "kind": "heartbeat", "occurred_at": _text(beat), "received_at": _text(beat)}
    _write(landing / "1.jsonl", pops[: POPS // 2])
    _write(landing / "2.jsonl", [*pops[POPS // 2 :], *copies, heartbeat])


def _pop(number: int) -> dict[str, str | int]:
    occurred = START + timedelta(seconds=5 * number)
    received = occurred + timedelta(minutes=3 if number % 7 == 0 else 0, seconds=1)
    return {
        "event_id": str(number),
        "kind": "bubbles_popped",
        "player_id": f"player {number % 4}",
        "team_id": ("blue", "red")[number % 2],
        "bubbles": number,
        "occurred_at": _text(occurred),
        "received_at": _text(received),
    }


def _text(moment: datetime) -> str:
    return moment.isoformat(timespec="milliseconds").replace("+00:00", "Z")


def _write(file: Path, lines: list[dict[str, str | int]]) -> None:
    draft = file.with_name(f".{file.name}")
    draft.write_text("".join(json.dumps(line) + "\n" for line in lines))
    draft.replace(file)
