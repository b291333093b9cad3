"""Savepoints as a user types them, with real kills while a stream starts from one."""

import json
import os
import shutil
import signal
from pathlib import Path

import pytest
from deliveries import heartbeat, land, pop
from game import catalogue
from processes import parity as process
from pyspark.sql import SparkSession
from typer.testing import CliRunner, Result

from cli.main import app
from lakehouse.identity import live_epoch
from lakehouse.lake import open_lake

SCORES = ("--result", "team_scores")
TEAM_SCORES = catalogue()["team_scores"]
NOW = [16, 7, 8]


def parity(*command: str | Path) -> Result:
    return CliRunner().invoke(app, [str(part) for part in command])


@pytest.fixture(autouse=True)
def nowhere(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Not in the project's directory: its parity.toml is not to be found by chance."""
    monkeypatch.chdir(tmp_path)
    for name in list(os.environ):
        if name.startswith("PARITY_"):
            monkeypatch.delenv(name)


def scores(lake: Path) -> list[int]:
    done = parity("show", "team_scores", "--lake", lake, "--format", "jsonl")
    assert done.exit_code == 0, done.stderr
    return [json.loads(line)["bubbles"] for line in done.stdout.splitlines()]


def delivered(home: Path, name: str, *lines: str) -> None:
    land(home / "landing", name, lines)
    assert parity("ingest", "--lake", home / "lake", "--landing", home / "landing").exit_code == 0


@pytest.fixture(scope="module")
def lake(spark: SparkSession, tmp_path_factory: pytest.TempPathFactory) -> Path:  # noqa: ARG001
    """A lake with the savepoint `monday`, whose log and whose stream have gone on since."""
    home = tmp_path_factory.mktemp("savepoints")
    (home / "landing").mkdir()
    delivered(home, "1.jsonl", pop("a", 10, bubbles=1), pop("b", 70, bubbles=3))
    refused = parity("savepoint", "--lake", home / "lake", "--name", "monday")
    assert refused.exit_code == 2 and "No stream has written anything" in refused.stderr
    assert parity("stream", "--lake", home / "lake", *SCORES).exit_code == 0
    taken = parity("savepoint", "--lake", home / "lake", "--name", "monday")
    assert taken.exit_code == 0, taken.stderr
    assert "Log version 1: team_scores@1." in taken.stderr
    more = (pop("c", 80, bubbles=4), pop("d", 130, bubbles=8), heartbeat("beat", 2000), pop("late", 20, bubbles=15))
    delivered(home, "2.jsonl", *more)
    assert parity("stream", "--lake", home / "lake", *SCORES).exit_code == 0
    return home / "lake"


def test_they_are_listed_and_removed(lake: Path, tmp_path: Path) -> None:
    own = shutil.copytree(lake, tmp_path / "own")
    assert parity("savepoint", "--lake", own, "--name", "tuesday", "--result", "team_scores@1").exit_code == 0
    text = parity("savepoint", "--lake", own).stdout
    assert "monday" in text and "tuesday" in text and "team_scores@1" in text
    listed = json.loads(parity("savepoint", "--lake", own, "--format", "json").stdout)
    assert [(each["name"], each["log_version"], list(each["streams"])) for each in listed] == [
        ("monday", 1, ["team_scores@1"]),
        ("tuesday", 2, ["team_scores@1"]),
    ]
    assert parity("savepoint", "--lake", own, "--remove", "monday").exit_code == 0
    assert [each["name"] for each in json.loads(parity("savepoint", "--lake", own, "--format", "json").stdout)] == [
        "tuesday"
    ]


@pytest.mark.parametrize(
    ("command", "said"),
    [
        (("savepoint", "--name", "monday"), "There is a savepoint 'monday'"),
        (("savepoint", "--name", "x", "--remove", "monday"), "give --remove NAME alone"),
        (("savepoint", "--remove", "sunday"), "There is no savepoint 'sunday'"),
        (("savepoint", "--name", "x", "--result", "team_scores@7"), "team_scores has no version 7"),
        (("stream", "--from-savepoint", "sunday"), "There are: monday."),
        (("stream", "--from-savepoint", "monday", "--rebuild"), "either --rebuild"),
        (("stream", "--from-savepoint", "monday", "--result", "level_ups"), "has no stream of level_ups@1"),
    ],
)
def test_a_mistake_is_refused_with_a_sentence(lake: Path, command: tuple[str, ...], said: str) -> None:
    done = parity(*command, "--lake", lake)
    assert done.exit_code == 2, done.output
    assert said in " ".join(done.stderr.split())
    assert "Traceback" not in done.output


def test_killed_while_it_starts_from_a_savepoint_readers_see_no_change_and_the_next_start_is_right(
    lake: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    own = shutil.copytree(lake, tmp_path / "own")
    start = ("stream", "--lake", own, "--from-savepoint", "monday")
    with monkeypatch.context() as patched:
        patched.chdir(Path(__file__).parent.parent.parent)  # a process finds the packages there
        for place in ("restore.appended:team_scores:2", "restore.copied:team_scores:3"):
            assert process(*start, failpoint=place).returncode == -signal.SIGKILL
            assert scores(own) == NOW
            assert live_epoch(open_lake(own), TEAM_SCORES).number == 1
    done = parity(*start)
    assert done.exit_code == 0, done.stderr
    assert live_epoch(open_lake(own), TEAM_SCORES).number == 4
    assert scores(own) == NOW
    judged = parity("reconcile", "--lake", own, *SCORES, "--recompute")
    assert judged.exit_code == 0, judged.output
