"""`parity ingest` with the embedded engine as it is typed: a process without a JVM, from its start to its end."""

import subprocess
import sys
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path

import psutil
import pytest
from deliveries import heartbeat, land, pop
from logged import assert_whole, event_ids
from processes import EMBEDDED, environment

from lakehouse.lake import open_lake

SAID = """
import atexit, sys
from cli.main import run
HEAVY = ("great_expectations", "fastapi", "plotly", "duckdb", "matplotlib", "speed_layer", "reconciliation")
def said():
    from pyspark import SparkContext
    print("IMPORTED", *sorted(each for each in HEAVY if each in sys.modules), file=sys.stderr)
    print("GATEWAY", SparkContext._gateway, file=sys.stderr)
atexit.register(said)
run()
"""


@pytest.fixture
def without_java(tmp_path: Path) -> dict[str, str]:
    """An environment in which no `java` can be found: whoever wants one fails."""
    empty = tmp_path / "no programs"
    empty.mkdir()
    found = environment(**EMBEDDED, PATH=str(empty), JAVA_HOME=str(empty))
    return {name: value for name, value in found.items() if name != "JDK_JAVA_OPTIONS"}


def test_it_starts_no_jvm_and_imports_little(tmp_path: Path, landing: Path, without_java: dict[str, str]) -> None:
    land(landing, "a.jsonl", [pop("a", 0), pop("a", 0), "nonsense", heartbeat("beat", 60)])
    command = ["ingest", "--lake", str(tmp_path / "lake"), "--landing", str(landing)]
    done = subprocess.run([sys.executable, "-c", SAID, *command], env=without_java, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    assert "Log version 1: 2 events, 1 duplicates, 1 quarantined" in done.stderr
    assert "IMPORTED\n" in done.stderr, done.stderr
    assert "GATEWAY None" in done.stderr, "py4j has started or found a JVM"
    lake = open_lake(tmp_path / "lake")
    assert event_ids(lake) == ["a", "beat"]
    assert_whole(lake)
    assert not lake.checkpoint("ingest").exists(), "the log's position is all that it goes on with"


def test_no_child_of_it_is_java_while_it_goes_on(tmp_path: Path, landing: Path, without_java: dict[str, str]) -> None:
    """Continuous, so that it can be looked at while it is at work; it takes in what lands, and ends at a Ctrl-C."""
    land(landing, "0.jsonl", [pop("0", 0)])
    lake = tmp_path / "lake"
    command = ["ingest", "--lake", str(lake), "--landing", str(landing), "--continuous"]
    interval = {"PARITY_STREAM__INTERVAL": "50 milliseconds"}
    process = subprocess.Popen(
        [sys.executable, "-m", "cli.main", *command],
        env={**without_java, **interval},
        stderr=subprocess.PIPE,
        text=True,
    )
    try:
        for number in range(1, 4):
            until(process, partial(has_ids, lake, number))
            assert psutil.Process(process.pid).children(recursive=True) == []
            land(landing, f"{number}.jsonl", [pop(str(number), number)])
        until(process, partial(has_ids, lake, 4))
    finally:
        process.send_signal(2)
        _, said = process.communicate(timeout=60)
    assert process.returncode == 130 and "Traceback" not in said, said
    assert_whole(open_lake(lake))


def has_ids(lake: Path, count: int) -> bool:
    log = lake / "tables" / "arrivals" / "_delta_log"
    return any(log.glob("*.json")) and event_ids(open_lake(lake)) == [str(number) for number in range(count)]


def until(process: subprocess.Popen[str], reached: Callable[[], bool]) -> None:
    deadline = time.monotonic() + 120
    while not reached():
        assert process.poll() is None and time.monotonic() < deadline
        time.sleep(0.02)
