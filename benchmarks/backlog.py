"""Backlogs: what has landed and is not ingested yet, what is ingested and not streamed yet, and whether that grows."""

import os
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from statistics import mean

from benchmarks.probes import MEASURED
from lakehouse.changelogs import boundary
from lakehouse.errors import NothingToCompare
from lakehouse.lake import Lake
from lakehouse.log import position
from lakehouse.pipelines import default_pipeline
from lakehouse.progress import progress

SLACK = 2.0
"""Seconds of arrivals by which the mean backlog of the last third may exceed that of the first: one micro-batch more or less."""
DELIVERED = 0.97
"""The part of the asked rate that has to have landed: below it the lander was too slow, and the system was not asked."""


@dataclass(frozen=True)
class Sample:
    """How far everything had come, at a time in seconds."""

    at: float
    landed: int
    """Lines in landing files."""
    ingested: int
    """Lines in the log and beside it."""
    logged: int
    """Events of the log."""
    streamed: int
    """Events of the log that the stream has consumed."""
    batches: dict[str, tuple[int, float]]
    """Micro-batches and the seconds that they took in all, by query."""

    @property
    def waiting(self) -> int:
        return self.landed - self.ingested + self.logged - self.streamed


class Landed:
    """Counts the lines that have landed, each file once."""

    def __init__(self, landing: Path) -> None:
        self._landing = landing
        self._counted: set[str] = set()
        self._lines = 0

    def lines(self) -> int:
        for entry in os.scandir(self._landing):
            if entry.name.endswith(".jsonl") and entry.name not in self._counted:
                self._counted.add(entry.name)
                self._lines += Path(entry.path).read_bytes().count(b"\n")
        return self._lines


def sampled(lake: Lake, landed: Landed, at: float) -> Sample:
    here = position(lake)
    try:
        streamed = position(lake, boundary(lake, default_pipeline().catalogue()[MEASURED]).log_version).seq
    except NothingToCompare:
        streamed = 0
    batches = {each.query: (each.batches, each.seconds) for each in progress(lake)}
    return Sample(at, landed.lines(), here.lines, here.seq, streamed, batches)


def sustained(samples: Sequence[Sample], rate: float) -> bool:
    """Whether all of the rate landed and what waited did not grow. Quantiles over a growing queue tell how long one looked."""
    third = len(samples) // 3
    if not third:
        return False
    one, two = samples[0], samples[-1]
    delivered = (two.landed - one.landed) / (two.at - one.at)
    first, last = (mean(each.waiting for each in part) for part in (samples[:third], samples[-third:]))
    return delivered >= rate * DELIVERED and last - first <= rate * SLACK


def by_minute(samples: Sequence[Sample]) -> Iterator[tuple[int, list[Sample]]]:
    for minute in sorted({int(each.at // 60) for each in samples}):
        found = [each for each in samples if each.at // 60 == minute]
        if len(found) > 1:
            yield minute, found


def took(one: Sample, two: Sample, query: str) -> str:
    """The mean length of the micro-batches between two samples, in seconds."""
    before, after = one.batches.get(query, (0, 0.0)), two.batches.get(query, (0, 0.0))
    batches = after[0] - before[0]
    return f"{(after[1] - before[1]) / batches:.2f}" if batches else "-"
