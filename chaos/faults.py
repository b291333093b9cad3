"""The faults that a run draws from: what is done to the system, by name.

Each lets something land, strikes, and leaves the system running again; how long that takes to recover is measured by who
asked for it.
"""

import random
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial

from chaos.damages import DAMAGES, INDEX_DAMAGES, Damage
from chaos.moments import MOMENTS, Moment
from chaos.system import PATIENCE, System, Writer
from chaos.violation import Violation
from lakehouse.arrivals import ARRIVALS
from transformations.result import Result

KILLED = -9
REFUSED = 2
STRUCK_NAMES: dict[Writer, str] = {"ingest": "ingestion", "stream": "the stream", "batch": "the batch layer"}


@dataclass(frozen=True)
class Incident:
    """What was done, in words, and when it struck."""

    said: str
    at: float


@dataclass(frozen=True)
class Fault:
    name: str
    inject: Callable[[System, random.Random], Incident]


def faults() -> dict[str, Fault]:
    """Every fault by its name."""
    return {fault.name: fault for fault in _all()}


def _all() -> Iterator[Fault]:
    for writer, moments in MOMENTS.items():
        for moment in moments:
            yield Fault(f"kill-{writer}-{moment.name}", partial(_killed, writer, moment, late=False))
    for moment in MOMENTS["stream"]:
        yield Fault(f"kill-repair-{moment.name}", partial(_killed, "stream", moment, late=True))
    for writer in ("ingest", "stream"):
        yield Fault(f"pause-{writer}", partial(_paused, writer))
    for writer in MOMENTS:
        yield Fault(f"disk-full-{writer}", partial(_disk_full, writer))
    for damage in DAMAGES:
        yield Fault(f"stream-{damage.name}", partial(_damaged, "stream", damage))
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


def _killed(writer: Writer, moment: Moment, system: System, rng: random.Random, *, late: bool) -> Incident:
    """SIGKILL at a moment of the next micro-batch, also twice in a row at the same one."""
    result = rng.choice([each for each in system.results if each.way == "engine"] if late else system.results)
    times = rng.choice((1, 2))
    seen = None if moment.watch is None else moment.watch(system, result)
    if moment.place is not None:
        system.arm(f"{moment.place}:{_what(writer, result)}:*")
    _land(system, late=late)
    if writer == "batch":
        system.start("batch")
    struck = 0.0
    for time_left in range(times, 0, -1):
        if seen is not None:
            system.until(seen, f"{STRUCK_NAMES[writer]} was to be killed {moment.said}, and that moment does not come")
            system.process(writer).kill()
        code = system.died(writer)
        struck = struck or time.monotonic()
        if code != KILLED:
            raise Violation(
                f"{STRUCK_NAMES[writer]} was to be killed {moment.said}, and ended with exit code {code}: "
                f"{system.process(writer).said[-600:].strip()}"
            )
        if moment.watch is not None and time_left > 1:
            seen = _started_again(writer, system)
        elif time_left == 1:
            system.disarm()
        elif moment.over:
            _land(system)
        process = system.start(writer)
    if writer == "batch" and process.wait(PATIENCE) != 0:
        raise Violation(f"the batch layer failed when it was started again: {process.said[-600:].strip()}")
    of = "" if writer == "ingest" else f" of {result.name}"
    again = ", and once more at the same place" if times == 2 else ""
    kind = " in a micro-batch with repairs" if late else ""
    return Incident(f"{STRUCK_NAMES[writer]}{of} was killed{kind} {moment.said}{again}", struck)


def _started_again(writer: Writer, system: System) -> Callable[[], bool]:
    """A second kill from outside comes as soon as the writer is at work again: its log says that it has begun."""
    return lambda: "✓ Spark starts" in system.process(writer).said


def _paused(writer: Writer, system: System, rng: random.Random) -> Incident:
    """SIGSTOP in the middle of a micro-batch; a second instance is refused meanwhile; then SIGCONT."""
    result = rng.choice(system.results)
    places = {"ingest": "ingest.written", "stream": "stream.computed"}
    system.arm(f"stop@{places[writer]}:{_what(writer, result)}:*")
    _land(system)
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
    """No file may grow any more when the writer is about to commit."""
    result = rng.choice(system.results)
    places = {"ingest": "ingest.written", "stream": "stream.computed", "batch": "recompute.computed"}
    system.arm(f"full@{places[writer]}:{_what(writer, result)}:*")
    _land(system)
    if writer == "batch":
        system.start("batch")
    code = system.died(writer)
    struck, said = time.monotonic(), system.process(writer).said
    if code != REFUSED or "could not be written" not in said:
        raise Violation(
            f"{STRUCK_NAMES[writer]} on a full disk ended with exit code {code} and said: {said[-600:].strip()}"
        )
    system.disarm()
    process = system.start(writer)
    if writer == "batch" and process.wait(PATIENCE) != 0:
        raise Violation(f"the batch layer failed after the disk had room again: {process.said[-600:].strip()}")
    return Incident(f"{STRUCK_NAMES[writer]} found the disk full at its commit, said so, and was started again", struck)


def _damaged(writer: Writer, damage: Damage, system: System, rng: random.Random) -> Incident:
    """The checkpoint is damaged while the writer is dead. It goes on, or says which command makes it whole."""
    stateful = [each for each in system.results if each.way == "engine"]
    result = rng.choice(stateful if damage.stateful else system.results)
    system.process(writer).kill()
    damage.do(system.checkpoint(writer, result))
    struck = time.monotonic()
    _land(system)
    process = system.start(writer)
    system.until(
        lambda: process.code is not None or (system.ingested() and system.streamed()),
        f"{STRUCK_NAMES[writer]} neither goes on nor ends with a damaged checkpoint",
        pause=0.05,
    )
    of = "" if writer == "ingest" else f" of {result.name}"
    said = f"{STRUCK_NAMES[writer]}{of}: {damage.said}"
    if process.code is None:
        return Incident(f"{said}; it went on by itself", struck)
    code = process.wait(PATIENCE)
    if code != REFUSED or "--rebuild" not in process.said:
        raise Violation(f"{said}; it ended with exit code {code} and named no way out: {process.said[-600:].strip()}")
    named = ["stream", "--lake", str(system.lake.path), "--result", result.name, "--rebuild"]
    rebuilt = system.begin(named if writer == "stream" else system.command("ingest", "--rebuild", continuous=False))
    if rebuilt.wait(PATIENCE) != 0:
        raise Violation(f"{said}; --rebuild failed: {rebuilt.said[-600:].strip()}")
    system.start(writer)
    return Incident(f"{said}; it refused to go on, and --rebuild made it whole", struck)


def _index_damaged(damage: Damage, system: System, _: random.Random) -> Incident:
    """Copies of what the log has land next: an index that forgot them would let them in."""
    system.process("ingest").kill()
    damage.do(system.lake.ids)
    struck = time.monotonic()
    system.deliveries.copies()
    _land(system)
    system.start("ingest")
    return Incident(f"{damage.said} while ingestion was dead", struck)


def _engines_changed(system: System, _: random.Random) -> Incident:
    """The embedded engine goes on with what Spark's had, and Spark's with what that has."""
    for engine in ("embedded", "spark"):
        system.process("ingest").kill()
        _land(system)
        system.start("ingest", PARITY_INGESTION__ENGINE=engine)
        struck = time.monotonic()
        system.until(system.ingested, f"the {engine} engine does not go on with the log of the other one", pause=0.05)
    return Incident("ingestion was killed and went on by the other engine, twice", struck)


def _compaction(system: System, _: random.Random) -> Incident:
    struck = time.monotonic()
    maintenance = system.begin(["maintain", "--lake", str(system.lake.path)])
    _land(system)
    if maintenance.wait(PATIENCE) != 0:
        raise Violation(f"maintenance beside the writers failed: {maintenance.said[-600:].strip()}")
    return Incident("the tables were compacted while all were at work", struck)


def _late_storm(system: System, _: random.Random) -> Incident:
    struck = time.monotonic()
    count = system.deliveries.late()
    return Incident(f"{count} files that had been held back landed at once", struck)


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


def _land(system: System, *, late: bool = False) -> None:
    if late:
        system.deliveries.late()
    system.deliveries.portion()


def _what(writer: Writer, result: Result) -> str:
    return ARRIVALS if writer == "ingest" else result.name
