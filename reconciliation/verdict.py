"""What a reconciliation found, as plain data: printed, kept in the lake, and shown in the report."""

from dataclasses import asdict, dataclass, field
from typing import Any, Literal

Status = Literal["agree", "differ", "could not compare"]
EXIT_CODES: dict[Status, int] = {"agree": 0, "differ": 1, "could not compare": 2}
UNEXPLAINED = "unexplained"


@dataclass(frozen=True)
class Difference:
    """One differing key: both sides, the cells that differ, and the causes that were earned with their events."""

    key: dict[str, Any]
    window_start: str
    window_end: str | None
    batch: dict[str, Any] | None
    candidate: dict[str, Any] | None
    differing: list[str]
    causes: list[str]
    event_ids: list[str]
    events_named: int
    evidence: str | None
    batch_code: str | None = None
    """The code that made the row of this side; none where there is no row, or where the side carries no stamps."""
    candidate_code: str | None = None


@dataclass(frozen=True)
class ResultVerdict:
    """The comparison of one result. `compared` keys are `equal` or `differing`; the others are told apart by why not."""

    result: str
    version: int
    candidate: str
    log_version: int
    high_water: str
    settled_before: str
    keys: int
    compared: int
    equal: int
    differing: int
    open: int
    open_equal: int
    behind: int
    beyond_horizon: int
    by_cause: dict[str, int]
    unexplained: int
    duplicate_revisions: int
    engine_alone: int | None
    engine_wrong: int | None
    late_events: int
    candidate_code: list[str]
    batch_code: list[str]
    too_few: bool
    """Fewer keys than the settings ask for are settled and comparable: the result was not judged."""
    empty: bool = False
    """Neither side has a row, the batch layer has computed the interval, and the log at the pin gives none either."""
    differences: list[Difference] = field(default_factory=list)

    @property
    def status(self) -> Status:
        if self.differing or self.engine_wrong:
            return "differ"
        return "could not compare" if self.too_few else "agree"

    @property
    def in_question(self) -> int:
        """The keys that a verdict is about: all but those beyond the horizon."""
        return self.keys - self.beyond_horizon

    @property
    def share_equal(self) -> float | None:
        return self.equal / self.compared if self.compared else None

    def as_dict(self) -> dict[str, Any]:
        return {**asdict(self), "status": self.status}


@dataclass(frozen=True)
class AuditBucket:
    """One hour of event time as the lines themselves say it: what landed, and what became of it."""

    bucket: str
    landed: int
    accepted: int
    duplicate: int
    quarantined: int

    @property
    def balanced(self) -> bool:
        return self.landed == self.accounted

    @property
    def accounted(self) -> int:
        """The lines of which it is known what became of them."""
        return self.accepted + self.duplicate + self.quarantined


@dataclass(frozen=True)
class Audit:
    """The input audit. `unavailable` says why nothing could be counted, e.g. because the landing files are gone."""

    files: int
    buckets: list[AuditBucket]
    reasons: dict[str, int]
    unavailable: str | None = None

    @property
    def balanced(self) -> bool | None:
        """None where nothing could be counted: no bucket that does not balance is not a balance."""
        return None if self.unavailable else not self.unbalanced

    @property
    def unbalanced(self) -> list[AuditBucket]:
        return [bucket for bucket in self.buckets if not bucket.balanced]

    def total(self, name: Literal["landed", "accepted", "duplicate", "quarantined"]) -> int:
        return sum(int(getattr(bucket, name)) for bucket in self.buckets)


@dataclass(frozen=True)
class Verdict:
    """The whole of one reconciliation."""

    id: str
    at: str
    candidate: str
    policy: str
    results: list[ResultVerdict]
    audit: Audit
    least_settled: float

    @property
    def status(self) -> Status:
        """The worst of the results and the audit: nothing that was judged makes up for something that was not.

        Both layers read the same log. What ingestion lost or doubled is in the answers of both, and the audit alone sees it.
        """
        if any(result.status == "differ" for result in self.results) or self.audit.balanced is False:
            return "differ"
        return "could not compare" if self.not_judged or not self.results or self.audit.unavailable else "agree"

    @property
    def alike(self) -> bool:
        """Whether every result agrees, whatever the audit says."""
        return bool(self.results) and all(result.status == "agree" for result in self.results)

    @property
    def not_judged(self) -> list[ResultVerdict]:
        """The results of which too few keys were settled, whatever the others say."""
        return [result for result in self.results if result.too_few]

    @property
    def exit_code(self) -> int:
        return EXIT_CODES[self.status]

    @property
    def unexplained(self) -> int:
        return sum(result.unexplained for result in self.results)

    def as_dict(self) -> dict[str, Any]:
        results = [result.as_dict() for result in self.results]
        audit = {**asdict(self.audit), "balanced": self.audit.balanced}
        return {**asdict(self), "results": results, "audit": audit, "status": self.status, "exit_code": self.exit_code}
