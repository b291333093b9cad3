"""A restart changes nothing: real processes, killed with SIGKILL at known places, also twice at the same one.

What is killed, or runs beside another, is a process of its own. What comes after a kill, and ends, is typed in this one.
"""

import signal
import subprocess
import sys
import time
from collections import Counter
from dataclasses import replace
from pathlib import Path

import pytest
from deliveries import at, heartbeat, land, pop
from processes import QUICK, environment, parity
from pyspark.sql import SparkSession
from typed import parity as typed

from batch_layer.recompute import recompute
from lakehouse.batches import coverage
from lakehouse.changelogs import boundaries, changelog_name, read_changelog
from lakehouse.errors import VersionRefused
from lakehouse.identity import live_epoch
from lakehouse.lake import open_lake
from lakehouse.settings import load_settings
from lakehouse.tables import commits, newest, read_table
from reconciliation.reconcile import reconcile
from reconciliation.versions import versions_compared
from speed_layer.replay import replay
from speed_layer.stream import stream as stream_results
from transformations.catalogue import catalogue

KILLED = -signal.SIGKILL
TEAM_SCORES = catalogue()["team_scores"]


@pytest.fixture(autouse=True)
def a_commit_a_batch(nowhere: None, monkeypatch: pytest.MonkeyPatch) -> None:  # noqa: ARG001
    """As the processes have it, here too."""
    monkeypatch.setenv("PARITY_STREAM__COMMITS_PER_BATCH", QUICK["PARITY_STREAM__COMMITS_PER_BATCH"])


def test_killed_at_every_writer_and_twice_at_the_same_place_nothing_is_lost_or_doubled(
    spark: SparkSession, tmp_path: Path
) -> None:
    landing, home = tmp_path / "landing", tmp_path / "lake"
    landing.mkdir()
    for part in range(4):
        pops = [pop(f"{part}-{n}", part * 600 + n * 40, bubbles=n, received_at=at(part * 600 + 400)) for n in range(10)]
        late = [pop(f"{part}-late", 30, bubbles=5), pops[0], "no event at all"]
        land(landing, f"{part}.jsonl", [*pops, heartbeat(f"{part}-beat", part * 600 + 500), *late])
    ingest = ("ingest", "--lake", home, "--landing", landing, "--files-per-batch", "1")
    stream = ("stream", "--lake", home, "--result", "team_scores")

    assert parity(*ingest, failpoint="ingest.sidelined:events:1").returncode == KILLED
    assert parity(*ingest, failpoint="ingest.appended:events:2").returncode == KILLED
    assert typed(*ingest).exit_code == 0
    assert parity(*stream, failpoint="stream.appended:team_scores:1").returncode == KILLED
    assert parity(*stream, failpoint="stream.appended:team_scores:1").returncode == KILLED
    assert parity(*stream, failpoint="stream.computed:team_scores:2").returncode == KILLED
    assert typed(*stream).exit_code == 0

    lake, settings = open_lake(home), load_settings()
    lines = {
        table: Counter((row.file, row.line) for row in read_table(spark, lake, table).collect())
        for table in ("events", "duplicates", "quarantine")
    }
    everywhere = sum(lines.values(), Counter[tuple[str, int]]())
    assert set(everywhere.values()) == {1}
    assert {table: len(found) for table, found in lines.items()} == {"events": 48, "duplicates": 4, "quarantine": 4}

    batch = ("recompute", "--lake", home, "--result", "team_scores")
    assert parity(*batch, failpoint="recompute.computed:team_scores:0").returncode == KILLED
    assert coverage(lake, TEAM_SCORES) == []
    recompute(spark, lake, TEAM_SCORES, settings)
    verdict = reconcile(spark, lake, [TEAM_SCORES], settings)
    [found] = verdict.results
    assert (verdict.status, found.duplicate_revisions, found.engine_wrong) == ("agree", 0, 0)
    assert found.compared > 0 and verdict.audit.balanced
    batches = Counter(each.batch for each in boundaries(lake, TEAM_SCORES, live_epoch(lake, TEAM_SCORES)))
    assert set(batches.values()) == {1}

    again = ("replay", "--lake", home, "--result", "team_scores", "--way", "steps")
    assert parity(*again, failpoint="replay.appended:team_scores:0").returncode == KILLED
    new = replace(TEAM_SCORES, version=2)
    with pytest.raises(VersionRefused, match="has not finished"):
        stream_results(spark, lake, [new], settings)
    with pytest.raises(VersionRefused, match="was begun with --way steps"):
        replay(spark, lake, new, settings, way="engine")
    resumed = typed(*again[:-2])
    assert resumed.exit_code == 0 and "Going on with team_scores@2" in resumed.stderr
    same = versions_compared(spark, lake, TEAM_SCORES, new, settings)
    assert (same.status, same.equal) == ("same", found.equal)
    steps = [said for said in commits(lake, changelog_name(new)) if "step" in said]
    assert len(steps) == 1


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
