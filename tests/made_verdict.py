"""A verdict made by hand, of the types that the product has: what is added to them, a test that uses this has as well."""

from collections.abc import Sequence

from reconciliation.verdict import Audit, ResultVerdict, Verdict


def made_verdict(
    *,
    candidate: str = "kappa",
    results: Sequence[str] = ("team_scores",),
    differing: int = 0,
    unexplained: int = 0,
    compared: int = 100,
    policy: str = "correct",
) -> Verdict:
    """Each result with so many compared keys, of which so many differ; fewer than ten are too few to judge."""
    found = [
        ResultVerdict(
            result=name, version=1, candidate=candidate, log_version=3, high_water="2026-03-02T00:00:00+00:00",
            settled_before="2026-03-01T23:55:00+00:00", keys=max(compared, 10), compared=compared, equal=compared - differing,
            differing=differing, open=0, open_equal=0, behind=0, beyond_horizon=0,
            by_cause={"duplicate": differing} if differing else {}, unexplained=unexplained, duplicate_revisions=0,
            engine_alone=None, engine_wrong=None, late_events=0, candidate_code=[], batch_code=[], too_few=compared < 10,
        )
        for name in results
    ]  # fmt: skip
    return Verdict("1", "2026-03-02T00:00:00+00:00", candidate, policy, found, Audit(1, [], {}), 0.1)
