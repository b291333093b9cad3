"""What the commands have left in the lake for people to read. Names come from addresses: they cannot leave it."""

import json
import re
from collections.abc import Iterable
from contextlib import suppress
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from airflow.models import Variable

# What the pages show of each kind of file.
VERDICT = {
    "run": str,
    "at": str,
    "status": str,
    "candidate": str,
    "sentence": str,
    "results": [{"equal": int, "differing": int, "unexplained": int}],
}
QUALITY = {
    "run": str,
    "at": str,
    "status": str,
    "tables": [{"table": str, "met": bool, "failed": int, "expectations": [{"description": str, "met": bool}]}],
}
DECISION = {"at": str, "decision": str, "by": str, "reconciliation": str}
FAILURE = {"at": str, "dag": str, "run": str, "task": str, "try": int, "error": str}

_NAME = re.compile(r"[A-Za-z0-9_+@~:-][A-Za-z0-9_.+@~:-]*")


def lake() -> Path:
    return Path(Variable.get("parity_lake"))


def inside(directory: Path, *parts: str) -> Path | None:
    """The file of this name below the directory, if it is one and really lies there; links out of it are none."""
    if not all(_NAME.fullmatch(part) for part in parts):
        return None
    file = directory.joinpath(*parts).resolve()
    return file if file.is_file() and file.is_relative_to(directory.resolve()) else None


def said(file: Path | None, shape: Any) -> dict[str, Any] | None:
    """What a file says as JSON, none if there is no such file or it does not say what a page shows."""
    try:
        return None if file is None else _parsed(file.read_bytes(), shape)
    except OSError:
        return None


def reconciliations(most: int = 50) -> "Found":
    """The newest verdicts that were kept under a name."""
    return _newest(lake() / "reports", most, VERDICT)


def quality_runs(most: int = 50) -> "Found":
    return _newest(lake() / "quality" / "runs", most, QUALITY)


def decisions(most: int = 20) -> "Found":
    return _newest(lake() / "decisions", most, DECISION)


def failures(most: int = 20) -> "Found":
    """The newest failures of tasks, as the DAGs noted them. A process that died in the middle leaves half a line."""
    file = lake() / "reports" / "failures.jsonl"
    try:
        lines = [line for line in file.read_bytes().split(b"\n") if line.strip()][-most:]
    except OSError:
        lines = []
    return _sorted_out(lines, FAILURE, str(file.name))


@dataclass(frozen=True)
class Found:
    """What can be shown, newest first, and how many files or lines cannot."""

    entries: list[dict[str, Any]]
    unreadable: int
    where: str


def _newest(directory: Path, most: int, shape: Any) -> Found:
    contents = []
    for file in directory.glob("*.json"):
        with suppress(OSError):  # removed meanwhile
            contents.append(file.read_bytes())
    found = _sorted_out(contents, shape, f"{directory.name}/*.json")
    entries = sorted(found.entries, key=lambda each: str(each["at"]), reverse=True)
    return replace(found, entries=entries[:most])


def _sorted_out(contents: Iterable[bytes], shape: Any, where: str) -> Found:
    parsed = [_parsed(each, shape) for each in contents]
    entries = [each for each in reversed(parsed) if each is not None]
    return Found(entries, len(parsed) - len(entries), where)


def _parsed(content: bytes, shape: Any) -> dict[str, Any] | None:
    try:
        found = json.loads(content)
    except (ValueError, RecursionError):
        return None
    return found if _fits(found, shape) else None


def _fits(value: Any, shape: Any) -> bool:
    """Whether a value has what a page shows of it. A list has a shape for all of its elements."""
    if isinstance(shape, dict):
        return isinstance(value, dict) and all(_fits(value.get(name), inner) for name, inner in shape.items())
    if isinstance(shape, list):
        return isinstance(value, list) and all(_fits(each, shape[0]) for each in value)
    return isinstance(value, shape)
