"""The API beside Spark: the last hour of `team_scores` from a lake with a million result rows, in one run, taking turns.

    .venv/bin/python -m benchmarks.serving [--rows 1000000] [--rounds 3] [--seconds 10]

`API, same question`: 16 connections ask for the last hour again and again, as a page does. An answer about the same versions
is not computed twice, so this is mostly HTTP. `API, other questions`: each asks for another hour, and every answer is
computed. `Spark`: the same view of the same hour, one after the other and 4 at once, in a session that is warm.
"""

import json
import os
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta
from pathlib import Path
from statistics import median
from typing import Annotated, Any
from urllib.request import urlopen

import psutil
import typer
from pyspark.sql import SparkSession
from pyspark.sql import functions as F
from rich.console import Console
from rich.table import Table

from ingestion.ingest import ingest
from lakehouse.changelogs import changelog_name
from lakehouse.identity import begun_epoch
from lakehouse.lake import Lake, create_lake
from lakehouse.pipelines import default_pipeline
from lakehouse.session import spark_session
from lakehouse.settings import Settings, load_settings
from lakehouse.tables import Transaction, append
from serving.views import view
from speed_layer.stream import create_changelog
from transformations.changelog import Stamp, stamped
from transformations.durations import iso
from transformations.result import Result

TEAMS = ("amber", "blue", "green", "red", "violet")
START = datetime(2026, 1, 1, tzinfo=UTC)
COMMITS = 20
CONNECTIONS = 16
AT_ONCE = 4
console = Console()


def lake_of(spark: SparkSession, path: Path, result: Result, settings: Settings, rows: int) -> tuple[Lake, datetime]:
    """A lake whose stream has told so many rows, in the format of its writers; returns the end of the last window too."""
    minutes = rows // len(TEAMS)
    end = START + timedelta(minutes=minutes)
    landing = path.with_name("landing")
    landing.mkdir()
    beat = {"event_id": "beat", "kind": "heartbeat", "occurred_at": iso(end), "received_at": iso(end)}
    (landing / "beat.jsonl").write_text(json.dumps(beat) + "\n")
    lake = create_lake(path)
    ingest(spark, lake, landing, settings)
    create_changelog(lake, result, settings)
    epoch = begun_epoch(lake, result, since=0)
    each = -(-minutes // COMMITS)
    for batch in range(COMMITS):
        span = spark.range(batch * each, min((batch + 1) * each, minutes)).withColumnRenamed("id", "minute")
        start = F.timestamp_millis(F.lit(int(START.timestamp() * 1000)) + F.col("minute") * 60_000)
        cells = span.withColumn("team_id", F.explode(F.array(*(F.lit(team) for team in TEAMS)))).withColumns(
            {
                "window_start": start,
                "window_end": F.timestamp_millis(F.unix_millis(start) + 60_000),
                "bubbles": F.pmod(F.xxhash64("minute", "team_id"), F.lit(700)),
                "events": F.pmod(F.xxhash64("team_id", "minute"), F.lit(90)),
                "smallest": F.lit(1),
                "greatest": F.lit(20),
                "players": F.lit(13),
            }
        )
        stamp = Stamp(
            log_version=1, high_water=end, allowed=settings.lateness.allowed, epoch=epoch.number,
            batch=batch, written_at=datetime.now(UTC), fingerprint="benchmark",
        )  # fmt: skip
        said = {"epoch": epoch.number, "batch": batch, "log_version": 1, "on_time": 5 * each, "late": 0, "recompute": 0}
        revisions = stamped(cells, result, stamp, cause="on_time")
        transaction = Transaction(epoch.app_id, batch)
        append(spark, lake, changelog_name(result), revisions, transaction=transaction, metadata=said)
    return lake, end


@contextmanager
def server(lake: Lake) -> Iterator[tuple[str, psutil.Process]]:
    """`parity serve` in a process of its own."""
    command = [sys.executable, "-m", "cli.main", "serve", "--lake", str(lake.path), "--port", "0"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True, env={**os.environ, "COLUMNS": "200"}) as process:
        try:
            assert process.stdout is not None
            yield process.stdout.readline().split(" on ")[1].split()[0], psutil.Process(process.pid)
        finally:
            process.terminate()


def asked(address: str, process: psutil.Process, seconds: float, paths: list[str]) -> dict[str, float]:
    """What a load from another process found, and what it cost the server."""
    cpu = sum(process.cpu_times()[:2])
    done = subprocess.run(
        [sys.executable, "-m", "benchmarks.load", address, str(CONNECTIONS), str(seconds), *paths],
        capture_output=True, text=True, check=True,
    )  # fmt: skip
    found: dict[str, float] = json.loads(done.stdout)
    return {**found, "cpu_ms": (sum(process.cpu_times()[:2]) - cpu) / found["requests"] * 1000}


def spark_asked(
    spark: SparkSession,
    lake: Lake,
    result: Result,
    settings: Settings,
    first: datetime,
    seconds: float,
    *,
    at_once: int,
) -> dict[str, float]:
    """The same view through Spark, by so many threads."""
    taken: list[float] = []
    end = time.monotonic() + seconds

    def ask(_: int) -> None:
        while time.monotonic() < end:
            begun = time.monotonic()
            rows = view(spark, lake, result, settings, layer="kappa").where(F.col("window_start") >= F.lit(first))
            rows.collect()
            taken.append(time.monotonic() - begun)

    begun = time.monotonic()
    with ThreadPoolExecutor(at_once) as pool:
        list(pool.map(ask, range(at_once)))
    wall = time.monotonic() - begun
    ordered = sorted(taken)
    return {
        "requests": len(taken),
        "per_second": len(taken) / wall,
        "p50_ms": median(taken) * 1000,
        "p99_ms": ordered[int(len(ordered) * 0.99)] * 1000,
    }


def main(
    rows: Annotated[int, typer.Option(help="Result rows of the lake.")] = 1_000_000,
    rounds: Annotated[int, typer.Option(help="How often they take turns.")] = 3,
    seconds: Annotated[float, typer.Option(help="How long each turn takes.")] = 10.0,
) -> None:
    home = Path(tempfile.mkdtemp(prefix="parity-serving-"))
    try:
        bench(home, rows, rounds, seconds)
    finally:
        shutil.rmtree(home)


def bench(home: Path, rows: int, rounds: int, seconds: float) -> None:
    settings = load_settings()
    result = default_pipeline().catalogue()["team_scores"]
    spark = spark_session(settings.spark, log_file=home / "spark.log")
    with console.status(f"a lake with {rows:,} result rows …"):
        lake, end = lake_of(spark, home / "lake", result, settings, rows)
    first = end - timedelta(hours=1)
    same = [f"/results/team_scores?from={iso(first)}"]
    other = [f"/results/team_scores?from={iso(at)}&to={iso(at + timedelta(hours=1))}" for at in _hours(end, rows)]
    found: dict[str, list[dict[str, float]]] = {}

    def note(name: str, figures: dict[str, float]) -> None:
        found.setdefault(name, []).append(figures)
        console.print(f"{name}: " + ", ".join(f"{key} {value:,.1f}" for key, value in figures.items()), highlight=False)

    with server(lake) as (address, process):
        begun = time.monotonic()
        urlopen(address + same[0]).read()
        console.print(
            f"first answer after {time.monotonic() - begun:.1f} s, {process.memory_info().rss / 2**20:.0f} MB"
        )
        spark_asked(spark, lake, result, settings, first, 5.0, at_once=1)
        for _ in range(rounds):
            note("Spark, one at a time", spark_asked(spark, lake, result, settings, first, seconds, at_once=1))
            note("API, same question", asked(address, process, seconds, same))
            note(
                f"Spark, {AT_ONCE} at once", spark_asked(spark, lake, result, settings, first, seconds, at_once=AT_ONCE)
            )
            note("API, other questions", asked(address, process, seconds, other))
        console.print(f"memory of the server at the end: {process.memory_info().rss / 2**20:.0f} MB")
    show(found, rows)


def _hours(end: datetime, rows: int) -> list[datetime]:
    """Hours that begin at different minutes, spread over the lake."""
    minutes = rows // len(TEAMS)
    return [end - timedelta(minutes=61 + minute * 7919 % (minutes - 61)) for minute in range(2000)]


def show(found: dict[str, list[dict[str, Any]]], rows: int) -> None:
    table = Table(
        title=f"team_scores, the last hour of {rows:,} result rows, {os.cpu_count()} cores, {CONNECTIONS} connections"
    )
    for name in ("", "requests/s", "p50 ms", "p99 ms", "CPU ms of the server"):
        table.add_column(name, justify="left" if not name else "right")
    best = max(
        median(each["per_second"] for each in turns) for name, turns in found.items() if name.startswith("Spark")
    )
    for name, turns in found.items():
        at = {key: median(each[key] for each in turns) for key in turns[0]}
        table.add_row(
            name, f"{at['per_second']:,.1f}", f"{at['p50_ms']:,.1f}", f"{at['p99_ms']:,.1f}",
            f"{at['cpu_ms']:.2f}" if "cpu_ms" in at else "",
        )  # fmt: skip
    console.print(table)
    for name, turns in found.items():
        if name.startswith("API"):
            ratio = median(each["per_second"] for each in turns) / best
            console.print(f"{name}: {ratio:,.0f} times as many requests a second as Spark at its best", highlight=False)


if __name__ == "__main__":
    typer.run(main)
