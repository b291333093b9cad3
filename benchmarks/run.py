"""The benchmark: the whole log replayed in both ways beside the batch recompute; ingestion, memory, a micro-batch.

    make bench                          # 5 million events, then 10 million for the memory
    .venv/bin/python -m benchmarks.run --events 1000000 --no-twice

The replays and batch take turns on the same log: once each in a process of its own, which is what a scheduled job pays,
then several times in one process, which is what a long-running one pays. Spark's start is not counted.
"""

import json
import os
import shutil
import subprocess
import sys
import tempfile
from datetime import UTC, datetime, timedelta
from pathlib import Path
from statistics import median
from typing import Annotated, Any

import typer
from rich.console import Console
from rich.table import Table

from simulator import simulate

WARM_ROUNDS = 3
START = datetime(2026, 3, 1, tzinfo=UTC)
SMALL = {"PARITY_STREAM__COMMITS_PER_BATCH": "1"}
REPLAYS = ("engine", "steps")
WAYS = (*REPLAYS, "batch")
Cost = dict[str, Any]
Costs = dict[str, list[Cost]]
console = Console()


def measured(lake: Path, *names: str, landing: Path | str = "", **environment: str) -> list[Cost]:
    """Run the jobs in one process and say what each cost."""
    with console.status(f"{', '.join(names)} …"):
        done = subprocess.run(
            [sys.executable, "-m", "benchmarks.job", str(lake), str(landing), *names],
            env={**os.environ, **environment},
            capture_output=True,
            text=True,
            check=False,
        )
    if done.returncode:
        sys.exit(f"{', '.join(names)} failed: {done.stderr[-2000:]}")
    costs: list[Cost] = [json.loads(line) for line in done.stdout.splitlines()[-len(names) :]]
    for name, cost in zip(names, costs, strict=True):
        console.print(
            f"{name}: {cost['wall']:.1f} s, {cost['cpu']:.1f} CPU s, {cost['batches']} micro-batches, "
            f"{cost['rows']:,} rows: {cost['rows'] / cost['wall']:,.0f} rows/s, "
            f"{cost['cpu'] / cost['rows'] * 1e6:.1f} CPU s per million; peak memory of the JVM so far {cost['memory']} GiB",
            highlight=False,
            soft_wrap=True,
        )
    return costs


def main(
    events: Annotated[int, typer.Option(help="Events; memory is measured at twice as many.")] = 5_000_000,
    twice: Annotated[bool, typer.Option(help="Measure the memory at twice as many events too.")] = True,
    keep: Annotated[
        Path | None, typer.Option(help="Leave the lake here; one that is here is not ingested again.")
    ] = None,
) -> None:
    home = keep or Path(tempfile.mkdtemp(prefix="parity-bench-"))
    try:
        bench(home, events, twice=twice)
    finally:
        if keep is None:
            shutil.rmtree(home)


def bench(home: Path, events: int, *, twice: bool) -> None:
    lake = home / "lake"
    ingested = None if lake.exists() else ingest_day(home, 0, events)
    cold = {name: measured(lake, name) for name in WAYS}
    turns = measured(lake, *WAYS * (WARM_ROUNDS + 1))[len(WAYS) :]
    warm = {name: turns[place :: len(WAYS)] for place, name in enumerate(WAYS)}
    small = measured(lake, "engine", **SMALL)[0]
    show(cold, warm)
    more = small["batches"] - cold["engine"][0]["batches"]
    if more > 0:
        each = (small["wall"] - cold["engine"][0]["wall"]) / more
        console.print(f"One more micro-batch costs {each:.2f} s ({small['batches']} of them, cold)")
    if twice:
        again = ingest_day(home, 1, events)
        [engine] = measured(lake, "engine")
        told = {"engine": (cold["engine"][0], engine), "ingestion": (ingested, again)}
        for job, (one, two) in told.items():
            if one is not None:
                console.print(
                    f"Peak memory of the JVM, {job}: {one['memory']} GiB at {one['events']:,} events, "
                    f"{two['memory']} GiB at {two['events']:,} ({two['memory'] / one['memory']:.2f})"
                )


def show(cold: Costs, warm: Costs) -> None:
    """Print what each way cost, and how the two replays compare with the recompute."""
    table = Table(title=f"{cold['batch'][0]['events']:,} events, {os.cpu_count()} cores, team_scores")
    for name in ("measure", *WAYS, *(f"{way} / batch" for way in REPLAYS)):
        table.add_column(name, justify="left" if name == "measure" else "right")
    for heat, costs in (("cold", cold), ("warm", warm)):
        for name, unit in (("wall", "s"), ("cpu", "CPU s"), *([("memory", "GiB")] if heat == "cold" else [])):
            found = {way: median(cost[name] for cost in costs[way]) for way in WAYS}
            ratios = (f"{found[way] / found['batch']:.2f}" for way in REPLAYS)
            table.add_row(f"{heat}: {name} ({unit})", *(f"{found[way]:.1f}" for way in WAYS), *ratios)
    console.print(table)
    for way in REPLAYS:
        each = {
            heat: median(b["wall"] / r["wall"] for r, b in zip(costs[way], costs["batch"], strict=True))
            for heat, costs in (("warm", warm), ("cold", cold))
        }
        console.print(
            f"Throughput of the replay, {way}, against batch: {each['warm']:.2f} warm, {each['cold']:.2f} cold"
        )


def ingest_day(home: Path, day: int, events: int) -> Cost:
    """Simulate a day of the game and ingest it in ten micro-batches."""
    landing, files = home / f"landing-{day}", max(10, events // 100_000)
    with console.status(f"simulate {events:,} events …"):
        simulate(landing, events=events, seed=7 + day, players=5000, files=files, start=START + timedelta(days=day))
    per_batch = str(max(1, files // 10))
    [cost] = measured(home / "lake", "ingest", landing=landing, PARITY_INGESTION__FILES_PER_BATCH=per_batch)
    return cost


if __name__ == "__main__":
    typer.run(main)
