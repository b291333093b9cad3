"""What the micro-batches of each streaming query took since it was started, kept in the lake for whoever watches it.

LAKE/progress/door_counts@1.json    replaced as a whole by the process that runs the query; `parity serve` reads it
"""

import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from datetime import datetime
from typing import Any

from lakehouse.lake import Lake, write_json
from transformations.durations import iso

BUCKETS = (0.25, 0.5, 1, 2, 4, 8, 16, 32, 64)
"""Upper bounds in seconds; a micro-batch counts in each that it did not exceed, as in a histogram of Prometheus."""


@dataclass
class Progress:
    """The micro-batches of one run of a query. Triggers that found nothing to do are none."""

    query: str
    started_at: str
    batches: int = 0
    rows: int = 0
    seconds: float = 0.0
    buckets: dict[str, int] = field(default_factory=lambda: {str(bound): 0 for bound in BUCKETS})
    last: dict[str, Any] | None = None
    """`batch`, `rows`, `seconds`, and `at`: when it began."""

    def add(self, *, batch: int, rows: int, seconds: float, at: str) -> None:
        self.batches += 1
        self.rows += rows
        self.seconds = round(self.seconds + seconds, 3)
        for bound in BUCKETS:
            self.buckets[str(bound)] += seconds <= bound
        self.last = {"batch": batch, "rows": rows, "seconds": seconds, "at": at}


def begun(query: str, at: datetime) -> Progress:
    return Progress(query, iso(at))


def note_progress(lake: Lake, progress: Progress) -> None:
    """Replace what the lake knows of the query."""
    write_json(lake.path / "progress" / f"{progress.query}.json", asdict(progress))


def progress(lake: Lake) -> list[Progress]:
    """What every query has noted, by name; one that has ended leaves its last note."""
    found = (_read(file.read_text()) for file in sorted((lake.path / "progress").glob("[!.]*.json")))
    return sorted(found, key=lambda each: each.query)


def _read(text: str) -> Progress:
    content: Mapping[str, Any] = json.loads(text)
    return Progress(**content)
