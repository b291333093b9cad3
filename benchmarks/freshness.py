"""Freshness: how long after an event has landed the API answers with it, while events keep coming.

    make bench
    .venv/bin/python -m benchmarks.freshness --rate 5000 --minutes 5 [--all-results]

`parity live --stream-only` runs as a user would start it. Beside its game a probe lands every second: one event of a team of
its own. What is measured is the time from the moment its file appears to the first answer with its row, and all that is
between: the look for new files, ingestion's micro-batch, the stream's, and the server's look at the table.
"""

import json
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from pathlib import Path
from statistics import mean, quantiles
from typing import Annotated, Any
from urllib.error import HTTPError
from urllib.request import urlopen

import typer
from rich.console import Console
from rich.table import Table

from lakehouse.arrivals import ARRIVALS
from lakehouse.changelogs import boundary
from lakehouse.errors import NothingToCompare
from lakehouse.lake import Lake, open_lake
from lakehouse.log import position
from lakehouse.progress import progress
from transformations.catalogue import catalogue
from transformations.durations import iso

MEASURED = "team_scores"
LOOK = 0.1
PROBE = 1.0
SAMPLE = 2.0
PATIENCE = 180.0
"""Seconds after which a probe counts as never seen; the longest wait for the start, too."""
SETTINGS = {
    "PARITY_STREAM__INTERVAL": "100 milliseconds",
    "PARITY_INGESTION__FILES_PER_BATCH": "1000",
}
console = Console()


@dataclass(frozen=True)
class Sample:
    """How far everything had come, at a time in seconds."""

    at: float
    landed: int
    """Lines in landing files."""
    ingested: int
    """Lines in the log and beside it."""
    logged: int
    """Events of the log."""
    streamed: int
    """Events of the log that the stream has consumed."""
    batches: dict[str, tuple[int, float]]
    """Micro-batches and the seconds that they took in all, by query."""


@dataclass
class Run:
    """What one run showed."""

    waits: list[float] = field(default_factory=list)
    """Seconds from a probe's landing to its answer."""
    lost: int = 0
    samples: list[Sample] = field(default_factory=list)


class Probes:
    """Lands probes, and asks for each until it is answered."""

    def __init__(self, landing: Path, address: str) -> None:
        self._landing = landing
        self._address = address
        self._waiting: dict[int, float] = {}
        self._next = 0

    def land(self) -> None:
        name = f"probe-{self._next}"
        event = {"event_id": name, "kind": "bubbles_popped", "player_id": "probe", "team_id": name, "bubbles": 1}
        draft = self._landing / f".{name}"
        draft.write_text(json.dumps({**event, "occurred_at": iso(datetime.now(UTC))}) + "\n")
        draft.replace(self._landing / f"{name}.jsonl")
        self._waiting[self._next] = time.monotonic()
        self._next += 1

    def look(self, run: Run) -> None:
        """Ask for those that wait, oldest first, until one is not there yet."""
        for number, landed in sorted(self._waiting.items()):
            seen = self._answered(f"probe-{number}")
            waited = time.monotonic() - landed
            if seen:
                run.waits.append(waited)
            elif waited > PATIENCE:
                run.lost += 1
            else:
                return
            del self._waiting[number]

    def waiting(self) -> int:
        return len(self._waiting)

    def _answered(self, team: str) -> bool:
        try:
            with urlopen(f"{self._address}/results/{MEASURED}?layer=kappa&key={team}&limit=1", timeout=10) as answer:
                return bool(json.load(answer)["rows"])
        except HTTPError as refused:
            if refused.code != 404:  # the stream has not begun
                raise
            return False


class Landed:
    """Counts the lines that have landed, each file once."""

    def __init__(self, landing: Path) -> None:
        self._landing = landing
        self._counted: set[str] = set()
        self._lines = 0

    def lines(self) -> int:
        for entry in os.scandir(self._landing):
            if entry.name.endswith(".jsonl") and entry.name not in self._counted:
                self._counted.add(entry.name)
                self._lines += Path(entry.path).read_bytes().count(b"\n")
        return self._lines


def sampled(lake: Lake, landed: Landed, at: float) -> Sample:
    here = position(lake)
    try:
        streamed = position(lake, boundary(lake, catalogue()[MEASURED]).log_version).seq
    except NothingToCompare:
        streamed = 0
    batches = {each.query: (each.batches, each.seconds) for each in progress(lake)}
    return Sample(at, landed.lines(), here.lines, here.seq, streamed, batches)


@contextmanager
def living(directory: Path, *, rate: float, port: int, results: list[str]) -> Iterator[subprocess.Popen[bytes]]:
    """`parity live --stream-only`, ended as with Ctrl-C."""
    named = [option for name in results for option in ("--result", name)]
    command = [
        "live",
        "--lake",
        str(directory),
        "--stream-only",
        "--rate",
        str(rate),
        "--back",
        "0",
        "--port",
        str(port),
    ]
    process = subprocess.Popen(
        [sys.executable, "-m", "cli.main", *command, *named], env={**SETTINGS, **os.environ}, start_new_session=True
    )
    try:
        yield process
    finally:
        process.send_signal(signal.SIGINT)
        process.wait(PATIENCE)


def measured(
    directory: Path, *, rate: float, length: timedelta, warm_up: timedelta, port: int, results: list[str]
) -> Run:
    """One run: probes once a second after the warm-up, for as long as asked, and until the last of them is answered."""
    run = Run()
    with living(directory, rate=rate, port=port, results=results) as process:
        lake = _begun(directory, process)
        landing = directory / "landing"
        probes, landed = Probes(landing, f"http://127.0.0.1:{port}"), Landed(landing)
        first = time.monotonic() + warm_up.total_seconds()
        last = first + length.total_seconds()
        probe = sample = first
        while (now := time.monotonic()) < last or (probes.waiting() and now < last + PATIENCE):
            if process.poll() is not None:
                sys.exit(f"`parity live` ended with exit code {process.returncode}.")
            if probe <= now < last:
                probes.land()
                probe += PROBE
            if sample <= now < last:
                run.samples.append(sampled(lake, landed, now - first))
                sample += SAMPLE
            if now >= first:
                probes.look(run)
            time.sleep(LOOK)
        run.lost += probes.waiting()
    return run


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


def show(run: Run, title: str) -> None:
    """Print the quantiles, and for each minute the backlogs and what a micro-batch took."""
    if len(run.waits) > 1:
        cut = quantiles(run.waits, n=100, method="inclusive")
        console.print(
            f"{title}: {len(run.waits)} probes, from landing to the API p50 {cut[49]:.1f} s, p95 {cut[94]:.1f} s, "
            f"p99 {cut[98]:.1f} s, longest {max(run.waits):.1f} s; {run.lost} not seen",
            highlight=False,
            soft_wrap=True,
        )
    table = Table(title=title)
    for name in ("minute", "landed lines/s", "not ingested", "not streamed", "ingestion (s)", f"{MEASURED} (s)"):
        table.add_column(name, justify="right")
    for minute, samples in _minutes(run.samples):
        one, two = samples[0], samples[-1]
        table.add_row(
            str(minute + 1),
            f"{(two.landed - one.landed) / (two.at - one.at):,.0f}",
            f"{mean(each.landed - each.ingested for each in samples):,.0f}",
            f"{mean(each.logged - each.streamed for each in samples):,.0f}",
            _took(one, two, "ingest"),
            _took(one, two, f"{MEASURED}@1"),
        )
    console.print(table)


def _minutes(samples: list[Sample]) -> Iterator[tuple[int, list[Sample]]]:
    for minute in sorted({int(each.at // 60) for each in samples}):
        found = [each for each in samples if each.at // 60 == minute]
        if len(found) > 1:
            yield minute, found


def _took(one: Sample, two: Sample, query: str) -> str:
    """The mean length of the micro-batches between two samples."""
    before, after = one.batches.get(query, (0, 0.0)), two.batches.get(query, (0, 0.0))
    batches = after[0] - before[0]
    return f"{(after[1] - before[1]) / batches:.2f}" if batches else "-"


def main(
    rate: Annotated[float, typer.Option(help="Events a second.")] = 5_000,
    minutes: Annotated[float, typer.Option(help="How long to measure.")] = 5,
    warm_up: Annotated[float, typer.Option(help="Minutes before that, in which the JVM compiles its code.")] = 2,
    all_results: Annotated[bool, typer.Option("--all-results", help="Stream all results instead of one.")] = False,
    port: Annotated[int, typer.Option(help="Port of the server, on 127.0.0.1.")] = 8765,
    keep: Annotated[Path | None, typer.Option(help="Leave the lake here.")] = None,
) -> None:
    """Measure the freshness of a result while events keep coming."""
    home = keep or Path(tempfile.mkdtemp(prefix="parity-freshness-"))
    results = list(catalogue()) if all_results else [MEASURED]
    title = f"{rate:,.0f} events a second, {len(results)} of {len(catalogue())} results streaming"
    spans: dict[str, Any] = {"length": timedelta(minutes=minutes), "warm_up": timedelta(minutes=warm_up)}
    try:
        show(measured(home / "lake", rate=rate, port=port, results=results, **spans), title)
    finally:
        if keep is None:
            shutil.rmtree(home)


if __name__ == "__main__":
    typer.run(main)
