"""What is wrong with a command is said at once: names, settings, the lake and options are checked before a JVM starts."""

import inspect
from pathlib import Path
from typing import Any

import pytest
from deliveries import at, heartbeat, land, pop
from no_spark import NoSpark
from pyspark.sql import SparkSession
from typed import parity

from cli.main import app

NEEDED: dict[str, tuple[str, ...]] = {
    "simulate": ("--landing", "new"),
    "ingest": ("--landing", "{home}/landing"),
    "decide": ("--run", "one", "--reconciliation", "two", "--decision", "three"),
    "show": ("team_scores",),
    "replay": ("--result", "team_scores"),
    "compare": ("--left", "team_scores", "--right", "team_scores@2"),
    "swap": ("--result", "team_scores", "--to", "2"),
    "retire": ("--result", "team_scores@2"),
    "what-if": ("--set", "lateness.allowed=30 seconds"),
    "reingest": ("--as-log", "2"),
    "savepoint": ("--name", "one"),
}
"""What a command cannot do without, beside the lake."""
COMMANDS: dict[str, Any] = {
    str(each.name): inspect.signature(each.callback).parameters for each in app.registered_commands if each.callback
}
MAKE_THEIR_LAKE = ("ingest", "demo", "live", "chaos")
ON_A_LAKE = [name for name, given in COMMANDS.items() if "lake" in given and name not in MAKE_THEIR_LAKE]
WITH_SETTINGS = [name for name, given in COMMANDS.items() if "config" in given]
WITH_RESULTS = [name for name, given in COMMANDS.items() if "result" in given]


@pytest.fixture(scope="module")
def home(spark: SparkSession, tmp_path_factory: pytest.TempPathFactory) -> Path:  # noqa: ARG001
    """A lake with a log of one commit and the stream of one result."""
    home = tmp_path_factory.mktemp("checked")
    (home / "landing").mkdir()
    land(home / "landing", "1.jsonl", [pop("one", 0, received_at=at(1)), heartbeat("beat", 900)])
    assert parity("ingest", "--lake", home / "lake", "--landing", home / "landing").exit_code == 0
    assert parity("stream", "--lake", home / "lake", "--result", "team_scores").exit_code == 0
    (home / "misspelt.toml").write_text('[lateness]\nalowed = "5 minutes"\n')
    (home / "other.toml").write_text('[windows]\nteam_scores = { size = "5 minutes" }\n')
    return home


@pytest.fixture(autouse=True)
def no_spark(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:  # noqa: ARG001 - the lake is made before it
    monkeypatch.setattr("lakehouse.session.spark_session", NoSpark())


def refused(home: Path, command: str, *options: str, sentence: str) -> None:
    done = parity(command, *(part.format(home=home) for part in options))
    assert done.exit_code == 2, done.output
    assert sentence in " ".join(done.stderr.replace("│", " ").split()), done.stderr


def test_a_command_that_is_not_refused_does_start_spark(home: Path) -> None:
    done = parity("stream", "--lake", home / "lake", "--result", "team_scores")
    assert done.exit_code == 3 and "Spark was started" in done.stderr


@pytest.mark.parametrize("command", ON_A_LAKE)
def test_there_is_no_lake(home: Path, command: str) -> None:
    refused(home, command, *NEEDED.get(command, ()), "--lake", "none", sentence="There is no lake at none")


@pytest.mark.parametrize("command", WITH_SETTINGS)
def test_a_misspelt_setting(home: Path, command: str) -> None:
    lake = (
        ("--lake", "{home}/lake") if command in ON_A_LAKE else ("--lake", "new") if "lake" in COMMANDS[command] else ()
    )
    wrong = ("--config", "{home}/misspelt.toml")
    refused(
        home, command, *NEEDED.get(command, ()), *lake, *wrong, sentence="lateness.alowed: there is no such setting"
    )
    assert not Path("new").exists()


@pytest.mark.parametrize("command", WITH_RESULTS)
def test_there_is_no_such_result(home: Path, command: str) -> None:
    needed = () if command in ("replay", "swap", "retire", "show") else NEEDED.get(command, ())
    name = ("scores@2",) if command in ("retire", "show") else ("scores",)
    named = name if command == "show" else ("--result", *name, *(("--to", "2") if command == "swap" else ()))
    lake = ("--lake", "{home}/lake" if command in ON_A_LAKE else "new")
    refused(home, command, *needed, *named, *lake, sentence=f"There is no result '{name[0]}'")
    assert not Path("new").exists()


SCORES = ("--result", "team_scores")
OTHERS: dict[str, tuple[tuple[str, ...], str]] = {
    "a stream with other settings": (("stream", *SCORES, "--config", "{home}/other.toml"), "with other settings"),
    "a savepoint that is not there": (("stream", "--from-savepoint", "none"), "There is no savepoint 'none'"),
    "a batch run with other settings": (("recompute", *SCORES, "--config", "{home}/other.toml"), "with other settings"),
    "a batch run at an unknown version": (("recompute", *SCORES, "--log-version", "99"), "has no version 99"),
    "an interval that ends first": (
        ("recompute", "--from", "2026-03-02", "--to", "2026-03-01"),
        "ends before it starts",
    ),
    "a date that is none": (("recompute", "--from", "yesterday"), "'yesterday' is not a time"),
    "a verdict where batch has not run": (("reconcile", *SCORES), "has not computed team_scores@1"),
    "a verdict before the stream began": (("reconcile", *SCORES, "--log-version", "0"), "has written nothing"),
    "a verdict over no control": (("reconcile", "--candidate", "legacy", *SCORES), "The legacy control has not run"),
    "a side that is none": (("reconcile", "--candidate", "both"), "'both' is no side"),
    "a tolerance of no column": (("reconcile", *SCORES, "--tolerance", "bubble=1"), "no value column 'bubble'"),
    "a table that is none": (
        ("quality", "--table", "scores"),
        "There is no table 'scores' to validate. There are: arrivals, events, duplicates, quarantine, kappa_team_scores@1,",
    ),
    "a check at an unknown version": (("quality", "--log-version", "99"), "has no version 99"),
    "two different results": (("compare", "--left", "team_scores", "--right", "level_ups"), "are different results"),
    "a replay from an unknown version": (("replay", *SCORES, "--from-version", "99"), "has no version 99"),
    "settings that change nothing": (("what-if", "--set", "lateness.allowed=5 minutes"), "nothing would change"),
    "a setting that is not tried": (("what-if", "--set", "spark.cores=1"), "only settings that a version"),
    "the log of ingestion made anew": (("reingest", "--as-log", "1"), "Log 1 is the one that `parity ingest` writes"),
    "a name that is no savepoint's": (("savepoint", "--name", "a/b"), "cannot be the name of a savepoint"),
    "a position that is known": (("maintain", "--recover-position"), "is known: 2 events"),
    "a position of no log": (("maintain", "--recover-position", "--log", "7"), "has no log 7"),
    "a budget that is none": (("lateness", "--repair-budget", "much"), "is not a share"),
    "a version that is not there": (("swap", *SCORES, "--to", "9", "--catch-up"), "team_scores has no version 9"),
    "the control where it has not run": (("show", "game_pulse", "--layer", "legacy"), "The legacy control has not run"),
    "a key that is none": (("show", "game_pulse", "--layer", "legacy", "--key", "team_id=x"), "It has none"),
}


@pytest.mark.parametrize("what", OTHERS)
def test_refused_before_spark_starts(home: Path, what: str) -> None:
    (command, *options), sentence = OTHERS[what]
    refused(home, command, *options, "--lake", "{home}/lake", sentence=sentence)


@pytest.mark.parametrize(
    "command", ["stream", "recompute", "legacy", "replay", "requeue", "reingest", "lateness", "quality", "maintain"]
)
def test_a_lake_without_a_log(home: Path, tmp_path: Path, command: str) -> None:
    from lakehouse.lake import create_lake

    create_lake(tmp_path / "empty")
    refused(home, command, *NEEDED.get(command, ()), "--lake", str(tmp_path / "empty"), sentence="has no log yet")
