"""Stored tables that are changed by hand, as nobody should: a row gone, added, moved or there twice.

The rows change in the data files, and Delta's commits stay as they are, so every version and every boundary is where it was.
"""

import json
import shutil
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from lakehouse.arrivals import ARRIVALS
from lakehouse.lake import Lake

Rows = list[dict[str, Any]]
Change = Callable[[Rows], Rows]


def copied(lake: Lake, directory: Path) -> Lake:
    shutil.copytree(lake.path, directory / "lake", ignore=shutil.ignore_patterns("checkpoints", "quality"))
    return replace(lake, path=directory / "lake")


FATES = {"events": "event", "duplicates": "duplicate", "quarantine": "quarantined"}
"""What is checked under these names are the rows of the arrivals with this fate."""


def stored(table: str) -> str:
    return ARRIVALS if table in FATES else table


def corrupt(lake: Lake, table: str, change: Change) -> None:
    """Change the rows of a table, file by file; a file that stays as it is is left alone."""
    folder = lake.path / "tables" / stored(table)
    change = of_fate(FATES[table], change) if table in FATES else change
    for commit in sorted((folder / "_delta_log").glob("*.json")):
        actions = [json.loads(line) for line in commit.read_text().splitlines()]
        for add in (action["add"] for action in actions if "add" in action):
            file = folder / add["path"]
            found = pq.read_table(file)
            rows = change(found.to_pylist())
            if rows != found.to_pylist():
                pq.write_table(pa.Table.from_pylist(rows, schema=found.schema), file)
                file.with_name(f".{file.name}.crc").unlink(missing_ok=True)
                add["size"] = file.stat().st_size
            add.pop("stats", None)
        rewrite(commit, actions)


def of_fate(fate: str, change: Change) -> Change:
    """The change for the rows of one fate. The others stay."""

    def changed(rows: Rows) -> Rows:
        return [row for row in rows if row["fate"] != fate] + change([row for row in rows if row["fate"] == fate])

    return changed


def rewrite(commit: Path, actions: Rows) -> None:
    commit.write_text("".join(json.dumps(action) + "\n" for action in actions))
    commit.with_name(f".{commit.name}.crc").unlink(missing_ok=True)
    commit.with_suffix(".crc").unlink(missing_ok=True)


def where(column: str, value: Any, **changes: Any) -> Change:
    """The rows whose column has the value, changed; a change may be a function of the row."""

    def changed(rows: Rows) -> Rows:
        return [{**row, **_values(row, changes)} if row[column] == value else row for row in rows]

    return changed


def without(column: str, value: Any) -> Change:
    return lambda rows: [row for row in rows if row[column] != value]


def twice(column: str, value: Any) -> Change:
    return lambda rows: [again for row in rows for again in [row] * (2 if row[column] == value else 1)]


def _values(row: dict[str, Any], changes: dict[str, Any]) -> dict[str, Any]:
    return {name: value(row) if callable(value) else value for name, value in changes.items()}
