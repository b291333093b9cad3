"""Logs that broke a law once. `make laws` adds the ones that it finds, made small; every run of the tests tries them again."""

import dataclasses
import hashlib
import json
from dataclasses import dataclass
from datetime import timedelta
from pathlib import Path
from typing import Any, Literal

from logs import Arrival, Log

DIRECTORY = Path(__file__).parent / "kept"
MILLISECOND = timedelta(milliseconds=1)


@dataclass(frozen=True)
class Kept:
    """A log and what the stream ran with over it, times in milliseconds."""

    result: str
    way: Literal["engine", "recompute"]
    allowed: int
    hold: int
    policy: Literal["correct", "drop"]
    commits_per_batch: int
    log: tuple[tuple[Arrival, ...], ...]


def keep(example: Kept, directory: Path = DIRECTORY) -> Path:
    """Write an example down, under a name that follows from it."""
    said = dataclasses.asdict(example) | {"log": [[_said(each) for each in commit] for commit in example.log]}
    text = json.dumps(said, indent=1, ensure_ascii=False) + "\n"
    directory.mkdir(exist_ok=True)
    file = directory / f"{example.result}-{hashlib.sha256(text.encode()).hexdigest()[:8]}.json"
    file.write_text(text)
    return file


def kept(file: Path) -> Kept:
    said = json.loads(file.read_text())
    return Kept(**said | {"log": tuple(tuple(Arrival(**each) for each in commit) for commit in said["log"])})


def files(directory: Path = DIRECTORY) -> list[Path]:
    return sorted(directory.glob("*.json"))


def as_kept(log: Log) -> tuple[tuple[Arrival, ...], ...]:
    return tuple(map(tuple, log))


def _said(arrival: Arrival) -> dict[str, Any]:
    """Its fields, but for those that have their default."""
    fields = {each.name: (getattr(arrival, each.name), each.default) for each in dataclasses.fields(arrival)}
    return {name: value for name, (value, default) in fields.items() if value != default}
