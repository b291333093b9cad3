"""The fault `load`: a long run at a steady pace, with a burst half-way, and the memory watched all along.

What cannot be taken in at once has to wait on disk, as landing files. Memory and state belong to what is open in event
time, so after the first part of the run neither may grow with it.
"""

import contextlib
import random
import time
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from statistics import median

import psutil

from chaos.faults import Fault
from chaos.system import Incident, System
from chaos.violation import Violation
from lakehouse.lake import write_json
from lakehouse.landings import manifests
from lakehouse.log import position

PACE = 6.0
"""Seconds between two landing files at a steady pace; on two cores all keep up with it."""
BURST = 1.0
"""The files that land at once half-way, by those of the whole run at its pace. One after the other, ten times as fast as before,
ingestion keeps up with them."""
STRETCH = 10 * PACE
"""In no stretch so long may nothing land: a run that idles measures nothing."""
SAMPLE = 5.0
FEWEST = 6
"""Looks at the system in the shortest run, a minute, on a busy machine: each of the parts that are compared has two then."""
MEGABYTE = 1024 * 1024
LIMIT = 1536 * MEGABYTE
"""What a writer may hold at any moment: its heap, and as much again for code, buffers and Python."""
GROWTH, SLACK, STEADY = 1.25, 64 * MEGABYTE, 10.0
"""In a run of so many minutes or more: what its last part may need of what the part before the burst has needed, and what
does not matter. In a shorter one a JVM is still warming up."""
HEAP = {"PARITY_SPARK__OPTIONS": '{"spark.driver.memory": "768m"}'}
"""A JVM takes what it is given. With little, what would grow without bound ends the process instead of the run."""


@dataclass(frozen=True)
class Sample:
    """What the system held at one moment."""

    at: float
    ingest: int
    stream: int
    state: int
    landed: int
    """Landing files so far."""
    waiting: int
    """Landing files that are not in the log yet."""


def files_for(minutes: float) -> int:
    """How many landing files such a run lets land: all of its pace, and the burst."""
    return paced(minutes * 60) + burst_of(minutes * 60)


def paced(seconds: float) -> int:
    """How many files have landed by their pace after so many seconds."""
    return int(seconds / PACE)


def burst_of(seconds: float) -> int:
    return round(seconds / PACE * BURST)


def load(minutes: float) -> Fault:
    """A run of so many minutes at a steady pace; half-way as many files land at once as in all of it."""

    def inject(system: System, _: random.Random) -> Incident:
        samples = list(_sampled(system, minutes * 60))
        ended = time.monotonic()
        write_json(system.lake.path / "load.json", {"samples": [asdict(each) for each in samples]})
        return Incident(_judged(samples, minutes), ended)

    return Fault("load", inject)


def _sampled(system: System, seconds: float) -> Iterator[Sample]:
    """Let files land at their pace, and look at the system every few seconds. A look that takes long delays no file for good."""
    begun = time.monotonic()
    burst, landed, looked = burst_of(seconds), 0, 0.0
    while (now := time.monotonic() - begun) < seconds:
        for _ in range(paced(now) - landed):
            system.deliveries.one()
        landed = paced(now)
        if burst and now >= seconds / 2:
            for _ in range(burst):
                system.deliveries.one()
            burst, looked = 0, -SAMPLE  # what waits now is looked at now
        if now - looked >= SAMPLE:
            looked = now
            yield _sample(system, now)
        time.sleep(0.1)


def _sample(system: System, at: float) -> Sample:
    state = sum(
        file.stat().st_size
        for result in system.results
        for file in _files(system.checkpoint("stream", result) / "state")
    )
    taken = sum(len(files) for number, files in manifests(system.lake) if number <= position(system.lake).batch)
    return Sample(
        at, resident(system.process("ingest").pid), resident(system.process("stream").pid), state,
        system.deliveries.landed, system.deliveries.landed - taken,
    )  # fmt: skip


def resident(pid: int) -> int:
    """Bytes of memory that a process and what it started hold, shared ones counted once.

    The JVM starts helpers that have all of its memory for a moment.
    """
    held = 0
    process = psutil.Process(pid)
    for each in (process, *process.children(recursive=True)):
        with contextlib.suppress(psutil.NoSuchProcess):
            held += each.memory_full_info().pss
    return held


def _files(directory: Path) -> Iterator[Path]:
    for file in directory.rglob("*"):
        if file.is_file():
            yield file


def _judged(samples: Sequence[Sample], minutes: float) -> str:
    """What the run needed, in a sentence. More at its end than before the burst is a violation, and so is a run that idles."""
    _refuse_idle(samples, minutes * 60)
    early, late = _part(samples, 0.25, 0.5), _part(samples, 0.75, 1.0)
    told = []
    for name in ("ingest", "stream", "state"):
        before, after = (median(getattr(sample, name) for sample in part) for part in (early, late))
        most = max(getattr(sample, name) for sample in samples)
        if most > LIMIT:
            raise Violation(f"{name} held {most / MEGABYTE:.0f} MB, more than {LIMIT / MEGABYTE:.0f}")
        if minutes >= STEADY and after > before * GROWTH and after - before > SLACK:
            raise Violation(
                f"{name} grew from {before / MEGABYTE:.0f} to {after / MEGABYTE:.0f} MB in {minutes:g} minutes"
            )
        before, after, most = (round(size / MEGABYTE) for size in (before, after, most))
        told.append(f"{name} {before} MB before the burst, {after} MB at the end, {most} MB at most")
    waiting, left = max(sample.waiting for sample in samples), samples[-1].waiting
    return (
        f"{minutes:g} minutes of load, and as much again at once: up to {waiting} landing files waited on disk, "
        f"{left} at the end; " + ", ".join(told)
    )


def _refuse_idle(samples: Sequence[Sample], seconds: float) -> None:
    """Memory that does not grow where nothing lands says nothing: files have to land all along, and all of the burst."""
    if len(samples) < FEWEST:
        raise Violation(
            f"the load was looked at {len(samples)} times in {seconds:.0f} s, which is too seldom to judge it"
        )
    last = samples[0]
    for sample in samples[1:]:
        if sample.landed > last.landed:
            last = sample
        elif sample.at - last.at > STRETCH:
            raise Violation(
                f"nothing landed from {last.at:.0f} s to {sample.at:.0f} s of the load, {last.landed} files in all"
            )
    wanted = paced(samples[-1].at) - paced(samples[0].at) + burst_of(seconds)
    if (landed := samples[-1].landed - samples[0].landed) < wanted:
        raise Violation(f"{landed} files landed during the load, and {wanted} had to")


def _part(samples: Sequence[Sample], first: float, last: float) -> Sequence[Sample]:
    return samples[int(len(samples) * first) : int(len(samples) * last)]
