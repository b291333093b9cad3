"""What is starting on a lake: the note that `parity live` keeps while it comes up, told to the page.

    LAKE/starting.json    replaced as a whole with each change; gone when all has ended

Whoever wrote it may have been killed. Then the note says nothing: the process that it names is no more.
"""

import json
import os
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from datetime import UTC, datetime
from typing import Any, Literal

import psutil

from lakehouse.lake import Lake, write_json

State = Literal["waiting", "starting", "ready"]


@dataclass(frozen=True)
class Part:
    """One thing that comes up, in the order in which people are told of it."""

    name: str
    state: State = "waiting"
    said: str = ""
    """What it waits for, is doing, or has come to."""
    begun_at: str | None = None
    seconds: float | None = None
    """How long it took, once it is ready."""


def note_starting(lake: Lake, parts: Sequence[Part], *, begun_at: datetime) -> None:
    """Replace what the lake says of a start."""
    own = psutil.Process(os.getpid())
    said = {
        "process": own.pid,
        "process_created": own.create_time(),
        "begun_at": begun_at.isoformat(),
        "parts": [asdict(each) for each in parts],
    }
    write_json(lake.path / "starting.json", said)


def forget_starting(lake: Lake) -> None:
    (lake.path / "starting.json").unlink(missing_ok=True)


def starting(lake: Lake) -> dict[str, Any]:
    """The parts, each with the seconds since it began or that it took; none if nothing is being started here."""
    nothing: dict[str, Any] = {"seconds": None, "parts": []}
    try:
        said = json.loads((lake.path / "starting.json").read_text())
        if psutil.Process(said["process"]).create_time() != said["process_created"]:
            return nothing
    except (FileNotFoundError, psutil.NoSuchProcess):
        return nothing
    parts = [Part(**each) for each in said["parts"]]
    return {
        "seconds": _since(said["begun_at"]),
        "parts": [
            {"name": each.name, "state": each.state, "said": each.said, "seconds": _seconds(each)} for each in parts
        ],
    }


def _seconds(part: Part) -> float | None:
    if part.state == "starting" and part.begun_at is not None:
        return _since(part.begun_at)
    return part.seconds


def _since(at: str) -> float:
    return round(max((datetime.now(UTC) - datetime.fromisoformat(at)).total_seconds(), 0.0), 1)
