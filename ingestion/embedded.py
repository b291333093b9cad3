"""The embedded engine: ingestion in this process, without a JVM. Where the log stands is all that it goes on with."""

import time
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta

from lakehouse.lake import Lake
from lakehouse.landings import Landings
from lakehouse.log import position
from lakehouse.progress import Progress, begun, note_progress
from transformations.durations import iso

LENGTHS_KEPT = 1000


@dataclass
class Embedded:
    """What the micro-batches of a run took, as a query of Spark tells it."""

    progress: Progress
    lengths: deque[float] = field(default_factory=lambda: deque(maxlen=LENGTHS_KEPT))


def run_embedded(
    lake: Lake,
    take: Callable[[int], int],
    note: Callable[[], None],
    landings: Landings,
    *,
    every: timedelta | None,
    stop: Callable[[], bool],
) -> Embedded:
    """Take in every manifest that the log lacks, and with `every` those that `note` adds until `stop` says so."""
    ran = Embedded(begun("ingest", datetime.now(UTC)))
    while not stop():
        batch = position(lake).batch + 1
        if batch < landings.manifests:
            _timed(lake, ran, take, batch)
        elif every is None:
            break
        else:
            time.sleep(every.total_seconds())
            note()
    return ran


def _timed(lake: Lake, ran: Embedded, take: Callable[[int], int], batch: int) -> None:
    at, started = datetime.now(UTC), time.monotonic()
    rows = take(batch)
    seconds = round(time.monotonic() - started, 3)
    ran.progress.add(batch=batch, rows=rows, seconds=seconds, at=iso(at))
    ran.lengths.append(seconds)
    note_progress(lake, ran.progress)
