"""`parity show` as a user types it: which rows, in which order, how many, of which version of the log. Without a JVM."""

import csv
import io
import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from game import catalogue
from no_spark import NoSpark
from pyspark.sql import SparkSession
from served import NASTY, small_settings
from typed import parity

from lakehouse.changelogs import boundary, read_kappa
from lakehouse.lake import Lake

SCORES = catalogue()["team_scores"]


@pytest.fixture(autouse=True)
def no_spark(served_lake: Lake, monkeypatch: pytest.MonkeyPatch) -> None:  # noqa: ARG001 - the lake is made before it
    monkeypatch.setattr("lakehouse.session.spark_session", NoSpark())


def shown(lake: Lake, *options: str, result: str = "team_scores") -> list[dict[str, Any]]:
    done = parity("show", result, "--lake", lake.path, "--format", "jsonl", *options)
    assert done.exit_code == 0, done.stderr
    return [json.loads(line) for line in done.stdout.splitlines()]


def test_rows_are_chosen_by_key_and_window(served_lake: Lake) -> None:
    everything = shown(served_lake)
    first, end = "2026-03-01T10:05:00.000Z", "2026-03-01T10:20:00.000Z"
    for team in ("blue", NASTY):
        expected = [row for row in everything if row["team_id"] == team and first <= row["window_start"] < end]
        assert expected == shown(served_lake, "--key", f"team_id={team}", "--from", first, "--to", end)
        assert len(expected) == 15
    assert shown(served_lake, "--key", "team_id=nobody") == []


def test_rows_come_in_the_order_that_is_asked_for(served_lake: Lake) -> None:
    everything = shown(served_lake)
    by = sorted(everything, key=lambda row: (-row["bubbles"], row["team_id"], row["window_start"]))
    assert shown(served_lake, "--sort", "-bubbles,team_id") == by
    assert shown(served_lake, "--sort", "-bubbles", "--sort", "team_id", "--limit", "7") == by[:7]
    assert everything != by


def test_a_table_has_20_rows_unless_told_and_says_of_how_many(served_lake: Lake) -> None:
    many = len(shown(served_lake))
    lines = parity("show", "team_scores", "--lake", served_lake.path).stdout.splitlines()
    assert lines[-1] == f"20 of {many} rows; --limit 0 shows all"
    assert lines[0].startswith("kappa team_scores@1 at log version ")
    assert lines[1] == "times in UTC on 2026-03-01; window_end is 1 minute after window_start"
    assert len(lines) == 20 + 4
    everything = parity("show", "team_scores", "--lake", served_lake.path, "--limit", "0").stdout.splitlines()
    assert everything[-1] == f"{many} rows" and len(everything) == many + 4


@pytest.mark.parametrize("limit", [None, 0, 3])
def test_machines_get_all_rows_unless_told(served_lake: Lake, limit: int | None) -> None:
    options = [] if limit is None else ["--limit", str(limit)]
    rows = shown(served_lake, *options)
    assert rows == shown(served_lake)[: limit or None]
    done = parity("show", "team_scores", "--lake", served_lake.path, "--format", "csv", *options)
    assert [{name: str(value) for name, value in row.items()} for row in rows] == list(
        csv.DictReader(io.StringIO(done.stdout))
    )


def test_an_answer_at_an_earlier_version_of_the_log_is_what_spark_reads_there(
    spark: SparkSession, served_lake: Lake
) -> None:
    newest = boundary(served_lake, SCORES).log_version
    earlier = boundary(served_lake, SCORES, newest - 1)
    rows = read_kappa(spark, served_lake, SCORES, earlier).orderBy("window_start", "team_id").collect()
    found = shown(served_lake, "--log-version", str(earlier.log_version))
    assert [(row.team_id, row.bubbles) for row in rows] == [(row["team_id"], row["bubbles"]) for row in found]
    assert found != shown(served_lake)
    assert shown(served_lake, "--log-version", str(newest)) == shown(served_lake)
    at_batch = ["--log-version", str(earlier.log_version), "--layer"]
    assert shown(served_lake, *at_batch, "batch") == shown(served_lake, "--layer", "batch") == found
    assert shown(served_lake, *at_batch, "lambda") == found
    assert shown(served_lake, *at_batch, "legacy") == shown(served_lake, "--layer", "legacy")


REFUSED = {
    "a column that is no key": (
        ("--key", "team=blue"),
        "'team' is no column of the key of team_scores. It has: team_id.",
    ),
    "a key without a value": (("--key", "team_id"), "there is no value. Write e.g. team_id=blue."),
    "a key twice": (("--key", "team_id=a", "--key", "team_id=b"), "team_id has a value already"),
    "an unknown column": (("--sort", "-bubble"), "no column 'bubble'. There are: team_id, window_start, window_end,"),
    "windows that end before they start": (("--from", "2026-03-02", "--to", "2026-03-01"), "ends before it starts"),
    "a version that the log does not have": (("--log-version", "99"), "The log has no version 99"),
    "a version that batch has no answer at": (
        ("--layer", "batch", "--log-version", "{newest}"),
        "The batch layer of team_scores@1 has no answer at log version {newest}: none of its runs ended there. It has "
        "answers at {batch}.",
    ),
    "a version that the control has no answer at": (
        ("--layer", "legacy", "--log-version", "{newest}"),
        "The control of team_scores@1 has no answer at log version {newest}",
    ),
    "a version that is not there": (("--layer", "batch", "--log-version", "0"), "no answer at log version 0"),
}


@pytest.mark.parametrize("what", REFUSED)
def test_refused_with_what_there_is(served_lake: Lake, what: str) -> None:
    options, sentence = REFUSED[what]
    newest = boundary(served_lake, SCORES).log_version
    named = {"newest": newest, "batch": newest - 1}
    done = parity("show", "team_scores", "--lake", served_lake.path, *(each.format(**named) for each in options))
    assert done.exit_code == 2 and done.stdout == "", done.output
    assert sentence.format(**named) in " ".join(done.stderr.split())


def test_a_number_of_a_key_has_to_be_one(served_lake: Lake) -> None:
    done = parity("show", "pop_streaks", "--lake", served_lake.path, "--key", "streak=first")
    assert done.exit_code == 2 and "streak of pop_streaks is a whole number" in " ".join(done.stderr.split())


LOOKING = {
    "--help": (),
    "results": (),
    "status": ("--lake", "{lake}"),
    "versions": ("--lake", "{lake}"),
    "show": ("team_scores", "--lake", "{lake}", "--layer", "lambda"),
    "show csv": ("team_scores", "--lake", "{lake}", "--format", "csv"),
}
WATCHED = """
import sys
from cli.main import app
try:
    app(sys.argv[1:])
finally:
    heavy = [name for name in ("pandas", "fastapi", "plotly", "great_expectations", "pyarrow.dataset") if name in sys.modules]
    context = sys.modules.get("pyspark.core.context")
    print(heavy, context is not None and context.SparkContext._gateway is not None, file=sys.stderr)
"""


WITHOUT_JAVA = {**os.environ, "JAVA_HOME": "/nowhere", "PATH": "/nowhere", "PYTHONPATH": str(Path.cwd())}
"""The project without a JVM: who looks for one finds none."""


@pytest.mark.parametrize("what", LOOKING)
def test_looking_loads_no_jvm_and_nothing_heavy(served_lake: Lake, what: str) -> None:
    options = [each.format(lake=served_lake.path) for each in LOOKING[what]]
    command = [sys.executable, "-c", WATCHED, what.split()[0], *options]
    done = subprocess.run(command, env=WITHOUT_JAVA, capture_output=True, text=True, timeout=120)
    assert done.returncode == 0, done.stderr
    assert done.stdout and done.stderr.splitlines()[-1] == "[] False"


@pytest.mark.parametrize("format", ["csv", "jsonl"])
def test_a_reader_that_leaves_early_is_no_error(served_lake: Lake, format: str) -> None:
    command = [
        sys.executable,
        "-m",
        "cli.main",
        "show",
        "team_scores",
        "--lake",
        str(served_lake.path),
        "--format",
        format,
    ]
    with subprocess.Popen(
        command, env=WITHOUT_JAVA, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    ) as shows:
        assert shows.stdout is not None and shows.stderr is not None
        shows.stdout.close()
        assert shows.stderr.read() == ""
    assert shows.returncode == 0


def test_the_settings_of_a_server_do_not_hide_ids_from_who_owns_the_lake(served_lake: Lake) -> None:
    assert not small_settings().serving.clear_ids
    players = {row["player_id"] for row in shown(served_lake, result="player_sessions")}
    assert players == {"dora"}


def test_what_the_control_has_not_written_down_is_the_one_answer_that_spark_computes(served_lake: Lake) -> None:
    done = parity("show", "player_sessions", "--lake", served_lake.path, "--layer", "legacy")
    assert done.exit_code == 3 and "Spark was started" in done.stderr
