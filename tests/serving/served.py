"""A small lake to serve, and `parity serve` as a real process on it."""

import os
import re
import subprocess
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

from deliveries import at, heartbeat, land, pop
from game import CONTROLLED, catalogue
from pyspark.sql import SparkSession

from batch_layer.recompute import recompute
from ingestion.ingest import ingest
from lakehouse.lake import Lake, create_lake
from lakehouse.settings import Settings, load_settings
from reconciliation.history import keep
from reconciliation.reconcile import reconcile
from speed_layer.legacy import legacy
from speed_layer.stream import stream
from transformations.result import Result

RESULTS = ("team_scores", "level_ups", "player_sessions")
NASTY = '<img src=x onerror="window.broken = 1">'
"""A team whose id is HTML that would run something."""
MINUTES = 63


def small_settings() -> Settings:
    """Every landing file becomes a commit of the log."""
    return load_settings(tried={"ingestion.files_per_batch": "1"})


def declared(settings: Settings, names: Sequence[str] = RESULTS) -> list[Result]:
    known = catalogue(settings.windows_by_result)
    return [known[name] for name in names]


def lines_of_minutes(first: int, end: int) -> list[str]:
    """Three teams that score in each of the minutes `[first, end)`, delivered within seconds but for every tenth minute."""
    lines = []
    for minute in range(first, end):
        second, delay = minute * 60 + 7, 100 if minute % 10 == 3 else 2
        received = {"sent_at": at(second + delay), "received_at": at(second + delay)}
        bubbles = 520 if minute % 20 == 2 else 100 + minute
        lines += [
            pop(f"blue-{minute}", second, bubbles=bubbles, player="alice", **received),
            pop(f"red-{minute}", second + 1, bubbles=90 - minute, team="red", player="bert", **received),
            pop(f"nasty-{minute}", second + 2, bubbles=3, team=NASTY, player="<i>carol</i>", **received),
        ]
    return lines


def everything_ran(spark: SparkSession, directory: Path) -> Lake:
    """A lake of an hour in which all layers ran and both verdicts were given; the stream alone has gone on since.

    There are copies, lines that are no event, an event that was late before batch ran and two after it. The second of them
    joins a session that batch had settled to one that is open.
    """
    lake, landing, settings = create_lake(directory / "lake"), directory / "landing", small_settings()
    landing.mkdir()
    first = lines_of_minutes(0, 30)
    late = pop("late", 65, bubbles=11, player="dora", received_at=at(30 * 60))
    land(landing, "1.jsonl", first)
    settled = pop("settled", 36 * 60 + 5, bubbles=0, player="dora", received_at=at(36 * 60 + 5))
    in_order = [*lines_of_minutes(30, 36), settled, *lines_of_minutes(36, MINUTES - 3)]
    land(landing, "2.jsonl", [first[0], first[4], "not JSON", late, *in_order])
    ingest(spark, lake, landing, settings)
    results = declared(settings)
    stream(spark, lake, results, settings)
    for result in results:
        recompute(spark, lake, result, settings)
    controlled = declared(settings, CONTROLLED)
    legacy(spark, lake, settings, answers=controlled)
    keep(spark, lake, reconcile(spark, lake, results, settings), settings)
    keep(spark, lake, reconcile(spark, lake, controlled, settings, candidate="legacy"), settings)
    repaired = pop("later", 20 * 60 + 5, bubbles=17, player="dora", received_at=at((MINUTES - 3) * 60))
    joining = pop("joining", 50 * 60 + 5, bubbles=0, player="dora", received_at=at((MINUTES - 3) * 60))
    joined = pop("joined", 60 * 60 + 5, bubbles=0, player="dora", received_at=at(60 * 60 + 5))
    lines = [repaired, joining, joined, *lines_of_minutes(MINUTES - 3, MINUTES), heartbeat("beat", MINUTES * 60 - 1)]
    land(landing, "3.jsonl", lines)
    ingest(spark, lake, landing, settings)
    stream(spark, lake, results, settings)
    return lake


@contextmanager
def serving(lake: Path, *options: str, **more: str) -> Iterator[str]:
    """The address of `parity serve` on the lake, on a port that was free; `more` goes into its environment."""
    command = [sys.executable, "-m", "cli.main", "serve", "--lake", str(lake), "--port", "0", *options]
    process = subprocess.Popen(
        command, env={**os.environ, **more}, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True
    )
    try:
        assert process.stdout is not None
        said = process.stdout.readline()
        found = re.search(r"http://\S+:\d+", said)
        assert found, f"the server said {said + process.stdout.read()!r}"
        yield found.group()
    finally:
        process.terminate()
        process.communicate(timeout=30)
