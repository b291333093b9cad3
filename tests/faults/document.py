"""docs/faults.md, written from what the tests of faults observed: `python tests/faults/document.py OBSERVED docs/faults.md`.

A group is a file of tests; its title is the first line of the file's docstring. A test that has not observed anything is
refused: the page has all of them or is not written.
"""

import ast
import json
import os
import sys
from pathlib import Path
from typing import Any

HERE = Path(__file__).parent
GROUPS = (
    "test_kills_of_ingestion.py",
    "test_kills.py",
    "test_killed_relogs.py",
    "test_checkpoints.py",
    "test_instances.py",
    "test_delivery_faults.py",
    "test_delivery_times.py",
    "test_poison_lines.py",
    "test_poison_files.py",
    "test_poison_absence.py",
    "test_storage.py",
    "test_batch_faults.py",
    "test_clock_faults.py",
    "test_bounds.py",
)


def tests_of(file: Path) -> list[str]:
    """The names of the tests in a file, in their order."""
    body = ast.parse(file.read_text()).body
    return [each.name for each in body if isinstance(each, ast.FunctionDef) and each.name.startswith("test_")]


def observations(directory: Path) -> dict[str, list[dict[str, Any]]]:
    """What was observed, by test."""
    found: dict[str, list[dict[str, Any]]] = {}
    for file in sorted(directory.glob("*.json"), key=lambda file: file.stat().st_mtime_ns):
        for each in json.loads(file.read_text()):
            found.setdefault(each["test"], []).append(each)
    return found


def page(observed: dict[str, list[dict[str, Any]]]) -> str:
    """The whole page."""
    parts = [(HERE / "faults.head.md").read_text().format(cores=os.cpu_count())]
    for group in GROUPS:
        docstring = ast.get_docstring(ast.parse((HERE / group).read_text())) or ""
        title, _, more = docstring.partition("\n")
        parts.append(f"## {title.rstrip('.')}\n")
        if more.strip():
            parts.append(" ".join(more.split()) + "\n")
        parts.append("| Fault | What happened | Recovery | Where |\n| --- | --- | --- | --- |")
        parts += [_row(each) for name in tests_of(HERE / group) for each in observed[f"{group}::{name}"]]
        parts.append(f"\nTests: `tests/faults/{group}`: {', '.join(f'`{name}`' for name in tests_of(HERE / group))}.\n")
    return "\n".join(parts)


def _row(each: dict[str, Any]) -> str:
    recovery = "" if each["recovery"] is None else f"{each['recovery']:.1f} s"
    where = "`make chaos`" if each["long"] else "`make test`"
    cells = (each["fault"], each["behaviour"], recovery, where)
    return "| " + " | ".join(cell.replace("|", "\\|").replace("\n", " ") for cell in cells) + " |"


def main(directory: Path, target: Path) -> None:
    observed = observations(directory)
    missing = [
        f"{group}::{name}" for group in GROUPS for name in tests_of(HERE / group) if f"{group}::{name}" not in observed
    ]
    if missing:
        sys.exit(
            f"Nothing was observed by {', '.join(missing)}. Run all tests of faults with FAULTS_OBSERVED={directory}."
        )
    target.write_text(page(observed))


if __name__ == "__main__":
    main(Path(sys.argv[1]), Path(sys.argv[2]))
