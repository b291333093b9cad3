"""`parity live` as a process: everything moves, a signal stops all of it, and what it left agrees."""

import json
import re
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from urllib.request import urlopen

import psutil
import pytest
from game import catalogue
from processes import environment
from pyspark.sql import SparkSession

from batch_layer.recompute import recompute
from lakehouse.changelogs import boundary
from lakehouse.commits import newest
from lakehouse.control import CONTROL
from lakehouse.errors import ParityError
from lakehouse.lake import open_lake
from lakehouse.log import position
from lakehouse.progress import progress
from lakehouse.settings import load_settings
from lakehouse.tables import read_table
from lakehouse.verdicts import RECONCILIATIONS
from reconciliation.reconcile import reconcile

LONGEST = 240.0
PARTS = [
    "Server", "Simulator", "Ingestion", "Spark", "Stream of team_scores",
    "Batch layer", "Verdict on the stream", "Control", "Verdict on the control",
]  # fmt: skip


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


class Live:
    """The process, and what it has started."""

    def __init__(self, process: subprocess.Popen[str]) -> None:
        self._process = process
        self._itself = psutil.Process(process.pid)
        self._started: set[psutil.Process] = set()

    def until(self, ready: Callable[[], bool]) -> None:
        """Wait for something to be so, while the process goes on."""
        deadline = time.monotonic() + LONGEST
        while not ready():
            assert time.monotonic() < deadline, "it takes too long"
            with pytest.raises(subprocess.TimeoutExpired):
                self._process.wait(0.1)
            self._started.update(self._itself.children(recursive=True))

    def java(self) -> bool:
        return any(child.name() == "java" for child in self._itself.children(recursive=True))

    def ended(self) -> tuple[int, str]:
        """The exit code and what it said, once it has ended by itself."""
        _, said = self._process.communicate(timeout=LONGEST)
        return self._process.returncode, said

    def stopped_by(self, number: signal.Signals) -> str:
        """Send a signal; it has to end well, with nothing left of what it started. Returns what it said."""
        self._started.update(self._itself.children(recursive=True))
        self._process.send_signal(number)
        _, said = self._process.communicate(timeout=LONGEST)
        left = [each for each in self._started if each.is_running() and each.status() != psutil.STATUS_ZOMBIE]
        assert (self._process.returncode, left) == (0, []), said
        return said


@contextmanager
def living(lake: Path, *options: str) -> Iterator[Live]:
    process = subprocess.Popen(
        [sys.executable, "-m", "cli.main", "live", "--lake", str(lake), *options],
        env=environment(),
        stderr=subprocess.PIPE,
        text=True,
    )
    try:
        yield Live(process)
    finally:
        if process.poll() is None:
            for child in psutil.Process(process.pid).children(recursive=True):
                child.kill()
            process.kill()
            process.communicate()


def coming_up(port: int) -> dict[str, str]:
    """The parts that the server tells of, each with its state."""
    with urlopen(f"http://127.0.0.1:{port}/starting", timeout=30) as answer:
        return {each["name"]: each["state"] for each in json.load(answer)["parts"]}


def reached(ready: Callable[[], bool]) -> Callable[[], bool]:
    """Whether it is so by now; what is not there yet is not."""

    def asked() -> bool:
        try:
            return ready()
        except (ParityError, OSError):
            return False

    return asked


def test_everything_moves_until_ctrl_c_and_what_it_left_agrees(spark: SparkSession, tmp_path: Path) -> None:
    home, port = tmp_path / "live", free_port()
    options = ("--rate", "20", "--back", "5", "--port", str(port), "--batch-every", "5 seconds")
    with living(home, *options, "--result", "team_scores") as live:
        team_scores = catalogue()["team_scores"]
        live.until(reached(lambda: bool(coming_up(port))))
        first_seen = coming_up(port)
        assert list(first_seen) == PARTS
        assert first_seen["Spark"] != "ready", "the page answers before there is a JVM to wait for"
        assert first_seen["Verdict on the control"] == "waiting"
        live.until(reached(lambda: boundary(open_lake(home), team_scores).log_version > 0))
        first = position(open_lake(home)).seq
        assert first > 1_000
        live.until(reached(lambda: position(open_lake(home)).seq > first))
        live.until(reached(lambda: newest(open_lake(home), RECONCILIATIONS) > 0))
        with urlopen(f"http://127.0.0.1:{port}/health", timeout=30) as answer:
            assert answer.status == 200
        live.until(reached(lambda: set(coming_up(port).values()) == {"ready"}))
        said = live.stopped_by(signal.SIGINT)
    lake = open_lake(home)
    for name in PARTS:
        assert len(re.findall(rf"✓ +\d+ s {name}: ", said)) == 1, said
    assert said.index("Verdict on the stream: agrees in all") < said.index("Verdict on the control: differs in")
    assert not (home / "starting.json").exists()
    assert f"Open http://127.0.0.1:{port}" in said and "Stopped." in said
    assert "Traceback" not in said
    assert lake.has(CONTROL)
    assert {"ingest", "team_scores@1", "legacy"} == {each.query for each in progress(lake)}
    judged = read_table(spark, lake, RECONCILIATIONS).where("candidate = 'kappa'").select("status").distinct()
    assert [row.status for row in judged.collect()] == ["agree"]
    settings = load_settings(tried={"lateness.allowed": "30 seconds"})
    recompute(spark, lake, team_scores, settings)
    verdict = reconcile(spark, lake, [team_scores], settings)
    assert (verdict.status, verdict.audit.balanced) == ("agree", True)


def test_a_signal_while_spark_is_starting_leaves_nothing_behind(tmp_path: Path) -> None:
    with living(tmp_path / "live", "--port", str(free_port())) as live:
        live.until(live.java)
        said = live.stopped_by(signal.SIGTERM)
    assert "Stopped." in said
    assert "Traceback" not in said


def test_a_server_that_cannot_start_stops_everything_and_says_why(tmp_path: Path) -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        with living(tmp_path / "live", "--back", "0", "--stream-only", "--port", str(taken.getsockname()[1])) as live:
            code, said = live.ended()
    assert code == 2
    assert "The server ended with exit code" in said and "Traceback" not in said
