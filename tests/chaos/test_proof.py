"""What the proof makes of a verdict: it agrees, compares each result, and its audit comes to the account."""

from copy import deepcopy
from typing import Any

import pytest
from accounts import RESULTS
from game import catalogue

from chaos.accounting import Account, Arrived
from chaos.lines import Event
from chaos.proof import judged
from chaos.violation import Violation

KNOWN = [catalogue()[name] for name in RESULTS]
ACCOUNT = Account([Arrived(n, Event(str(n), "heartbeat", n, n, {})) for n in range(10)], duplicates=3, quarantined=2)


def verdict() -> dict[str, Any]:
    of_result = {"compared": 5, "equal": 5, "differing": 0, "duplicate_revisions": 0, "behind": 0, "engine_wrong": None}
    results = [{**of_result, "result": name, "by_cause": {}, "log_version": 4, "late_events": 1} for name in RESULTS]
    buckets = [
        {"landed": 10, "accepted": 7, "duplicate": 2, "quarantined": 1},
        {"landed": 5, "accepted": 3, "duplicate": 1, "quarantined": 1},
    ]
    return {"results": results, "audit": {"unavailable": None, "balanced": True, "buckets": buckets}, "status": "agree"}


def test_where_nothing_is_wrong_it_says_what_was_compared() -> None:
    figures = {
        "log_version": 4,
        "equal": 20,
        "repaired": 4,
        "landed": 15,
        "accepted": 10,
        "duplicate": 3,
        "quarantined": 2,
    }
    assert judged(verdict(), KNOWN, ACCOUNT) == figures


WRONG: dict[str, tuple[dict[str, Any], str]] = {
    "one key differs": ({"differing": 1}, "{'differing': 1} of 5 settled keys"),
    "a revision is there twice": ({"duplicate_revisions": 2}, "{'duplicate_revisions': 2}"),
    "a key is behind": ({"behind": 1}, "{'behind': 1}"),
    "the engine was wrong": ({"engine_wrong": 1}, "{'engine_wrong': 1}"),
    "nothing of it was compared": ({"compared": 0, "equal": 0}, "not one settled key was compared of player_sessions"),
}


@pytest.mark.parametrize("name", WRONG)
def test_what_is_wrong_with_one_of_the_results_is_a_violation(name: str) -> None:
    changed, said = WRONG[name]
    wrong = verdict()
    wrong["results"][1].update(changed)
    with pytest.raises(Violation) as found:
        judged(wrong, KNOWN, ACCOUNT)
    assert said in str(found.value)


def test_keys_may_be_behind_before_the_batch_layer_is_recomputed_and_nothing_else_may() -> None:
    behind = verdict()
    behind["results"][0]["behind"] = 3
    assert judged(behind, KNOWN, ACCOUNT, behind=True)["equal"] == 20
    behind["results"][0]["differing"] = 1
    with pytest.raises(Violation, match="differing"):
        judged(behind, KNOWN, ACCOUNT, behind=True)


def test_a_result_that_is_left_out_is_a_violation() -> None:
    short = verdict()
    del short["results"][2]
    with pytest.raises(Violation, match="not one settled key was compared of offer_outcomes"):
        judged(short, KNOWN, ACCOUNT)


def test_an_audit_that_balances_and_is_not_the_account_is_a_violation() -> None:
    """1 accepted, 14 quarantined: the sum is right."""
    wrong = deepcopy(verdict())
    wrong["audit"]["buckets"] = [{"landed": 15, "accepted": 1, "duplicate": 0, "quarantined": 14}]
    with pytest.raises(
        Violation, match="the input audit says .*'accepted': 1.* and the landing files .*'accepted': 10"
    ):
        judged(wrong, KNOWN, ACCOUNT)


@pytest.mark.parametrize("audit", [{"balanced": False}, {"unavailable": "3 landing files are gone"}])
def test_an_audit_that_cannot_be_made_or_does_not_balance_is_a_violation(audit: dict[str, Any]) -> None:
    wrong = verdict()
    wrong["audit"].update(audit)
    with pytest.raises(Violation, match="the input audit does not balance"):
        judged(wrong, KNOWN, ACCOUNT)


@pytest.mark.parametrize("status", ["differ", "could not compare"])
def test_no_other_verdict_than_agreement_is_enough(status: str) -> None:
    with pytest.raises(Violation, match=status):
        judged({**verdict(), "status": status}, KNOWN, ACCOUNT)
