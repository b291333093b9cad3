"""What a scheduler types on a lake that is fed meanwhile, and types again when an attempt has died on the way."""

import json
from pathlib import Path

import pytest
from deliveries import heartbeat, land, pop
from game import catalogue
from pyspark.sql import SparkSession
from typed import parity

from lakehouse.identity import live_epoch
from lakehouse.lake import open_lake

SCORES = ("--result", "team_scores")


@pytest.fixture(scope="module")
def lake(spark: SparkSession, tmp_path_factory: pytest.TempPathFactory) -> Path:  # noqa: ARG001
    """The live version is two commits of the log ahead of the one that was replayed."""
    home = tmp_path_factory.mktemp("fed")
    (home / "landing").mkdir()
    fed(home, "1", 0)
    typed("replay", home, "--way", "steps")
    fed(home, "2", 1000)
    fed(home, "3", 2000)
    return home


def typed(command: str, home: Path, *options: str, code: int = 0) -> str:
    done = parity(command, "--lake", home / "lake", *SCORES, *options)
    assert done.exit_code == code, done.stderr
    return done.stderr


def fed(home: Path, name: str, seconds: int) -> None:
    """Something lands, and the live version follows."""
    land(home / "landing", f"{name}.jsonl", [pop(name, seconds), heartbeat(f"beat {name}", seconds + 900)])
    assert parity("ingest", "--lake", home / "lake", "--landing", home / "landing").exit_code == 0
    typed("stream", home)


def epoch(home: Path) -> int:
    return live_epoch(open_lake(home / "lake"), catalogue()["team_scores"]).number


def test_a_replay_that_has_ended_is_not_done_again(lake: Path) -> None:
    assert "team_scores@2 is there already" in typed("replay", lake, "--as-version", "2", "--way", "steps")
    assert "team_scores@1 is there already" in typed("replay", lake, "--as-version", "1")


def test_one_with_other_settings_is_refused_as_before(lake: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PARITY_WINDOWS__TEAM_SCORES", json.dumps({"size": "2 minutes"}))
    assert "team_scores@2 exists" in typed("replay", lake, "--as-version", "2", code=2)


def test_a_swap_lets_the_new_version_catch_up_and_a_second_one_finds_it_done(lake: Path) -> None:
    assert "has not caught up" in typed("swap", lake, "--to", "2", code=2)
    assert "team_scores@2 is live, team_scores@1 was" in typed("swap", lake, "--to", "2", "--catch-up")
    for again in ((), ("--catch-up",)):
        assert "team_scores@2 is live already" in typed("swap", lake, "--to", "2", *again)
    typed("swap", lake, "--back")


def test_a_rebuild_that_is_retried_goes_on_with_its_epoch(lake: Path) -> None:
    before = epoch(lake)
    for run, begun in (("repair.one", 1), ("repair.one", 1), ("repair.two", 2), (None, 3), (None, 4)):
        typed("stream", lake, "--rebuild", *([] if run is None else ["--run", run]))
        assert epoch(lake) == before + begun, run
