"""The benchmark: the whole log through the streaming engine beside the batch recompute, ingestion, memory, a micro-batch.

    make bench                          # 5 million events, then 10 million for the memory
    .venv/bin/python -m benchmarks.run --events 1000000 --no-twice

Stream and batch take turns on the same log: once each in a process of its own, which is what a scheduled job pays, then
several times in one process, which is what a long-running one pays. Spark's start is not counted.
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
Cost = dict[str, Any]
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
    cold_stream, cold_batch = (measured(lake, name)[0] for name in ("stream", "batch"))
    _, _, *warm = measured(lake, *("stream", "batch") * (WARM_ROUNDS + 1))
    small = measured(lake, "stream", **SMALL)[0]
    table = Table(title=f"{cold_stream['events']:,} events, {os.cpu_count()} cores, team_scores")
    for name in ("measure", "stream", "batch", "stream / batch"):
        table.add_column(name, justify="left" if name == "measure" else "right")
    for heat, streams, batches in (("cold", [cold_stream], [cold_batch]), ("warm", warm[::2], warm[1::2])):
        for name, unit in (("wall", "s"), ("cpu", "CPU s"), *([("memory", "GiB")] if heat == "cold" else [])):
            stream, batch = (median(cost[name] for cost in costs) for costs in (streams, batches))
            table.add_row(f"{heat}: {name} ({unit})", f"{stream:.1f}", f"{batch:.1f}", f"{stream / batch:.2f}")
    console.print(table)
    pairs = list(zip(warm[::2], warm[1::2], strict=True))
    throughput = median(batch["wall"] / stream["wall"] for stream, batch in pairs)
    cold = cold_batch["wall"] / cold_stream["wall"]
    console.print(f"Throughput of the stream against batch: {throughput:.2f} warm, {cold:.2f} cold")
    more = small["batches"] - cold_stream["batches"]
    if more > 0:
        each = (small["wall"] - cold_stream["wall"]) / more
        console.print(f"One more micro-batch costs {each:.2f} s ({small['batches']} of them, cold)")
    if twice:
        again = ingest_day(home, 1, events)
        [stream] = measured(lake, "stream")
        told = {"stream": (cold_stream, stream), "ingestion": (ingested, again)}
        for job, (one, two) in told.items():
            if one is not None:
                console.print(
                    f"Peak memory of the JVM, {job}: {one['memory']} GiB at {one['events']:,} events, "
                    f"{two['memory']} GiB at {two['events']:,} ({two['memory'] / one['memory']:.2f})"
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
