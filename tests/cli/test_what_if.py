"""`parity what-if` as a user types it: what other settings would change, without a trace, and its refusals."""

import hashlib
import json
from dataclasses import replace
from pathlib import Path

import pytest
from deliveries import at, heartbeat, land, pop
from game import catalogue
from pyspark.sql import SparkSession
from typed import parity

from ingestion.ingest import ingest
from lakehouse.identity import note_replay
from lakehouse.lake import create_lake, open_lake
from lakehouse.settings import load_settings
from lakehouse.terms import agree_on_settings
from speed_layer.stream import stream

SMALLER = ("--set", "lateness.allowed=30 seconds", "--result", "team_scores")


@pytest.fixture(scope="module")
def lake(spark: SparkSession, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Ten minutes of pops in two commits, one a minute late, and a live version of one result."""
    home = tmp_path_factory.mktemp("what-if")
    landing, made = home / "landing", create_lake(home / "lake")
    landing.mkdir()
    pops = [pop(f"e{n}", n * 60, bubbles=n, received_at=at(n * 60 + 1)) for n in range(10)]
    land(landing, "1.jsonl", [*pops[:5], pop("late", 170, bubbles=100, received_at=at(245))])
    land(landing, "2.jsonl", [*pops[5:], heartbeat("beat", 1800)])
    ingest(spark, made, landing, load_settings(), files_per_batch=1)
    stream(spark, made, [catalogue()["team_scores"]], load_settings())
    return home / "lake"


def trace(lake: Path) -> dict[str, str]:
    """Every file of the lake with the hash of its content, Spark's log left out."""
    files = [file for file in lake.rglob("*") if file.is_file() and "logs" not in file.relative_to(lake).parts]
    return {str(file.relative_to(lake)): hashlib.sha256(file.read_bytes()).hexdigest() for file in files}


def test_a_smaller_lateness_settles_earlier_and_repairs_more_and_leaves_no_trace(lake: Path) -> None:
    before = trace(lake)
    done = parity("what-if", "--lake", lake, *SMALLER, "--format", "json")
    assert done.exit_code == 0, done.stderr
    [found] = json.loads(done.stdout)
    assert found["comparison"]["settings"] == {"allowed_lateness": ["5 minutes", "30 seconds"]}
    assert (found["comparison"]["status"], found["comparison"]["equal"]) == ("same", 10)
    assert (found["live"]["repaired"], found["tried"]["repaired"]) == (0, 1)
    assert (found["live"]["late_events"], found["tried"]["late_events"]) == (0, 1)
    assert found["tried"]["median_wait"] < found["live"]["median_wait"]
    assert found["events"] == 12 and found["cpu_seconds"] > 0 and found["tried_bytes"] > 0
    assert trace(lake) == before


def test_a_replay_that_was_begun_with_the_same_settings_is_not_touched(lake: Path) -> None:
    opened, begun = open_lake(lake), replace(catalogue()["team_scores"], version=2)
    tried = load_settings(tried={"lateness.allowed": "30 seconds"})
    agree_on_settings(opened, begun, tried)
    note_replay(opened, begun, "engine")
    before = trace(lake)
    try:
        done = parity("what-if", "--lake", lake, *SMALLER, "--format", "json")
        assert done.exit_code == 0, done.stderr
        assert json.loads(done.stdout)[0]["comparison"]["right"] == "team_scores@3"
        assert trace(lake) == before
    finally:
        opened.result_file(begun.id).unlink()


def test_people_are_told_what_a_larger_window_changes(lake: Path) -> None:
    before = trace(lake)
    done = parity("what-if", "--lake", lake, "--set", "windows.team_scores.size=5 minutes")
    assert done.exit_code == 0, done.stderr
    said = " ".join(done.stdout.split())
    assert "window_size: 1 minute → 5 minutes" in said
    assert "2 differ" in said and "8 are only in team_scores@1" in said
    assert "rows 10 2" in said and "The replay of 12 events took" in said and "Nothing of this was kept" in said
    assert trace(lake) == before


def test_a_part_of_the_log_can_be_tried(lake: Path) -> None:
    done = parity("what-if", "--lake", lake, *SMALLER, "--from-version", "2", "--format", "json")
    assert done.exit_code == 0, done.stderr
    [found] = json.loads(done.stdout)
    assert found["events"] == 6
    assert (found["comparison"]["after"], found["comparison"]["equal"]) == (at(240), 5)


def test_what_is_to_be_kept_is_a_version_beside_the_live_one(lake: Path) -> None:
    assert parity("what-if", "--lake", lake, *SMALLER, "--keep").exit_code == 0
    listed = json.loads(parity("versions", "--lake", lake, "--format", "json").stdout)
    assert [(each["version"], each["state"]) for each in listed] == [(1, "live"), (2, "beside")]
    assert listed[1]["settings"]["allowed_lateness"] == "30 seconds"
    assert parity("retire", "--lake", lake, "--result", "team_scores@2").exit_code == 0
    again = parity("replay", "--lake", lake, "--result", "team_scores", "--as-version", "2")
    assert again.exit_code == 2 and "team_scores@2 was retired" in " ".join(again.stderr.split())


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ("windows.team_score.size=1 minute", "windows.team_score: there is no such setting"),
        (
            "lateness.alowed=1 minute",
            "lateness.alowed: there is no such setting. Known here: allowed, policy, hold, holds.",
        ),
        ("lateness.allowed=soon", "lateness.allowed = 'soon'"),
        ("lateness.allowed", "write a setting and its value"),
        ("clock.future=1 hour", "only settings that a version is computed with can be tried"),
        ("lateness.allowed=5 minutes", "nothing would change"),
    ],
)
def test_a_mistake_is_refused_with_a_sentence(lake: Path, given: str, said: str) -> None:
    done = parity("what-if", "--lake", lake, "--set", given)
    assert done.exit_code == 2, done.output
    assert said in " ".join(done.stderr.split())
    assert "Traceback" not in done.output
