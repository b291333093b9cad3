"""Landing lines for tests: events in seconds after a fixed start, and files that land in a given order."""

import json
import os
from collections.abc import Iterable
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

from lakehouse.lake import Lake
from lakehouse.landings import Landings

START = datetime(2026, 3, 1, 10, 0, tzinfo=UTC)


def at(seconds: float) -> str:
    """The moment so many seconds after the start, as the landing format writes it."""
    moment = START + timedelta(milliseconds=round(seconds * 1000))
    return moment.isoformat(timespec="milliseconds").replace("+00:00", "Z")


def pop(
    event_id: str, seconds: float, *, bubbles: int = 1, team: str = "blue", player: str = "alice", **more: Any
) -> str:
    """A line of kind `bubbles_popped`."""
    event = {"event_id": event_id, "kind": "bubbles_popped", "player_id": player, "team_id": team, "bubbles": bubbles}
    return json.dumps({**event, "occurred_at": at(seconds), **more})


def heartbeat(event_id: str, seconds: float) -> str:
    """A line that moves the high-water mark and nothing else."""
    return json.dumps({"event_id": event_id, "kind": "heartbeat", "occurred_at": at(seconds)})


def land(landing: Path, name: str, lines: Iterable[str | bytes], *, modified: int | None = None) -> Path:
    """Let a file land, atomically, as if `modified` seconds after another fixed moment; by default after all others."""
    content = b"".join((line if isinstance(line, bytes) else line.encode()) + b"\n" for line in lines)
    draft = landing / f".{name}"
    draft.write_bytes(content)
    second = len(list(landing.glob("*.jsonl"))) if modified is None else modified
    os.utime(draft, ns=(0, (1_700_000_000 + second) * 1_000_000_000))
    return draft.replace(landing / name)


def note_landings(lake: Lake, landing: Path, *, files_per_batch: int) -> int:
    """Note what has landed, once, an hour after the start; returns how many files that are."""
    return Landings(lake, landing, files_per_batch=files_per_batch).note(lambda: START + timedelta(hours=1))
