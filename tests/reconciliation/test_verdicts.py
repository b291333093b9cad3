"""A verdict judges every result, or says which it could not judge. As plain data: nothing here needs Spark."""

from dataclasses import replace

import pytest

from reconciliation.changes import VersionComparison
from reconciliation.headings import heading
from reconciliation.sentences import agreement
from reconciliation.verdict import Audit, AuditBucket, ResultVerdict, Verdict

JUDGED = ResultVerdict(
    result="lifetime_totals", version=1, candidate="kappa", log_version=3, high_water="", settled_before="",
    keys=90, compared=90, equal=90, differing=0, open=0, open_equal=0, behind=0, beyond_horizon=0,
    by_cause={}, unexplained=0, duplicate_revisions=0, engine_alone=None, engine_wrong=None, late_events=0,
    candidate_code=[], batch_code=[], too_few=False,
)  # fmt: skip
OPEN = replace(JUDGED, result="team_scores", keys=5, compared=0, equal=0, open=5, too_few=True)
EMPTY = replace(JUDGED, result="level_ups", keys=0, compared=0, equal=0, empty=True)
NOWHERE = replace(EMPTY, result="game_pulse", empty=False, too_few=True)
DIFFERS = replace(JUDGED, result="player_pace", equal=89, differing=1, by_cause={"lost": 1})


BALANCED = Audit(1, [], {})
UNBALANCED = Audit(1, [AuditBucket("2026-03-01T10:00Z", landed=2, accepted=1, duplicate=0, quarantined=0)], {})
UNAVAILABLE = Audit(1, [], {}, unavailable="1 of 1 landing files are gone")


def verdict(*results: ResultVerdict, audit: Audit = BALANCED) -> Verdict:
    return Verdict("id", "2026-03-01T10:00:00+00:00", "kappa", "correct", list(results), audit, 0.1)


@pytest.mark.parametrize(
    ("results", "status"),
    [
        ((JUDGED,), "agree"),
        ((JUDGED, EMPTY), "agree"),
        ((EMPTY,), "agree"),
        ((JUDGED, OPEN), "could not compare"),
        ((JUDGED, EMPTY, OPEN), "could not compare"),
        ((JUDGED, NOWHERE), "could not compare"),
        ((JUDGED, OPEN, DIFFERS), "differ"),
        ((), "could not compare"),
    ],
)
def test_one_result_that_was_not_judged_decides_however_many_keys_the_others_have(
    results: tuple[ResultVerdict, ...], status: str
) -> None:
    found = verdict(*results)
    assert found.status == status
    assert found.exit_code == {"agree": 0, "differ": 1, "could not compare": 2}[status]


@pytest.mark.parametrize(
    ("results", "audit", "status", "headed"),
    [
        ((JUDGED,), BALANCED, "agree", "The layers agree"),
        ((JUDGED,), UNBALANCED, "differ", "The layers agree, but the input audit does not balance"),
        ((JUDGED, DIFFERS), UNBALANCED, "differ", "The layers differ"),
        ((JUDGED, OPEN), UNBALANCED, "differ", "The layers differ"),
        ((JUDGED,), UNAVAILABLE, "could not compare", "The layers agree, but the input could not be audited"),
        ((EMPTY,), UNAVAILABLE, "could not compare", "The layers agree, but the input could not be audited"),
        ((JUDGED, OPEN), UNAVAILABLE, "could not compare", "The layers could not be compared"),
        ((), UNAVAILABLE, "could not compare", "The layers could not be compared"),
        ((JUDGED, DIFFERS), UNAVAILABLE, "differ", "The layers differ"),
    ],
)
def test_the_audit_is_part_of_the_verdict(
    results: tuple[ResultVerdict, ...], audit: Audit, status: str, headed: str
) -> None:
    """Both layers read one log: what it lacks or has twice is in the answers of both, and they are equal."""
    found = verdict(*results, audit=audit)
    assert (found.status, heading(found)) == (status, headed)
    assert ("could not be audited: 1 of 1 landing files are gone" in agreement(found)) == (audit is UNAVAILABLE)
    assert ("does not balance in 1 hour: 2026-03-01T10:00Z (2 landed, 1 accounted for)" in agreement(found)) == (
        audit is UNBALANCED
    )


def test_what_was_not_judged_is_named_with_its_numbers() -> None:
    said = agreement(verdict(JUDGED, OPEN, NOWHERE))
    assert "could not be compared: too few keys are settled" in said
    assert "team_scores (0 of 5 keys)" in said and "game_pulse (neither side has a row" in said
    assert "lifetime_totals" not in said


def test_a_difference_does_not_hide_what_was_not_judged() -> None:
    said = agreement(verdict(DIFFERS, OPEN))
    assert "differ at log version 3: 1 of 90 settled keys" in said and "lost 1" in said
    assert "too few keys are settled to judge team_scores (0 of 5 keys)" in said


def test_an_empty_result_is_told_as_empty_beside_those_that_are_not() -> None:
    said = agreement(verdict(JUDGED, EMPTY))
    assert "equal in all 90 settled keys of 2 results" in said and "the log gives level_ups no row" in said
    assert "the log gives level_ups no row there at log version 3, and neither has one" in agreement(verdict(EMPTY))


def test_keys_beyond_the_horizon_are_not_in_question() -> None:
    old = replace(OPEN, keys=50, beyond_horizon=45)
    assert "team_scores (0 of 5 keys)" in agreement(verdict(old))


@pytest.mark.parametrize(
    ("equal", "still_open", "changed", "status"),
    [
        (10, 0, 0, "same"),
        (10, 90, 0, "same"),
        (9, 91, 0, "could not compare"),
        (0, 0, 0, "could not compare"),
        (0, 99, 1, "differ"),
    ],
)
def test_versions_are_the_same_only_if_enough_of_them_is_settled(
    equal: int, still_open: int, changed: int, status: str
) -> None:
    found = VersionComparison(
        left="team_scores@1", right="team_scores@2", left_log_version=3, right_log_version=3, left_code=[], right_code=[],
        settings={}, after=None, equal=equal, differing=changed, only_left=0, only_right=0, open=still_open,
        least_settled=0.1, values=[],
    )  # fmt: skip
    assert found.status == status
