"""The proof after a fault: the batch layer recomputes, the reconciliation compares, the input is audited.

Both run as processes like everything else, so that nothing which the runner believes gets into the verdict.
"""

import json
import subprocess
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from chaos.system import PATIENCE, RESULTS
from chaos.violation import Violation
from lakehouse.lake import Lake


@dataclass(frozen=True)
class Proof:
    """What the reconciliation found where nothing was wrong."""

    log_version: int
    equal: int
    landed: int
    accepted: int
    duplicate: int
    quarantined: int
    repaired: int


def proven(lake: Lake, environment: Mapping[str, str]) -> Proof:
    """All settled keys equal, every landed line accounted for, no revision twice; else it is a violation."""
    chosen = [part for name in RESULTS for part in ("--result", name)]
    command = ["reconcile", "--lake", str(lake.path), *chosen, "--recompute", "--format", "json"]
    done = subprocess.run(
        [sys.executable, "-m", "cli.main", *command],
        env=dict(environment),
        capture_output=True,
        text=True,
        timeout=PATIENCE,
    )
    if not done.stdout.strip():
        raise Violation(f"the reconciliation ended with exit code {done.returncode}: {done.stderr[-600:].strip()}")
    return _judged(json.loads(done.stdout))


def _judged(verdict: dict[str, Any]) -> Proof:
    found: list[str] = []
    for each in verdict["results"]:
        wrong = {
            name: each[name] for name in ("differing", "duplicate_revisions", "behind", "engine_wrong") if each[name]
        }
        if wrong:
            causes = ", ".join(f"{cause} {count}" for cause, count in each["by_cause"].items())
            found.append(f"{each['result']}: {wrong} of {each['compared']} settled keys ({causes or 'no cause'})")
    audit = verdict["audit"]
    totals = {
        name: sum(bucket[name] for bucket in audit["buckets"])
        for name in ("landed", "accepted", "duplicate", "quarantined")
    }
    if audit["unavailable"] or not audit["balanced"]:
        found.append(f"the input audit does not balance: {totals} {audit['unavailable'] or ''}".rstrip())
    equal = sum(each["equal"] for each in verdict["results"])
    if not found and (verdict["status"] != "agree" or not equal):
        found.append(f"the verdict is {verdict['status']!r} with {equal} equal keys")
    if found:
        raise Violation("; ".join(found))
    return Proof(
        log_version=verdict["results"][0]["log_version"],
        equal=equal,
        repaired=sum(each["late_events"] for each in verdict["results"]),
        **totals,
    )
