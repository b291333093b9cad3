"""The status of a run as the API tells it is the one that the reconciliation ended with."""

from datetime import UTC, datetime
from typing import Any, cast

import pytest

from serving.reader import Reader
from serving.verdicts import reconciliation


class Kept:
    """A history of one run."""

    def __init__(self, *statuses: str, balanced: bool | None) -> None:
        numbers = dict.fromkeys(
            ("keys", "compared", "equal", "differing", "in_flight", "unexplained", "log_version"), 0
        )
        run = {"id": "run", "at": datetime(2026, 3, 1, tzinfo=UTC), "candidate": "kappa", "policy": "correct"}
        self.rows = [
            {**numbers, **run, "result": f"result {n}", "version": 1, "status": status,
             "audit_balanced": balanced, "verdict": "{}"}
            for n, status in enumerate(statuses)
        ]  # fmt: skip

    def table(self, *_: object, **__: object) -> list[dict[str, Any]]:
        return self.rows


@pytest.mark.parametrize(
    ("statuses", "balanced", "told"),
    [
        (("agree", "agree"), True, "agree"),
        (("agree", "could not compare"), True, "could not compare"),
        (("could not compare", "differ"), True, "differ"),
        (("agree", "agree"), False, "differ"),
        (("agree", "could not compare"), False, "differ"),
        (("agree", "agree"), None, "could not compare"),
        (("agree", "differ"), None, "differ"),
    ],
)
def test_the_worst_of_the_results_and_the_audit_decides(
    statuses: tuple[str, ...], balanced: bool | None, told: str
) -> None:
    run = reconciliation(cast(Reader, Kept(*statuses, balanced=balanced)), "run")
    assert run is not None and run["status"] == told
