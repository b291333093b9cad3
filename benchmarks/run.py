"""The benchmark: the whole log through the streaming engine beside the batch recompute, ingestion, memory, a micro-batch.

    make bench                          # 5 million events, then 10 million for the memory
    .venv/bin/python -m benchmarks.run --events 1000000

Each job runs in a process of its own, stream and batch in turn, on the same log. Spark's start is not counted.
"""

import json
import os
import shutil
import statistics
import subprocess
import sys
import tempfile
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Annotated, Any

import typer
from rich.console import Console
from rich.table import Table

from simulator import simulate

ROUNDS = 2
SMALL = {"PARITY_STREAM__COMMITS_PER_BATCH": "1"}
console = Console()


def measured(name: str, lake: Path, landing: Path | str = "", **environment: str) -> dict[str, Any]:
    """Run a job and say what it cost."""
    with console.status(f"{name} …"):
        done = subprocess.run(
            [sys.executable, "-m", "benchmarks.job", name, str(lake), str(landing)],
            env={**os.environ, **environment},
            capture_output=True,
            text=True,
            check=False,
        )
    if done.returncode:
        sys.exit(f"{name} failed: {done.stderr[-2000:]}")
    found: dict[str, Any] = json.loads(done.stdout.splitlines()[-1])
    per_second = found["rows"] / found["wall"]
    console.print(
        f"{name}: {found} = {per_second:,.0f} rows/s, {found['cpu'] / found['rows'] * 1e6:.1f} CPU s per million rows"
    )
    return found


def main(
    events: Annotated[
        int, typer.Option(help="Events of the first half; memory is measured at twice as many.")
    ] = 5_000_000,
    twice: Annotated[bool, typer.Option(help="Measure the memory at twice as many events too.")] = True,
) -> None:
    home = Path(tempfile.mkdtemp(prefix="parity-bench-"))
    try:
        bench(home, events, twice=twice)
    finally:
        shutil.rmtree(home)


def bench(home: Path, events: int, *, twice: bool) -> None:
    start = datetime(2026, 3, 1, tzinfo=UTC)
    landing, lake = home / "landing", home / "lake"
    with console.status(f"simulate {events:,} events …"):
        simulate(landing, events=events, players=5000, files=max(10, events // 100_000))
    files = str(max(1, events // 100_000 // 10))
    taken = measured("ingest", lake, landing, PARITY_INGESTION__FILES_PER_BATCH=files)
    rounds = [(measured("stream", lake), measured("batch", lake)) for _ in range(ROUNDS)]
    small = measured("stream", lake, **SMALL)
    table = Table(title=f"{taken['events']:,} events, {os.cpu_count()} cores, team_scores")
    for name in ("measure", "stream", "batch", "stream / batch"):
        table.add_column(name, justify="left" if name == "measure" else "right")
    for name, unit in (("wall", "s"), ("cpu", "CPU s"), ("memory", "GiB")):
        stream, batch = (statistics.median(pair[side][name] for pair in rounds) for side in (0, 1))
        table.add_row(f"{name} ({unit})", f"{stream:.1f}", f"{batch:.1f}", f"{stream / batch:.2f}")
    throughput = statistics.median(batch["wall"] / stream["wall"] for stream, batch in rounds)
    console.print(table)
    console.print(f"Throughput of the stream in large micro-batches: {throughput:.2f} of batch")
    wall = statistics.median(stream["wall"] for stream, _ in rounds)
    more = small["batches"] - rounds[0][0]["batches"]
    if more > 0:
        console.print(
            f"Fixed cost of one more micro-batch: {(small['wall'] - wall) / more:.2f} s ({small['batches']} batches)"
        )
    console.print(f"Ingestion: {taken['rows'] / taken['wall']:,.0f} lines/s in {taken['batches']} batches")
    if twice:
        other = home / "landing-2"
        with console.status(f"simulate {events:,} more events …"):
            simulate(
                other,
                events=events,
                seed=8,
                players=5000,
                files=max(10, events // 100_000),
                start=start + timedelta(days=1),
            )
        again = measured("ingest", lake, other, PARITY_INGESTION__FILES_PER_BATCH=files)
        stream = measured("stream", lake)
        first = rounds[0][0]
        for job, one, other_one in (("stream", first, stream), ("ingestion", taken, again)):
            console.print(
                f"Peak memory of the JVM, {job}: {one['memory']} GiB at {one['events']:,} events, "
                f"{other_one['memory']} GiB at {other_one['events']:,} ({other_one['memory'] / one['memory']:.2f})"
            )


if __name__ == "__main__":
    typer.run(main)
