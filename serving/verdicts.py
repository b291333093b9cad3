"""The history of verdicts, as the API tells it: `reconciliations` and `differences`, without Spark."""

import json
from typing import Any

from lakehouse.verdicts import DIFFERENCES, RECONCILIATIONS
from serving.reader import Reader
from transformations.durations import iso

_COLUMNS = (
    'id, "at", candidate, policy, result, version, log_version, status, keys, compared, equal, differing, in_flight, '
    "unexplained, audit_balanced, verdict"
)
_RUNS = f"""
    with runs as (select id, max("at") as moment from {{rows}} group by id),
    wanted as (
        select id, moment from runs
        where $after is null or (moment, id) < (select (moment, id) from runs where id = $after)
        order by moment desc, id desc limit $limit
    )
    select {_COLUMNS} from {{rows}} join wanted using (id) order by moment desc, id desc, result
"""
_RUN = f"select {_COLUMNS} from {{rows}} where id = $id order by result"
_NEWEST = """
    select candidate, result, equal, differing, unexplained from {rows}
    qualify row_number() over (partition by candidate, result order by "at" desc) = 1 order by candidate, result
"""
_DIFFERENCES = """
    select result, version, key, window_start, window_end, batch, candidate, differing, causes, event_ids, evidence
    from {rows} where id = $id order by result, window_start, key, window_end limit $limit offset $first
"""
WORST = ("differ", "could not compare", "agree")
AUDITS = {True: "agree", None: "could not compare", False: "differ"}
"""What the input audit alone would make of the verdict: it balances, could not be made, or does not balance."""


def reconciliations(reader: Reader, *, limit: int, after: str | None = None) -> list[dict[str, Any]]:
    """The runs, newest first, each with what it found for every result; only those before the run `after`."""
    rows = reader.table(RECONCILIATIONS, _RUNS, limit=limit, after=after)
    runs: dict[str, list[dict[str, Any]]] = {}
    for row in rows:
        runs.setdefault(row["id"], []).append(row)
    return [_run(found) for found in runs.values()]


def reconciliation(reader: Reader, run: str) -> dict[str, Any] | None:
    """One run, none if the lake has no such."""
    rows = reader.table(RECONCILIATIONS, _RUN, id=run)
    return _run(rows) if rows else None


def differences(reader: Reader, run: str, *, limit: int, first: int = 0) -> list[dict[str, Any]]:
    """The differing keys of a run from the place `first` on. A run is written once, so places stay what they are."""
    rows = reader.table(DIFFERENCES, _DIFFERENCES, id=run, limit=limit, first=first)
    return [
        {**row, **{name: reader.persons.renamed_object(row[name] or "null") for name in ("key", "batch", "candidate")}}
        for row in rows
    ]


def _run(rows: list[dict[str, Any]]) -> dict[str, Any]:
    first = rows[0]
    statuses = {row["status"] for row in rows}
    results = [
        {
            **{name: row[name] for name in ("result", "version", "log_version", "status", "keys", "compared", "equal")},
            **{name: row[name] for name in ("differing", "in_flight", "unexplained")},
            "by_cause": json.loads(row["verdict"]).get("by_cause", {}),
        }
        for row in rows
    ]
    return {
        "id": first["id"],
        "at": iso(first["at"]),
        "candidate": first["candidate"],
        "policy": first["policy"],
        "status": next(each for each in WORST if each in statuses | {AUDITS[first["audit_balanced"]]}),
        "compared": sum(row["compared"] for row in rows),
        "equal": sum(row["equal"] for row in rows),
        "differing": sum(row["differing"] for row in rows),
        "in_flight": sum(row["in_flight"] for row in rows),
        "unexplained": sum(row["unexplained"] for row in rows),
        "audit_balanced": first["audit_balanced"],
        "results": results,
    }


def newest_verdicts(reader: Reader) -> list[dict[str, Any]]:
    """What the last reconciliation of each candidate and result found."""
    return reader.table(RECONCILIATIONS, _NEWEST)
