"""Freshness: how long after an event has landed the API answers with it, and the highest rate that is kept up with.

    make bench
    .venv/bin/python -m benchmarks.freshness --rates 1000,2500,5000 --minutes 5 [--engine spark] [--all-results]

`parity live --stream-only` runs as a user would start it, anew for each rate. Beside its game a probe lands every second.
What is measured is the time from the moment its file appears to the first answer with its row, and all that is between: the
look for new files, ingestion's micro-batch, the stream's, and the server's look at the table.
"""

import os
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from statistics import mean, quantiles
from typing import Annotated

import typer
from rich.console import Console
from rich.table import Table

from benchmarks.backlog import Landed, Sample, by_minute, sampled, sustained, took
from benchmarks.probes import MEASURED, PATIENCE, Probes
from lakehouse.arrivals import ARRIVALS
from lakehouse.lake import Lake, open_lake
from lakehouse.pipelines import default_pipeline
from lakehouse.progress import progress

LOOK = 0.1
SAMPLE = 2.0
SETTINGS = {
    "PARITY_STREAM__INTERVAL": "100 milliseconds",
    "PARITY_INGESTION__FILES_PER_BATCH": "1000",
}
console = Console()


@dataclass(frozen=True)
class Ran:
    """What one run at one rate showed."""

    rate: float
    waits: list[float]
    lost: int
    samples: list[Sample]

    @property
    def sustained(self) -> bool:
        return not self.lost and sustained(self.samples, self.rate)


@contextmanager
def living(
    directory: Path, *, rate: float, engine: str, port: int, results: list[str]
) -> Iterator[subprocess.Popen[bytes]]:
    """`parity live --stream-only`, ended as with Ctrl-C."""
    named = [option for name in results for option in ("--result", name)]
    options = {"--lake": directory, "--rate": rate, "--back": 0, "--port": port}
    command = ["live", "--stream-only", *(str(part) for option in options.items() for part in option), *named]
    process = subprocess.Popen(
        [sys.executable, "-m", "cli.main", *command],
        env={**SETTINGS, **os.environ, "PARITY_INGESTION__ENGINE": engine},
        start_new_session=True,
    )
    try:
        yield process
    finally:
        process.send_signal(signal.SIGINT)
        process.wait(PATIENCE)


def measured(
    directory: Path, *, rate: float, engine: str, seconds: float, warm_up: float, port: int, results: list[str]
) -> Ran:
    """One run: probes once a second after the warm-up, for as long as asked, and until the last of them is answered."""
    samples: list[Sample] = []
    with living(directory, rate=rate, engine=engine, port=port, results=results) as process:
        lake = _begun(directory, process)
        landing = directory / "landing"
        probes, landed = Probes(landing, f"http://127.0.0.1:{port}"), Landed(landing)
        first = time.monotonic() + warm_up
        while time.monotonic() < first:
            _refuse_ended(process)
            time.sleep(LOOK)
        landing_probes = threading.Thread(target=probes.run, args=(seconds,), name="lander", daemon=True)
        landing_probes.start()
        while landing_probes.is_alive():
            _refuse_ended(process)
            now = time.monotonic() - first
            if now < seconds and now >= len(samples) * SAMPLE:
                samples.append(sampled(lake, landed, now))
            time.sleep(LOOK)
    return Ran(rate, probes.waits, probes.lost, samples)


def _refuse_ended(process: subprocess.Popen[bytes]) -> None:
    if process.poll() is not None:
        sys.exit(f"`parity live` ended with exit code {process.returncode}.")


def _begun(directory: Path, process: subprocess.Popen[bytes]) -> Lake:
    """The lake, once the stream has answered for the first time."""
    deadline = time.monotonic() + PATIENCE
    while time.monotonic() < deadline and process.poll() is None:
        if (directory / "parity.json").exists():
            lake = open_lake(directory)
            if lake.has(ARRIVALS) and any(each.query.startswith(MEASURED) and each.batches for each in progress(lake)):
                return lake
        time.sleep(LOOK)
    sys.exit(f"`parity live` has not begun to stream within {PATIENCE:.0f} s.")


def show(ran: Ran, title: str) -> None:
    """Print the quantiles, and for each minute the backlogs and what a micro-batch took."""
    kept_up = "kept up with" if ran.sustained else "NOT kept up with, so the quantiles are those of a growing queue"
    if len(ran.waits) > 1:
        cut = quantiles(ran.waits, n=100, method="inclusive")
        console.print(
            f"{title}: {kept_up}. {len(ran.waits)} probes, from landing to the API p50 {cut[49]:.1f} s, "
            f"p95 {cut[94]:.1f} s, p99 {cut[98]:.1f} s, longest {max(ran.waits):.1f} s; {ran.lost} not seen",
            highlight=False,
            soft_wrap=True,
        )
    table = Table(title=title)
    for name in ("minute", "landed lines/s", "not ingested", "not streamed", "ingestion (s)", f"{MEASURED} (s)"):
        table.add_column(name, justify="right")
    for minute, samples in by_minute(ran.samples):
        one, two = samples[0], samples[-1]
        table.add_row(
            str(minute + 1),
            f"{(two.landed - one.landed) / (two.at - one.at):,.0f}",
            f"{mean(each.landed - each.ingested for each in samples):,.0f}",
            f"{mean(each.logged - each.streamed for each in samples):,.0f}",
            took(one, two, "ingest"),
            took(one, two, f"{MEASURED}@1"),
        )
    console.print(table)


def main(
    rates: Annotated[
        str, typer.Option(help="Events a second, lowest first; the first that is not kept up with is the last.")
    ] = "1000,2500,5000,10000",
    minutes: Annotated[float, typer.Option(help="How long to measure at each rate.")] = 5,
    warm_up: Annotated[float, typer.Option(help="Minutes before that, in which the JVM compiles its code.")] = 2,
    engine: Annotated[str, typer.Option(help="The engine of ingestion: embedded or spark.")] = "embedded",
    all_results: Annotated[bool, typer.Option("--all-results", help="Stream all results instead of one.")] = False,
    port: Annotated[int, typer.Option(help="Port of the server, on 127.0.0.1.")] = 8765,
) -> None:
    """Measure the freshness of a result while events keep coming."""
    results = list(default_pipeline().catalogue()) if all_results else [MEASURED]
    highest = 0.0
    for rate in (float(each) for each in rates.split(",")):
        home = Path(tempfile.mkdtemp(prefix="parity-freshness-"))
        try:
            ran = measured(
                home / "lake",
                rate=rate,
                engine=engine,
                seconds=minutes * 60,
                warm_up=warm_up * 60,
                port=port,
                results=results,
            )
        finally:
            shutil.rmtree(home)
        show(
            ran,
            f"{rate:,.0f} events a second, {len(results)} of {len(default_pipeline().catalogue())} results, ingestion {engine}",
        )
        if not ran.sustained:
            break
        highest = rate
    console.print(f"The highest rate that was kept up with: {highest:,.0f} events a second", highlight=False)


if __name__ == "__main__":
    typer.run(main)
