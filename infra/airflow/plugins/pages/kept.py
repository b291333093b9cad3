"""What the commands have left in the lake for people to read. Names come from addresses: they cannot leave it."""

import json
import re
from pathlib import Path
from typing import Any

from airflow.models import Variable

_NAME = re.compile(r"[A-Za-z0-9_+@~:-][A-Za-z0-9_.+@~:-]*")


def lake() -> Path:
    return Path(Variable.get("parity_lake"))


def inside(directory: Path, *parts: str) -> Path | None:
    """The file of this name below the directory, if it is one and really lies there; links out of it are none."""
    if not all(_NAME.fullmatch(part) for part in parts):
        return None
    file = directory.joinpath(*parts).resolve()
    return file if file.is_file() and file.is_relative_to(directory.resolve()) else None


def said(file: Path | None) -> dict[str, Any] | None:
    """What a file says as JSON, none if there is no such file or it is not one."""
    try:
        return None if file is None else dict(json.loads(file.read_text()))
    except ValueError:
        return None


def reconciliations(most: int = 50) -> list[dict[str, Any]]:
    """The newest verdicts that were kept under a name."""
    return _newest(lake() / "reports", most)


def quality_runs(most: int = 50) -> list[dict[str, Any]]:
    return _newest(lake() / "quality" / "runs", most)


def decisions(most: int = 20) -> list[dict[str, Any]]:
    return _newest(lake() / "decisions", most)


def failures(most: int = 20) -> list[dict[str, Any]]:
    """The newest failures of tasks, as the DAGs noted them."""
    file = lake() / "reports" / "failures.jsonl"
    lines = file.read_text().splitlines()[-most:] if file.is_file() else []
    return [json.loads(line) for line in reversed(lines)]


def _newest(directory: Path, most: int) -> list[dict[str, Any]]:
    found = [each for file in directory.glob("*.json") if (each := said(file)) is not None]
    return sorted(found, key=lambda each: str(each.get("at")), reverse=True)[:most]
