"""The faults that a run draws from: what is done to the system, by name.

Each lets something land, strikes, and leaves the system running again; how long that takes to recover is measured by who
asked for it.
"""

import random
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from typing import Literal

from chaos.damages import DAMAGES, INDEX_DAMAGES, Checkpointed, Damage
from chaos.kills import killed
from chaos.moments import MOMENTS
from chaos.subject import Subject
from chaos.system import PATIENCE, STRUCK_NAMES, Incident, System, Writer
from chaos.violation import Violation
from lakehouse.arrivals import ARRIVALS
from transformations.result import Result

REFUSED = 2
DISK_FULL = "disk-full"
Strikes = Literal["any", "a state", "repairs"]


@dataclass(frozen=True)
class Fault:
    name: str
    inject: Callable[[System, random.Random], Incident]
    strikes: Strikes = "any"
    """What there has to be a result of."""

    def suits(self, subject: Subject) -> bool:
        """Whether the pipeline has what this fault strikes."""
        return bool({"any": subject.results, "a state": subject.stateful, "repairs": subject.repaired}[self.strikes])


def faults() -> dict[str, Fault]:
    """Every fault by its name."""
    return {fault.name: fault for fault in _all()}


def _all() -> Iterator[Fault]:
    for writer, moments in MOMENTS.items():
        for moment in moments:
            yield Fault(f"kill-{writer}-{moment.name}", partial(killed, writer, moment, late=False))
    for moment in MOMENTS["stream"]:
        yield Fault(f"kill-repair-{moment.name}", partial(killed, "stream", moment, late=True), "repairs")
    for writer in ("ingest", "stream"):
        yield Fault(f"pause-{writer}", partial(_paused, writer))
    for writer in MOMENTS:
        yield Fault(f"{DISK_FULL}-{writer}", partial(_disk_full, writer))
    for damage in DAMAGES:
        yield Fault(
            f"stream-{damage.name}", partial(_damaged, "stream", damage), "a state" if damage.stateful else "any"
        )
        if not damage.stateful:
            yield Fault(f"ingest-{damage.name}", partial(_damaged, "ingest", damage))
    for damage in INDEX_DAMAGES:
        yield Fault(damage.name, partial(_index_damaged, damage))
    yield Fault("engines-changed", _engines_changed)
    yield Fault("compaction", _compaction)
    yield Fault("late-storm", _late_storm)
    yield Fault("copies", _copies)
    yield Fault("reordered", _reordered)
    yield Fault("backlog", _backlog)


def _paused(writer: Writer, system: System, rng: random.Random) -> Incident:
    """SIGSTOP in the middle of a micro-batch; a second instance is refused meanwhile; then SIGCONT."""
    result = rng.choice(system.results)
    places = {"ingest": "ingest.written", "stream": "stream.computed"}
    system.arm(f"stop@{places[writer]}:{_what(writer, result)}:*")
    system.deliveries.portion()
    process = system.process(writer)
    system.until(process.is_stopped, f"{STRUCK_NAMES[writer]} was to be stopped and goes on")
    struck = time.monotonic()
    system.disarm()
    second = system.begin(system.command(writer, continuous=False))
    if second.wait(PATIENCE) != REFUSED or "Another process is at work here" not in second.said:
        raise Violation(f"a second {writer} beside a stopped one was not refused: {second.said[-600:].strip()}")
    process.resume()
    return Incident(f"{STRUCK_NAMES[writer]} was stopped (SIGSTOP), a second one was refused, and it went on", struck)


def _disk_full(writer: Writer, system: System, rng: random.Random) -> Incident:
    """The disk is full when the writer is about to commit. Without a disk that can be filled, no file may grow any more."""
    result = rng.choice(system.results)
    places = {"ingest": "ingest.written", "stream": "stream.computed", "batch": "recompute.computed"}
    system.arm(f"{'full' if system.disk is None else 'stop'}@{places[writer]}:{_what(writer, result)}:*")
    system.deliveries.portion()
    if writer == "batch":
        system.start("batch")
    with _filled(system, writer):
        code = system.died(writer)
        struck, said = time.monotonic(), system.process(writer).said
    refusal = "a file may not grow any more" if system.disk is None else "the disk is full"
    if code != REFUSED or f"could not be written: {refusal}" not in said:
        raise Violation(
            f"{STRUCK_NAMES[writer]} on a full disk ended with exit code {code} and said: {said[-600:].strip()}"
        )
    system.disarm()
    process = system.start(writer)
    if writer == "batch" and process.wait(PATIENCE) != 0:
        raise Violation(f"the batch layer failed after the disk had room again: {process.said[-600:].strip()}")
    how = (
        "could write no file (a limit: there is no right to a disk of its own)"
        if system.disk is None
        else "found the disk full"
    )
    return Incident(f"{STRUCK_NAMES[writer]} {how} at its commit, said so, and was started again", struck)


@contextmanager
def _filled(system: System, writer: Writer) -> Iterator[None]:
    """The disk filled while the writer is stopped at its place; the other writers rest until there is room again."""
    if system.disk is None:
        yield
        return
    process = system.process(writer)
    system.until(process.is_stopped, f"{STRUCK_NAMES[writer]} was to be stopped before its commit and goes on")
    others = [system.process(other) for other in ("ingest", "stream") if other != writer]
    for other in others:
        other.stop()
    system.disk.fill()
    system.disarm()
    process.resume()
    try:
        yield
    finally:
        system.disk.free()
        for other in others:
            other.resume()


def _damaged(writer: Checkpointed, damage: Damage, system: System, rng: random.Random) -> Incident:
    """The checkpoint is damaged while the writer is dead. It goes on where what is left suffices; else it says what to do."""
    result = rng.choice(system.subject.stateful if damage.stateful else system.results)
    system.process(writer).kill()
    damage.do(system.checkpoint(writer, result))
    struck = time.monotonic()
    system.deliveries.portion()
    process = system.start(writer)
    system.until(
        lambda: process.code is not None or (system.ingested() and system.streamed()),
        f"{STRUCK_NAMES[writer]} neither goes on nor ends with a damaged checkpoint",
        pause=0.05,
    )
    of = "" if writer == "ingest" else f" of {result.name}"
    said = f"{STRUCK_NAMES[writer]}{of}: {damage.said}"
    if process.code is None:
        refuse_wrong_end(damage, writer, said, went_on=True)
        return Incident(f"{said}; what was left sufficed, and it went on by itself", struck)
    code = process.wait(PATIENCE)
    refuse_wrong_end(
        damage, writer, f"{said}; it ended with exit code {code}: {process.said[-600:].strip()}", went_on=False
    )
    if code != REFUSED or "--rebuild" not in process.said:
        raise Violation(f"{said}; it ended with exit code {code} and named no way out: {process.said[-600:].strip()}")
    named = ["stream", "--lake", str(system.lake.path), "--result", result.name, "--rebuild"]
    rebuilt = system.begin(named if writer == "stream" else system.command("ingest", "--rebuild", continuous=False))
    if rebuilt.wait(PATIENCE) != 0:
        raise Violation(f"{said}; --rebuild failed: {rebuilt.said[-600:].strip()}")
    system.start(writer)
    return Incident(f"{said}; it refused to go on, and --rebuild made it whole", struck)


def refuse_wrong_end(damage: Damage, writer: Checkpointed, said: str, *, went_on: bool) -> None:
    """Who goes on without what it needs would guess; who refuses although nothing is missing needs nobody's help."""
    if went_on and writer not in damage.goes_on:
        raise Violation(f"{said}; it went on by itself, and it had to refuse")
    if not went_on and writer in damage.goes_on:
        raise Violation(f"{said}; what was left suffices to go on")


def _index_damaged(damage: Damage, system: System, _: random.Random) -> Incident:
    """Copies of what the log has land next: an index that forgot them would let them in."""
    system.process("ingest").kill()
    damage.do(system.lake.ids)
    struck = time.monotonic()
    system.deliveries.copies()
    system.deliveries.portion()
    system.start("ingest")
    return Incident(f"{damage.said} while ingestion was dead", struck)


def _engines_changed(system: System, _: random.Random) -> Incident:
    """The embedded engine goes on with what Spark's had, and Spark's with what that has."""
    for engine in ("embedded", "spark"):
        system.process("ingest").kill()
        system.deliveries.portion()
        system.start("ingest", PARITY_INGESTION__ENGINE=engine)
        struck = time.monotonic()
        system.until(system.ingested, f"the {engine} engine does not go on with the log of the other one", pause=0.05)
    return Incident("ingestion was killed and went on by the other engine, twice", struck)


def _compaction(system: System, _: random.Random) -> Incident:
    struck = time.monotonic()
    maintenance = system.begin(["maintain", "--lake", str(system.lake.path)])
    system.deliveries.portion()
    if maintenance.wait(PATIENCE) != 0:
        raise Violation(f"maintenance beside the writers failed: {maintenance.said[-600:].strip()}")
    return Incident("the tables were compacted while all were at work", struck)


def _late_storm(system: System, _: random.Random) -> Incident:
    kind = system.subject.kind
    system.await_late(kind)
    struck = time.monotonic()
    count = system.deliveries.late(system.late_before(), kind=kind)
    return Incident(f"{count} files that had been held back landed at once, all of it late by then", struck)


def _copies(system: System, _: random.Random) -> Incident:
    struck = time.monotonic()
    return Incident(f"{system.deliveries.copies()} files landed a second time, under other names", struck)


def _reordered(system: System, _: random.Random) -> Incident:
    struck = time.monotonic()
    return Incident(f"{system.deliveries.shuffled()} files landed out of their order", struck)


def _backlog(system: System, _: random.Random) -> Incident:
    """Ingestion is away while three portions land."""
    system.process("ingest").kill()
    struck = time.monotonic()
    count = system.deliveries.portion(portions=3)
    system.start("ingest")
    return Incident(f"{count} files had landed while ingestion was away", struck)


def _what(writer: Writer, result: Result) -> str:
    return ARRIVALS if writer == "ingest" else result.name
