"""The proof after a fault: what landed is accounted for, the witness is asked if there is one, and the product judges itself.

What landed is held against the log, and the witness's answers against those of both layers, by code that shares nothing with the
product. The reconciliation runs as a process like everything else, so that nothing which the runner believes gets into the
verdict. The batch layer is judged as it is before anybody recomputes it: a recompute would wipe out what a kill has left.
"""

import json
import subprocess
import sys
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from chaos.accounting import Account, accounted
from chaos.answers import answers_as_landed, batch_as_witnessed, stream_as_witnessed
from chaos.reader import Question, Sums
from chaos.subject import Subject
from chaos.violation import Violation
from chaos.witness import Witness
from lakehouse.arrivals import ARRIVALS
from lakehouse.batches import coverage
from lakehouse.lake import Lake
from transformations.result import Result

PATIENCE = 240.0
FATES = ("landed", "accepted", "duplicate", "quarantined")


@dataclass(frozen=True)
class Proof:
    """What was found where nothing was wrong."""

    log_version: int
    equal: int
    witnessed: int | None
    """Rows that the witness has confirmed, of both layers and all results; none where the pipeline has no witness."""
    landed: int
    accepted: int
    duplicate: int
    quarantined: int
    repaired: int


def proven(
    lake: Lake,
    landing: Path,
    subject: Subject,
    environment: Mapping[str, str],
    *,
    batch_came_round: bool,
    answers: Mapping[tuple[Question, int], Sums],
) -> Proof:
    """Nothing lost, nothing doubled, nothing misjudged, and both layers say what the landing files say; else a violation.

    Where the batch layer came round in this round of faults, it has to be right as it is. The `answers` are those that a reader
    got while the faults struck.
    """
    account = accounted(landing, Path(lake.table(ARRIVALS)), subject.kinds, now=round(time.time() * 1000))
    results, witness = subject.results, _witness(subject, account)
    answers_as_landed(lake, answers, account.events)
    if witness is not None:
        batch_as_witnessed(lake, results, witness)
    if batch_came_round:
        if lacking := [result.name for result in results if not coverage(lake, result)]:
            raise Violation(f"the batch layer has come round, and has no answer for {', '.join(lacking)}")
        judged(_reconciled(lake, results, environment), results, account, behind=True)
    proof = judged(_reconciled(lake, results, environment, "--recompute"), results, account)
    if witness is None:
        return Proof(**proof, witnessed=None)
    confirmed = (batch_as_witnessed(lake, results, witness), stream_as_witnessed(lake, results, witness))
    return Proof(**proof, witnessed=sum(sum(each.values()) for each in confirmed))


def _witness(subject: Subject, account: Account) -> Witness | None:
    if subject.witness is None:
        return None
    return Witness(subject.witness, [*subject.pipeline.fields().values()], account.events, allowed=subject.allowed)


def _reconciled(lake: Lake, results: Sequence[Result], environment: Mapping[str, str], *more: str) -> dict[str, Any]:
    chosen = [part for result in results for part in ("--result", result.name)]
    command = ["reconcile", "--lake", str(lake.path), *chosen, *more, "--format", "json"]
    done = subprocess.run(
        [sys.executable, "-m", "cli.main", *command],
        env=dict(environment),
        capture_output=True,
        text=True,
        timeout=PATIENCE,
    )
    if not done.stdout.strip():
        raise Violation(f"the reconciliation ended with exit code {done.returncode}: {done.stderr[-600:].strip()}")
    verdict: dict[str, Any] = json.loads(done.stdout)
    return verdict


def judged(
    verdict: Mapping[str, Any], results: Sequence[Result], account: Account, *, behind: bool = False
) -> dict[str, int]:
    """The figures of a verdict in which nothing is wrong. Keys may be `behind` where the log has gone on since batch ran."""
    found: list[str] = []
    wanted = ("differing", "duplicate_revisions", "engine_wrong", *(() if behind else ("behind",)))
    for each in verdict["results"]:
        if wrong := {name: each[name] for name in wanted if each[name]}:
            causes = ", ".join(f"{cause} {count}" for cause, count in each["by_cause"].items())
            found.append(f"{each['result']}: {wrong} of {each['compared']} settled keys ({causes or 'no cause'})")
    of_result = {each["result"]: each["equal"] for each in verdict["results"]}
    if unproven := [result.name for result in results if not of_result.get(result.name)]:
        found.append(f"not one settled key was compared of {', '.join(unproven)}")
    found += _of_the_audit(verdict["audit"], account)
    if not found and verdict["status"] != "agree":
        found.append(f"the verdict is {verdict['status']!r}")
    if found:
        raise Violation("; ".join(found))
    return {
        "log_version": verdict["results"][0]["log_version"],
        "equal": sum(of_result.values()),
        "repaired": sum(each["late_events"] for each in verdict["results"]),
        **_totals(verdict["audit"]),
    }


def _of_the_audit(audit: Mapping[str, Any], account: Account) -> list[str]:
    """The product's own audit, which has to come to the account that was made without it."""
    totals = _totals(audit)
    if audit["unavailable"] or not audit["balanced"]:
        return [f"the input audit does not balance: {totals} {audit['unavailable'] or ''}".rstrip()]
    own = dict(zip(FATES, (account.landed, len(account.events), account.duplicates, account.quarantined), strict=True))
    return [] if totals == own else [f"the input audit says {totals}, and the landing files {own}"]


def _totals(audit: Mapping[str, Any]) -> dict[str, int]:
    return {name: sum(bucket[name] for bucket in audit["buckets"]) for name in FATES}
