"""The benchmark: the whole log replayed beside the batch recompute, cold and warm, for results of every kind; memory.

    make bench                          # 5 million events, then 10 million for the memory
    .venv/bin/python -m benchmarks.run --events 1000000 --no-twice --results player_sessions --rounds 3

A replay and batch take turns on the same log, and who comes first changes with each round: in a process of its own each
time, which is what a scheduled job pays, then again and again in one process, which is what a long-running one pays. The
files of the log are read once before each cold process, so that all find them in the page cache; rounds that warm up do
not count. Spark's start is not counted.
"""

import json
import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from pathlib import Path
from statistics import median
from typing import Annotated, Any

import typer
from rich.console import Console
from rich.table import Table

from lakehouse.pipelines import default_pipeline
from simulator.game import simulate

ROUNDS, WARM_UP = 5, 2
KINDS = "team_scores,active_players,player_sessions,offer_outcomes,league_scores"
"""Tumbling and sliding windows, sessions, a join, and one that has no operator in the engine."""
START = datetime(2026, 3, 1, tzinfo=UTC)
SMALL = {"PARITY_STREAM__COMMITS_PER_BATCH": "1"}
Cost = dict[str, Any]
Costs = dict[str, list[Cost]]
console = Console()


def measured(lake: Path, *jobs: str, landing: Path | str = "", **environment: str) -> list[Cost]:
    """Run the jobs in one process and say what each cost."""
    for file in lake.rglob("*.parquet"):
        file.read_bytes()
    with console.status(f"{', '.join(jobs)} …"):
        done = subprocess.run(
            [sys.executable, "-m", "benchmarks.job", str(lake), str(landing), *jobs],
            env={**os.environ, **environment},
            capture_output=True,
            text=True,
            check=False,
        )
    if done.returncode:
        sys.exit(f"{', '.join(jobs)} failed: {done.stderr[-2000:]}")
    costs: list[Cost] = [json.loads(line) for line in done.stdout.splitlines()[-len(jobs) :]]
    for job, cost in zip(jobs, costs, strict=True):
        console.print(
            f"{job}: {cost['wall']:.1f} s, {cost['cpu']:.1f} CPU s, {cost['batches']} micro-batches, "
            f"{cost['rows']:,} rows read, {cost['events'] / cost['wall']:,.0f} events/s, "
            f"{cost['cpu'] / cost['events'] * 1e6:.1f} CPU s per million; peak memory of the JVM so far {cost['memory']} GiB",
            highlight=False,
            soft_wrap=True,
        )
    return costs


def main(
    events: Annotated[int, typer.Option(help="Events; memory is measured at twice as many.")] = 5_000_000,
    twice: Annotated[bool, typer.Option(help="Measure the memory at twice as many events too.")] = True,
    results: Annotated[str, typer.Option(help="Names of results, with commas.")] = KINDS,
    steps: Annotated[bool, typer.Option(help="Replay in steps too.")] = True,
    rounds: Annotated[int, typer.Option(help="Times that all take turns.")] = ROUNDS,
    keep: Annotated[
        Path | None, typer.Option(help="Leave the lake here; one that is here is not ingested again.")
    ] = None,
) -> None:
    home = keep or Path(tempfile.mkdtemp(prefix="parity-bench-"))
    try:
        ingested = None if (home / "lake").exists() else ingest_day(home, 0, events)
        for name in results.split(","):
            endless = default_pipeline().catalogue()[name].window.endless
            compare(home / "lake", name, ["engine", *(["steps"] if steps and not endless else []), "batch"], rounds)
        if twice:
            memory_at_twice(home, events, ingested)
    finally:
        if keep is None:
            shutil.rmtree(home)


def turns(ways: Sequence[str], rounds: int) -> list[list[str]]:
    """The order of each round: whoever was first is last in the next."""
    return [[*ways[number % len(ways) :], *ways[: number % len(ways)]] for number in range(rounds)]


def compare(lake: Path, result: str, ways: Sequence[str], rounds: int) -> None:
    """Cold, then warm; print what each way cost, and how the replays compare with the recompute."""
    cold: Costs = {way: [] for way in ways}
    warm: Costs = {way: [] for way in ways}
    for order in turns(ways, rounds):
        for way in order:
            cold[way] += measured(lake, f"{way}:{result}")
    orders = turns(ways, WARM_UP + rounds)
    costs = iter(measured(lake, *(f"{way}:{result}" for order in orders for way in order)))
    for number, order in enumerate(orders):
        for way in order:
            cost = next(costs)
            if number >= WARM_UP:
                warm[way].append(cost)
    show(result, cold, warm)


def show(result: str, cold: Costs, warm: Costs) -> None:
    replays = [way for way in cold if way != "batch"]
    rounds = len(cold["batch"])
    table = Table(title=f"{result}: {cold['batch'][0]['events']:,} events, {os.cpu_count()} cores, {rounds} rounds")
    for name in ("measure", *cold, *(f"{way} / batch (least, most)" for way in replays)):
        table.add_column(name, justify="left" if name == "measure" else "right")
    for heat, costs in (("cold", cold), ("warm", warm)):
        for name, unit in (("wall", "s"), ("cpu", "CPU s"), *([("memory", "GiB")] if heat == "cold" else [])):
            found = (f"{median(cost[name] for cost in costs[way]):.1f}" for way in costs)
            compared = []
            for way in replays:
                each = [one[name] / batch[name] for one, batch in zip(costs[way], costs["batch"], strict=True)]
                compared.append(f"{median(each):.2f} ({min(each):.2f}, {max(each):.2f})")
            table.add_row(f"{heat}: {name} ({unit})", *found, *compared)
    console.print(table)


def memory_at_twice(home: Path, events: int, ingested: Cost | None) -> None:
    """The same log and as much again: memory belongs to what is open, so it must not grow with the log."""
    [one], again = measured(home / "lake", "engine:team_scores"), ingest_day(home, 1, events)
    [two] = measured(home / "lake", "engine:team_scores")
    for job, before, after in (("engine", one, two), ("ingestion", ingested, again)):
        if before is not None:
            console.print(
                f"Peak memory of the JVM, {job}: {before['memory']} GiB at {before['events']:,} events, "
                f"{after['memory']} GiB at {after['events']:,} ({after['memory'] / before['memory']:.2f})"
            )


def ingest_day(home: Path, day: int, events: int) -> Cost:
    """Simulate a day of the game and ingest it in ten micro-batches."""
    landing, files = home / f"landing-{day}", max(10, events // 100_000)
    with console.status(f"simulate {events:,} events …"):
        simulate(landing, events=events, seed=7 + day, senders=5000, files=files, start=START + timedelta(days=day))
    per_batch = str(max(1, files // 10))
    [cost] = measured(home / "lake", "ingest", landing=landing, PARITY_INGESTION__FILES_PER_BATCH=per_batch)
    return cost


if __name__ == "__main__":
    typer.run(main)
