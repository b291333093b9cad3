"""What a run found, as plain data: printed, kept as LAKE/quality/runs/<run>.json, and listed on the first page."""

from dataclasses import asdict, dataclass, field
from typing import Any, Literal

Status = Literal["met", "not met"]


@dataclass(frozen=True)
class Checked:
    """One expectation. `observed` is what was found, in words; `unexpected` counts rows, where it is about rows."""

    name: str
    description: str
    met: bool
    observed: str
    unexpected: int | None
    sample: list[dict[str, Any]]


@dataclass(frozen=True)
class CheckedTable:
    """One table at its pinned version. `page` is relative to LAKE/quality/docs."""

    table: str
    version: int
    pinned: dict[str, Any]
    expectations: list[Checked]
    page: str
    unchecked: list[dict[str, str]] = field(default_factory=list)
    """What could not be checked and why, each with `what` and `why`."""

    @property
    def failed(self) -> int:
        return sum(not each.met for each in self.expectations)

    def as_dict(self) -> dict[str, Any]:
        return {**asdict(self), "met": self.failed == 0, "failed": self.failed}


@dataclass(frozen=True)
class QualityRun:
    """The whole of one run."""

    run: str
    at: str
    log: int
    log_version: int
    tables: list[CheckedTable]
    absent: list[dict[str, str]]

    @property
    def failed(self) -> int:
        """How many tables do not meet all that is expected of them."""
        return sum(table.failed > 0 for table in self.tables)

    @property
    def unchecked(self) -> str:
        """What was not checked and why, in a sentence; nothing if there is nothing."""
        where: dict[tuple[str, str], list[str]] = {}
        for table in self.tables:
            for each in table.unchecked:
                where.setdefault((each["why"], each["what"]), []).append(table.table)
        told = [f"{what} of {_listed(tables)} ({why})" for (why, what), tables in where.items()]
        return f"Not checked: {'; '.join(told)}." if told else ""

    @property
    def sentence(self) -> str:
        """What it comes to."""
        checked, failed = (
            sum(len(each.expectations) for each in self.tables),
            sum(each.failed for each in self.tables),
        )
        of = f"{checked:,} expectations of {len(self.tables)} tables are"
        judged = f"{failed:,} of {of} not met." if failed else f"All {of} met."
        return f"{judged} {self.unchecked}".rstrip()

    @property
    def status(self) -> Status:
        return "not met" if self.failed else "met"

    @property
    def exit_code(self) -> int:
        return 1 if self.failed else 0

    def as_dict(self) -> dict[str, Any]:
        return {
            **asdict(self),
            "tables": [table.as_dict() for table in self.tables],
            "pinned": {table.table: {"version": table.version, **table.pinned} for table in self.tables},
            "failed": self.failed,
            "status": self.status,
            "unchecked": self.unchecked,
            "sentence": self.sentence,
            "exit_code": self.exit_code,
            "index": "index.html",
        }


def _listed(tables: list[str], most: int = 3) -> str:
    """The tables by name, the first of them if there are many."""
    more = len(tables) - most
    return ", ".join(tables) if more <= 1 else f"{', '.join(tables[:most])} and {more} more"
