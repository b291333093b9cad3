"""What people decided after a reconciliation: `LAKE/decisions/<run>.json`, one file a decision, replaced as a whole."""

from dataclasses import asdict, dataclass
from datetime import datetime

from lakehouse.lake import Lake, write_json
from lakehouse.reports import run_name


@dataclass(frozen=True)
class Decision:
    """`run` is the one that asked; `reconciliation` the one that it asked about."""

    run: str
    reconciliation: str
    decision: str
    by: str
    at: str


def keep_decision(lake: Lake, run: str, reconciliation: str, *, decision: str, by: str, at: datetime) -> Decision:
    """Keep the decision. A run decides once: its retry writes the same again."""
    made = Decision(run_name(run), run_name(reconciliation), decision, by, at.isoformat())
    directory = lake.path / "decisions"
    directory.mkdir(mode=0o700, exist_ok=True)
    write_json(directory / f"{made.run}.json", asdict(made))
    return made
