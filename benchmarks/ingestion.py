"""Ingestion by both engines: CPU for a million lines, a warm micro-batch of 10,000, memory as the log grows.

    .venv/bin/python -m benchmarks.ingestion
    .venv/bin/python -m benchmarks.ingestion --memory 5,20        # million lines
    .venv/bin/python -m benchmarks.ingestion --rounds 0 --ids 100 # a micro-batch with so many million ids in the index

Each run is `parity ingest` as a process of its own, and the engines take turns. CPU, wall time and micro-batches are what the
runs noted of themselves, Spark's start not counted; memory is the proportional set size of the process with its JVM and
Python workers, sampled twice a second.
"""

import os
import shutil
import subprocess
import sys
import tempfile
import time
from contextlib import suppress
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path
from statistics import median
from typing import Annotated

import numpy as np
import psutil
import typer
from rich.console import Console
from rich.table import Table

from ingestion.known_ids import known_ids
from lakehouse.lake import open_lake
from lakehouse.log import position
from lakehouse.runs import runs
from simulator.game import simulate

ENGINES = ("embedded", "spark")
SMALL = 10_000
WARM = 30
"""Micro-batches of the small kind; the first third warms up."""
TURNS = 4
"""Times that a log with few ids and one with many take turns: on a shared machine single runs differ by a third."""
START = datetime(2026, 3, 1, tzinfo=UTC)
console = Console()


@dataclass(frozen=True)
class Ingested:
    lines: int
    cpu: float
    wall: float
    batches: list[float]
    memory: float
    """The most that it had, in GiB."""
    own: float
    """The most of it that is no page of a file: what it allocated. Mapped pages go back to the machine when it needs them."""

    @property
    def cpu_a_million(self) -> float:
        return self.cpu / self.lines * 1e6


def ingested(lake: Path, landing: Path, engine: str, files_per_batch: int) -> Ingested:
    """Ingest what has landed since the last run."""
    done = len(runs(open_lake(lake))) if lake.exists() else 0
    before = position(open_lake(lake)).lines if lake.exists() else 0
    command = ["ingest", "--lake", str(lake), "--landing", str(landing), "--files-per-batch", str(files_per_batch)]
    environment = {**os.environ, "PARITY_INGESTION__ENGINE": engine}
    process = subprocess.Popen(
        [sys.executable, "-m", "cli.main", *command], env=environment, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE
    )
    most = own = 0.0
    while process.poll() is None:
        held, anonymous = _memory(process.pid)
        most, own = max(most, held), max(own, anonymous)
        time.sleep(0.5)
    if process.returncode:
        said = process.stderr.read().decode() if process.stderr else ""
        sys.exit(f"{engine} failed: {said[-2000:]}")
    [run] = runs(open_lake(lake))[done:]
    lines = position(open_lake(lake)).lines - before
    return Ingested(lines, run.cpu_seconds, run.wall_seconds, run.batch_seconds, most, own)


def _memory(process: int) -> tuple[float, float]:
    """The proportional set size of a process and all that it started, and its anonymous part; Linux only."""
    total = anonymous = 0
    with suppress(psutil.Error, OSError):  # one of them has ended
        for each in (psutil.Process(process), *psutil.Process(process).children(recursive=True)):
            for line in Path(f"/proc/{each.pid}/smaps_rollup").read_text().splitlines():
                name, _, size = line.partition(":")
                total += int(size.split()[0]) if name == "Pss" else 0
                anonymous += int(size.split()[0]) if name == "Pss_Anon" else 0
    return total / 1024**2, anonymous / 1024**2


def main(
    lines: Annotated[int, typer.Option(help="Events of the large log, in ten micro-batches.")] = 1_000_000,
    rounds: Annotated[int, typer.Option(help="Times that the engines take turns.")] = 5,
    memory: Annotated[str, typer.Option(help="Million events at which memory is measured, e.g. 5,20.")] = "",
    engines: Annotated[str, typer.Option(help="The engines whose memory is measured.")] = ",".join(ENGINES),
    ids: Annotated[int, typer.Option(help="Million ids to put into the index before a micro-batch is timed.")] = 0,
) -> None:
    home = Path(tempfile.mkdtemp(prefix="parity-ingestion-", dir="/var/tmp"))
    try:
        if rounds:
            _costs(home, lines, rounds)
        if ids:
            _with_many_ids(home, ids)
        if memory:
            _memory_as_it_grows(home, [float(each) for each in memory.split(",")], engines.split(","))
    finally:
        shutil.rmtree(home)


def _costs(home: Path, lines: int, rounds: int) -> None:
    large, small = home / "large", home / "small"
    simulate(large, events=lines, senders=5000, files=50)
    simulate(small, events=WARM * SMALL, senders=5000, files=WARM)
    table = Table(title=f"{lines:,} events in 10 micro-batches; {WARM} of {SMALL:,}; medians of {rounds} rounds")
    for name in ("engine", "CPU s per million", "lines/s", "micro-batch, warm (s)", "its CPU s", "memory (GiB)"):
        table.add_column(name, justify="left" if name == "engine" else "right")
    found: dict[str, list[tuple[Ingested, Ingested]]] = {engine: [] for engine in ENGINES}
    for number in range(rounds):
        for engine in ENGINES if number % 2 else reversed(ENGINES):
            with console.status(f"round {number + 1} of {rounds}: {engine} …"):
                both = [ingested(home / f"lake-{engine}", each, engine, per) for each, per in ((large, 5), (small, 1))]
            shutil.rmtree(home / f"lake-{engine}")
            found[engine].append((both[0], both[1]))
    for engine, pairs in found.items():
        table.add_row(
            engine,
            f"{median(each.cpu_a_million for each, _ in pairs):.1f}",
            f"{median(each.lines / each.wall for each, _ in pairs):,.0f}",
            f"{median(median(each.batches[WARM // 3 :]) for _, each in pairs):.2f}",
            f"{median(each.cpu / WARM for _, each in pairs):.2f}",
            f"{max(each.memory for each, _ in pairs):.2f}",
        )
    console.print(table)


def _memory_as_it_grows(home: Path, millions: list[float], engines: list[str]) -> None:
    for engine in engines:
        lake, day, before = home / f"growing-{engine}", 0, 0.0
        for goal in millions:
            while before < goal:
                landing = home / "day"
                shutil.rmtree(landing, ignore_errors=True)
                some = min(goal - before, 2.5)
                simulate(
                    landing, events=int(some * 1e6), seed=day, senders=5000, files=25, start=START + timedelta(days=day)
                )
                found = ingested(lake, landing, engine, 5)
                before, day = before + some, day + 1
            console.print(
                f"{engine}: {found.memory:.2f} GiB at {goal:g} million events, {found.own:.2f} of it its own, "
                f"{found.cpu_a_million:.1f} CPU s per million",
                highlight=False,
            )
        shutil.rmtree(lake)


def _with_many_ids(home: Path, millions: int) -> None:
    """Micro-batches into a log with a small index and into one with random ids beside its own, in turns."""
    for engine in ENGINES:
        lakes = {"alone": home / f"few-{engine}", f"with {millions} million ids": home / f"many-{engine}"}
        found: dict[str, list[Ingested]] = {name: [] for name in lakes}
        for day in range(1 + TURNS):
            landing = home / "turn"
            shutil.rmtree(landing, ignore_errors=True)
            start = START + timedelta(days=day)
            simulate(landing, events=WARM * SMALL, seed=day, senders=5000, files=WARM, start=start)
            for name in lakes if day % 2 else reversed(lakes):
                taken = ingested(lakes[name], landing, engine, 1)
                if day:
                    found[name].append(taken)
                elif name != "alone":
                    _put_random_ids(lakes[name], millions)
        for name, turns in found.items():
            seconds = median(median(each.batches[WARM // 3 :]) for each in turns)
            cpu = median(each.cpu / WARM for each in turns)
            console.print(f"{engine}, {name}: a micro-batch of {SMALL:,} takes {seconds:.3f} s, {cpu:.3f} CPU s")
            shutil.rmtree(lakes[name])


def _put_random_ids(lake: Path, millions: int) -> None:
    opened = open_lake(lake)
    at, chance, bounds = position(opened), np.random.default_rng(1), np.iinfo(np.int64)
    index = known_ids(opened, at)
    for _ in range(millions * 10):  # 100,000 at a time
        index.put(*(chance.integers(bounds.min, bounds.max, 100_000) for _ in range(3)), seq=at.seq, token=at.token)
    index.close()


if __name__ == "__main__":
    typer.run(main)
