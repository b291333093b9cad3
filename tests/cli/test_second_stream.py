"""A stream that runs until Ctrl-C: a second one beside it is refused, and it ends in order."""

import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
from deliveries import heartbeat, land, pop
from game import catalogue
from processes import QUICK, environment
from pyspark.sql import SparkSession
from typed import parity as typed

from lakehouse.changelogs import boundaries, changelog_name, read_changelog
from lakehouse.commits import newest
from lakehouse.identity import live_epoch
from lakehouse.lake import open_lake

KILLED = -signal.SIGKILL
TEAM_SCORES = catalogue()["team_scores"]


@pytest.fixture(autouse=True)
def a_commit_a_batch(nowhere: None, monkeypatch: pytest.MonkeyPatch) -> None:  # noqa: ARG001
    """As the processes have it, here too."""
    monkeypatch.setenv("PARITY_STREAM__COMMITS_PER_BATCH", QUICK["PARITY_STREAM__COMMITS_PER_BATCH"])


def test_a_second_stream_on_one_lake_is_refused_and_nothing_is_doubled(spark: SparkSession, tmp_path: Path) -> None:
    landing, home = tmp_path / "landing", tmp_path / "lake"
    landing.mkdir()
    land(landing, "1.jsonl", [pop("a", 1), pop("b", 70), heartbeat("beat", 1000)])
    assert typed("ingest", "--lake", home, "--landing", landing).exit_code == 0
    command = [
        sys.executable,
        "-m",
        "cli.main",
        "stream",
        "--lake",
        str(home),
        "--result",
        "team_scores",
        "--continuous",
    ]
    first = subprocess.Popen(command, env=environment(), stderr=subprocess.PIPE, text=True)
    try:
        lake = open_lake(home)
        deadline = time.monotonic() + 120
        while not (lake.has(changelog_name(TEAM_SCORES)) and newest(lake, changelog_name(TEAM_SCORES)) > 0):
            assert first.poll() is None and time.monotonic() < deadline
            time.sleep(0.2)
        second = typed("stream", "--lake", home, "--result", "team_scores")
        assert second.exit_code == 2
        assert "Another process is at work here" in second.stderr and "Traceback" not in second.stderr
    finally:
        first.send_signal(signal.SIGINT)
        _, said = first.communicate(timeout=60)
    assert first.returncode == 130, said
    assert "Stopped." in said and "Traceback" not in said
    at_last = boundaries(lake, TEAM_SCORES, live_epoch(lake, TEAM_SCORES))[0]
    rows = read_changelog(spark, lake, TEAM_SCORES, at_last)
    assert rows.count() == rows.select(*TEAM_SCORES.identity).distinct().count() == 2
