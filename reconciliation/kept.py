"""The verdict that a run has kept for people and schedulers: `LAKE/reports/<run>.json`, one entry for each result.

A scheduler compares all results of a run with one start of Spark, and then asks for each of them alone. So a verdict can be
told again from here, without Spark. It is told once: who asks a second time, after a repair or because too little was
settled, wants it compared again. The new verdict takes the place of the old one in the file of its run, beside those of the
other results.

Several processes may do that at once. Python writes the file, so Python holds the lock.
"""

import fcntl
import json
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import fields, replace
from pathlib import Path
from typing import Any

from lakehouse.lake import Lake, write_json
from lakehouse.reports import report_page
from reconciliation.headings import heading
from reconciliation.sentences import agreement
from reconciliation.verdict import Audit, AuditBucket, Difference, ResultVerdict, Verdict

SHOWN = 8  # differing keys of a result that are told again; all of them are in the history


def page_of(lake: Lake, run: str, asked: Sequence[str]) -> Path:
    """Where the report is kept: under the name of the run, or beside that if the run has judged other results too."""
    page = report_page(lake, run)
    return report_page(lake, f"{run}.{'+'.join(asked)}") if _others(_read(page), asked) else page


def keep_verdict(lake: Lake, run: str, verdict: Verdict, page: Path) -> None:
    """Keep the verdict of a run; of other results that the run has judged, what it found stays."""
    entries = {each.result: _entry(each, page) for each in verdict.results}
    with _alone(lake, run) as file:
        before = _read(file)
        if before is not None and _others(before, list(entries)):
            entries = {each["result"]: entries.get(each["result"], each) for each in before["results"]}
            verdict = replace(verdict, results=[_result(each) for each in entries.values()])
        said = {**verdict.as_dict(), "run": run, "heading": heading(verdict), "sentence": agreement(verdict)}
        write_json(file, {**said, "results": list(entries.values())})


def told_verdict(lake: Lake, run: str, asked: Sequence[str]) -> Verdict | None:
    """What the run has found about these results, told for the first time; none otherwise."""
    with _alone(lake, run) as file:
        said = _read(file)
        entries = [each for each in said["results"] if each["result"] in asked] if said else []
        if said is None or len(entries) < len(asked) or any(each.get("told") for each in entries):
            return None
        for each in entries:
            each["told"] = True
        write_json(file, said)
    audit = said["audit"]
    return Verdict(
        id=said["id"],
        at=said["at"],
        candidate=said["candidate"],
        policy=said["policy"],
        results=[_result(each) for each in entries],
        audit=Audit(
            audit["files"], [AuditBucket(**each) for each in audit["buckets"]], audit["reasons"], audit["unavailable"]
        ),
        least_settled=said["least_settled"],
    )


def _entry(result: ResultVerdict, page: Path) -> dict[str, Any]:
    shown = replace(result, differences=result.differences[:SHOWN])
    return {**shown.as_dict(), "report": page.name, "told": False}


def _result(entry: dict[str, Any]) -> ResultVerdict:
    given = {each.name: entry[each.name] for each in fields(ResultVerdict)}
    return ResultVerdict(**{**given, "differences": [Difference(**each) for each in entry["differences"]]})


def _others(said: dict[str, Any] | None, asked: Sequence[str]) -> bool:
    return said is not None and not {each["result"] for each in said["results"]} <= set(asked)


def _read(page: Path) -> dict[str, Any] | None:
    file = page.with_suffix(".json")
    return dict(json.loads(file.read_text())) if file.exists() else None


@contextmanager
def _alone(lake: Lake, run: str) -> Iterator[Path]:
    """The file of the run, while nobody else writes one."""
    lock_file = lake.lock_file("reports")
    lock_file.parent.mkdir(parents=True, exist_ok=True)
    with lock_file.open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        yield report_page(lake, run).with_suffix(".json")
