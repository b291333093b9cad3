"""Damage by hand: rows that neither layer has written."""

from datetime import datetime, timedelta
from pathlib import Path

import pyarrow.compute as pc
from deltalake import CommitProperties, DeltaTable, write_deltalake


def plant(lake: Path, table: str, hour: datetime) -> None:
    """A repaired row once more, with a bubble too many, as the last word about its window."""
    path = str(lake / "tables" / table)
    known = DeltaTable(path)
    rows = known.to_pyarrow_table()
    within = rows.filter((pc.field("window_start") >= hour) & (pc.field("window_start") < hour + timedelta(hours=1)))
    [row] = within.slice(0, 1).to_pylist()
    wrong = {**row, "bubbles": row["bubbles"] + 1, "cause": "late", "log_version": max(rows["log_version"].to_pylist())}
    write_deltalake(
        path, type(rows).from_pylist([wrong], schema=rows.schema), mode="append", commit_properties=_as_the_last(known)
    )


def spoil(lake: Path, table: str, minute: datetime) -> None:
    """A bubble too many in one window of a batch table."""
    path = str(lake / "tables" / table)
    known = DeltaTable(path)
    where = f"team_id = 'blue' and window_start = '{minute:%Y-%m-%dT%H:%M:%SZ}'"
    known.update(updates={"bubbles": "bubbles + 1"}, predicate=where, commit_properties=_as_the_last(known))


def _as_the_last(table: DeltaTable) -> CommitProperties:
    """What the last commit of a writer says of itself: this one is about the same version of the log."""
    said = next(commit["userMetadata"] for commit in table.history() if "userMetadata" in commit)
    return CommitProperties(custom_metadata={"userMetadata": said})
