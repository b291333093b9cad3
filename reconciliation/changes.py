"""What a comparison of two versions found, as plain data: how many rows change, which values, and samples."""

from dataclasses import asdict, dataclass, field
from typing import Any, Literal


@dataclass(frozen=True)
class Change:
    """One settled row that is not the same in both versions; a side without it is none."""

    key: dict[str, Any]
    window_start: str
    window_end: str | None
    left: dict[str, Any] | None
    right: dict[str, Any] | None
    differing: list[str]
    left_code: str | None
    right_code: str | None


@dataclass(frozen=True)
class ValueChange:
    """How often a value changes, and by how much in all, where it is a number."""

    name: str
    rows: int
    sum: float | None
    greatest: float | None


@dataclass(frozen=True)
class VersionComparison:
    """What two versions say about the same log."""

    left: str
    right: str
    left_log_version: int
    right_log_version: int
    left_code: list[str]
    right_code: list[str]
    settings: dict[str, tuple[str | None, str | None]]
    after: str | None
    """Only windows that start after this are compared: one of the versions does not count what came before."""
    equal: int
    differing: int
    only_left: int
    only_right: int
    open: int
    least_settled: float
    """The share of its keys that has to be settled, as for a verdict; below it, equal rows say too little."""
    values: list[ValueChange]
    samples: list[Change] = field(default_factory=list)

    @property
    def changed(self) -> int:
        return self.differing + self.only_left + self.only_right

    @property
    def status(self) -> Literal["same", "differ", "could not compare"]:
        if self.changed:
            return "differ"
        enough = max(1.0, self.least_settled * (self.equal + self.open))
        return "same" if self.equal >= enough else "could not compare"

    @property
    def exit_code(self) -> int:
        return {"same": 0, "differ": 1, "could not compare": 2}[self.status]

    def as_dict(self) -> dict[str, Any]:
        return {**asdict(self), "status": self.status, "exit_code": self.exit_code}
