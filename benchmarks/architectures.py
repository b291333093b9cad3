"""What the streams of all results cost against the batch layer, each job in a process of its own, in turns.

    .venv/bin/python -m benchmarks.architectures [--events 20000] [--rounds 5]

The demo runs both in one JVM, the streams first, so its own figures say more about its order than about the layers. Here
`parity stream` and `parity recompute` take turns on copies of one ingested log, as a scheduler would start them.
"""

import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path
from statistics import median
from typing import Annotated

import typer
from rich.console import Console
from rich.table import Table

from lakehouse.lake import open_lake
from lakehouse.pipelines import default_pipeline
from lakehouse.runs import runs
from simulator.game import simulate

LAYERS = {"streams": "stream", "batch": "recompute"}
QUICK = {"PARITY_SPARK__COMPILER": "quick"}
"""As `make demo`."""
console = Console()


def parity(command: str, lake: Path, *options: str) -> None:
    with console.status(f"parity {command} …"):
        done = subprocess.run(
            [sys.executable, "-m", "cli.main", command, "--lake", str(lake), *options],
            env={**QUICK, **os.environ},
            capture_output=True,
            text=True,
            check=False,
        )
    if done.returncode:
        sys.exit(f"parity {command} failed: {done.stderr[-2000:]}")


def cost(ingested: Path, command: str, home: Path) -> float:
    """The CPU seconds of all results by one command, on a copy of the ingested lake."""
    lake = home / "turn"
    shutil.copytree(ingested, lake)
    before = len(runs(open_lake(lake)))
    parity(command, lake)
    spent = sum(run.cpu_seconds for run in runs(open_lake(lake))[before:])
    shutil.rmtree(lake)
    return spent


def main(
    events: Annotated[int, typer.Option(help="Events of the simulated day.")] = 20_000,
    rounds: Annotated[int, typer.Option(help="Times that the layers take turns.")] = 5,
) -> None:
    home = Path(tempfile.mkdtemp(prefix="parity-architectures-"))
    try:
        simulate(home / "landing", events=events)
        parity("ingest", home / "ingested", "--landing", str(home / "landing"))
        spent: dict[str, list[float]] = {layer: [] for layer in LAYERS}
        for number in range(rounds):
            for layer in LAYERS if number % 2 else reversed(LAYERS):
                spent[layer].append(cost(home / "ingested", LAYERS[layer], home))
                console.print(f"round {number + 1}, {layer}: {spent[layer][-1]:.1f} CPU s", highlight=False)
    finally:
        shutil.rmtree(home)
    table = Table(
        title=f"{len(default_pipeline().catalogue())} results over {events:,} events, {rounds} rounds, processes of their own"
    )
    for name in ("", "CPU s, median", "least", "most"):
        table.add_column(name, justify="right" if name else "left")
    for layer, each in spent.items():
        table.add_row(layer, f"{median(each):.1f}", f"{min(each):.1f}", f"{max(each):.1f}")
    ratios = [one / other for one, other in zip(spent["streams"], spent["batch"], strict=True)]
    table.add_row("streams / batch", f"{median(ratios):.2f}", f"{min(ratios):.2f}", f"{max(ratios):.2f}")
    console.print(table)


if __name__ == "__main__":
    typer.run(main)
