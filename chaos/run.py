"""A run of faults: rounds of strike, recovery and proof, all drawn from one seed.

    parity chaos --lake DIR --seed 7 --rounds 5

The seed decides the simulated events, what lands in which round, and what strikes whom at which moment. How the processes
interleave in between is the machine's.
"""

import os
import random
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from itertools import cycle
from pathlib import Path

from chaos.deliveries import PORTION, Deliveries, files_with
from chaos.disk import NotAllowed, SmallDisk, small_disk
from chaos.faults import DISK_FULL, Fault, faults
from chaos.load import HEAP, files_for, load
from chaos.processes import Process
from chaos.proof import Proof, proven
from chaos.reader import Reader
from chaos.subject import Subject
from chaos.system import PATIENCE, System
from chaos.violation import Violation
from lakehouse.errors import ParityError
from lakehouse.lake import Lake

LOAD = "load"
ROUNDS = 5
SMALL_FILE, LOADED_FILE = 60, 500
"""Events in a landing file."""
SENDERS = 40
FILES_A_ROUND = 3 * PORTION
"""A kill that strikes twice takes two portions at most, a backlog three; most faults take one."""
DEFAULTS = {
    "PARITY_SPARK__COMPILER": "quick",
    "PARITY_STREAM__COMMITS_PER_BATCH": "1",
    "PARITY_STREAM__INTERVAL": "200 milliseconds",
    # HotSpot's second compiler would take more of the machine than it gives back to processes that are killed after seconds.
    "JDK_JAVA_OPTIONS": "-XX:TieredStopAtLevel=1",
}

SPARK_INGESTS = {"PARITY_INGESTION__ENGINE": "spark"}
"""It has a checkpoint that can be damaged and a JVM; one of the faults changes the engine."""


@dataclass(frozen=True)
class Round:
    """One round: the fault, when it struck, and what came out."""

    number: int
    fault: str
    said: str
    struck_after: float
    """Seconds since the run began."""
    recovered_in: float
    proof: Proof


class UnknownFault(ParityError):
    """A fault that is not in the catalogue."""


def chosen_faults(
    names: Sequence[str], rng: random.Random, rounds: int | None, minutes: float, subject: Subject
) -> list[Fault]:
    """The faults of the rounds: those that are named, in their order, or all in the order of the seed; then again.

    One that would find nothing to strike in the pipeline is not drawn, and refused where it is named.
    """
    known = {**faults(), LOAD: load(minutes)}
    for name in names:
        if name not in known:
            raise UnknownFault(f"There is no fault {name!r}. There are: {', '.join(known)}.")
        if not known[name].suits(subject):
            raise UnknownFault(
                f"The fault {name!r} strikes a result with {known[name].strikes}, and the pipeline {subject.pipeline.name} "
                f"streams none: {', '.join(each.name for each in subject.results)}."
            )
    if names:
        named = cycle(known[name] for name in names)
        return [next(named) for _ in range(rounds or len(names))]
    order: list[Fault] = []
    while len(order) < (rounds or ROUNDS):
        suiting = [each for each in faults().values() if each.suits(subject)]
        order += rng.sample(suiting, len(suiting))
    return order[: rounds or ROUNDS]


def chaos(
    lake: Lake, subject: Subject, order: Sequence[Fault], *, seed: int, minutes: float, say: Callable[[str], None]
) -> Iterator[Round]:
    """The rounds, one after the other as they end. A broken promise ends them with a Violation.

    `minutes` is the length of a round with `load`.
    """
    rng = random.Random(f"{seed} moments")
    loads = sum(fault.name == LOAD for fault in order)
    files = files_with(len(order) * FILES_A_ROUND, single=loads * files_for(minutes))
    events = files * (LOADED_FILE if loads else SMALL_FILE)
    of_the_lake = {"PARITY_PIPELINE__PATH": lake.pipeline.path}  # a settings file here may name another one
    environment = {**DEFAULTS, **(HEAP if loads else {}), **os.environ, **SPARK_INGESTS, **of_the_lake}
    begun = time.monotonic()
    with ExitStack() as held:
        disk = _disk(lake, held, say) if any(each.name.startswith(DISK_FULL) for each in order) else None
        system, reader = held.enter_context(
            _system(lake, subject, environment, seed=seed, files=files, events=events, rng=rng, disk=disk)
        )
        say("Simulator, ingestion, streams and a reader are at work")
        for number, each in enumerate(order, start=1):
            answers = reader.answers()
            incident = each.inject(system, rng)
            system.recovered()
            recovered_in = time.monotonic() - incident.at
            if number == len(order):
                system.deliveries.rest()
                system.recovered()
            say(f"Round {number}: {incident.said}. Recovered in {recovered_in:.1f} s, the proof follows")
            proof = proven(
                lake,
                system.landing,
                subject,
                environment,
                batch_came_round=system.batch_came_round(),
                answers=reader.sums(),
            )
            reader.refuse_silence(answers)
            yield Round(number, each.name, incident.said, incident.at - begun, recovered_in, proof)


def _disk(lake: Lake, held: ExitStack, say: Callable[[str], None]) -> SmallDisk | None:
    """A small disk for the tables, which can be filled; none where this process may not have one."""
    try:
        return held.enter_context(small_disk(lake.path / "tables"))
    except NotAllowed as refused:
        say(
            f"A small disk for the tables is not allowed here ({refused}): a full disk is a limit on the size of files instead"
        )
        return None


@contextmanager
def _system(
    lake: Lake,
    subject: Subject,
    environment: Mapping[str, str],
    *,
    seed: int,
    files: int,
    events: int,
    rng: random.Random,
    disk: SmallDisk | None,
) -> Iterator[tuple[System, Reader]]:
    """Everything at work and caught up with the first portion."""
    landing, pool = lake.path / "landing", lake.path / "pool"
    landing.mkdir()
    sizes = {"events": events, "files": files, "senders": SENDERS, "hours": subject.hours}
    _simulated(pool, environment, log=lake.path / "logs" / "chaos-simulate.log", seed=seed, sizes=sizes)
    system = System(lake, landing, Deliveries(pool, landing, rng, subject), subject, environment, disk=disk)
    reader = None
    try:
        system.deliveries.first()
        system.start("ingest")
        system.until(system.ingested, "ingestion does not begin", pause=0.1)
        system.start("stream")
        reader = Reader(system.begin(["serve", "--lake", str(lake.path), "--port", "0"]), system.results)
        system.recovered()
        yield system, reader
    finally:
        if reader is not None:
            reader.end()
        system.end()


def _simulated(pool: Path, environment: Mapping[str, str], *, log: Path, seed: int, sizes: Mapping[str, int]) -> None:
    given = [part for name, size in sizes.items() for part in (f"--{name}", str(size))]
    simulator = Process(
        ["simulate", "--landing", str(pool), "--seed", str(seed), *given], environment=environment, log=log
    )
    if simulator.wait(PATIENCE) != 0:
        raise Violation(f"the simulator failed: {simulator.said.strip()}")
