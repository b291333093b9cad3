"""Old reports go: what reconciliations and validations left for people to read, by the age that `[retention] reports` allows.

The newest report of each result and candidate stays, however old it is, and so does the newest validation of each table.
Decisions of people stay, and so does the history of verdicts, which is a table. Of a run its pages go before the file that
names them: what is interrupted is found again.
"""

import json
import shutil
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from lakehouse.lake import Lake


@dataclass(frozen=True)
class Removed:
    """How many runs lost their reports, by kind."""

    reconciliations: int
    validations: int


@dataclass(frozen=True)
class _Kept:
    """What one run left: its file, and what that says."""

    file: Path
    at: datetime
    said: dict[str, Any]

    @property
    def run(self) -> str:
        return self.file.stem


def remove_old_reports(lake: Lake, *, before: datetime) -> Removed:
    """Remove what is older than this moment."""
    return Removed(_reconciliations(lake.path / "reports", before), _validations(lake.path / "quality", before))


def _reconciliations(directory: Path, before: datetime) -> int:
    found = _kept(directory, "results")
    subjects = {
        each.run: {(each.said.get("candidate"), one.get("result")) for one in each.said["results"]} for each in found
    }
    old = _old(found, subjects, before)
    for each in old:
        for page in (f"{each.run}.html", *(str(one.get("report") or "") for one in each.said["results"])):
            _remove(directory, page)
        each.file.unlink(missing_ok=True)
    pages = [page.read_text(encoding="utf-8", errors="replace") for page in directory.glob("*.html")]
    for script in directory.glob("*.min.js"):
        if _changed(script) < before and not any(script.name in page for page in pages):
            script.unlink(missing_ok=True)
    return len(old)


def _validations(directory: Path, before: datetime) -> int:
    found = _kept(directory / "runs", "tables")
    subjects = {each.run: {one.get("table") for one in each.said["tables"]} for each in found}
    old = _old(found, subjects, before)
    for each in old:
        for one in each.said["tables"]:
            page = Path(
                str(one.get("page") or "")
            )  # validations/TABLE/RUN/TIME/BATCH.html, and the same in GX's own store
            if page.suffix == ".html":
                _remove(directory / "docs", str(page.parent))
                _remove(directory / "gx", str(page.parent))
        each.file.unlink(missing_ok=True)
    return len(old)


def _kept(directory: Path, about: str) -> list[_Kept]:
    """The files of runs that can be read, newest first; others are not ours to judge, and stay."""
    found = []
    for file in directory.glob("*.json"):
        with suppress(OSError, ValueError, KeyError, TypeError):
            said = json.loads(file.read_bytes())
            if all(isinstance(each, dict) for each in said[about]):
                found.append(_Kept(file, datetime.fromisoformat(said["at"]).astimezone(UTC), said))
    return sorted(found, key=lambda each: each.at, reverse=True)


def _old(found: list[_Kept], subjects: dict[str, set[Any]], before: datetime) -> list[_Kept]:
    """Those from before that moment, less the ones that have the newest word on something."""
    seen: set[Any] = set()
    old = []
    for each in found:
        if each.at < before and subjects[each.run] <= seen:
            old.append(each)
        seen |= subjects[each.run]
    return old


def _remove(directory: Path, name: str) -> None:
    """A file or a directory below this one, and what is empty above it then. Names from files cannot lead elsewhere."""
    path = (directory / name).resolve()
    if not name or path == directory.resolve() or not path.is_relative_to(directory.resolve()):
        return
    if path.is_dir():
        shutil.rmtree(path)
    else:
        path.unlink(missing_ok=True)
    for above in _below(directory.resolve(), path):
        with suppress(OSError):  # it is not empty
            above.rmdir()


def _below(directory: Path, path: Path) -> Iterator[Path]:
    yield from (above for above in path.parents if above != directory and above.is_relative_to(directory))


def _changed(file: Path) -> datetime:
    return datetime.fromtimestamp(file.stat().st_mtime, UTC)
