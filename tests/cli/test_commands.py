"""The commands as a user types them: their answers, their refusals, their exit codes. One process, one Spark session."""

import csv
import io
import json
from pathlib import Path

import pytest
from deliveries import at, heartbeat, land, pop
from typed import parity

TWO = ("--result", "team_scores", "--result", "level_ups")
"""All thirteen take minutes: the demo runs those."""

pytestmark = pytest.mark.usefixtures("spark")


@pytest.fixture(scope="module")
def home(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A lake in which everything has run, and one more event has landed since."""
    directory = tmp_path_factory.mktemp("commands")
    landing = directory / "landing"
    landing.mkdir()
    nasty = "<b>\"'; drop table events; --"
    pops = [pop(f"e{n}", n * 20, bubbles=100, team=nasty, received_at=at(n * 20 + 1)) for n in range(12)]
    land(landing, "1.jsonl", [*pops, heartbeat("beat", 900), pop("late", 30, bubbles=7, team=nasty)])
    lake = directory / "lake"
    for command in (
        ("ingest", "--lake", lake, "--landing", landing),
        ("stream", "--lake", lake, *TWO),
        ("recompute", "--lake", lake, *TWO),
        ("legacy", "--lake", lake),
    ):
        done = parity(*command)
        assert done.exit_code == 0, done.stderr
    land(landing, "2.jsonl", [pop("open", 890, team=nasty)])
    assert parity("ingest", "--lake", lake, "--landing", landing).exit_code == 0
    assert parity("stream", "--lake", lake, *TWO).exit_code == 0
    return directory


def test_the_layers_agree_and_the_verdict_is_json_for_machines(home: Path) -> None:
    done = parity("reconcile", "--lake", home / "lake", *TWO, "--format", "json", "--report", home / "report.html")
    assert done.exit_code == 0, done.stderr
    verdict = json.loads(done.stdout)
    assert verdict["status"] == "agree"
    found = {result["result"]: result for result in verdict["results"]}
    assert (found["team_scores"]["equal"], found["team_scores"]["unexplained"]) == (4, 0)
    assert found["team_scores"]["open"] == 1
    assert "The layers agree" in (home / "report.html").read_text()


def test_the_control_differs_with_exit_code_1(home: Path) -> None:
    done = parity("reconcile", "--lake", home / "lake", "--candidate", "legacy", "--result", "team_scores")
    assert done.exit_code == 1
    assert "processing time" in done.stdout
    assert "Verdict: differ" in done.stderr


def test_show_gives_one_object_a_line_with_keys_and_values_by_name(home: Path) -> None:
    done = parity("show", "team_scores", "--lake", home / "lake", "--layer", "kappa", "--format", "jsonl")
    rows = [json.loads(line) for line in done.stdout.splitlines()]
    assert len(rows) == 5
    assert rows[0] == {
        "team_id": "<b>\"'; drop table events; --",
        "window_start": "2026-03-01T10:00:00.000Z",
        "window_end": "2026-03-01T10:01:00.000Z",
        "bubbles": 307,
        "events": 4,
        "smallest": 7,
        "greatest": 100,
        "players": 1,
    }
    settled = parity("show", "team_scores", "--lake", home / "lake", "--settled-only", "--format", "csv")
    assert len(list(csv.DictReader(io.StringIO(settled.stdout)))) == 4


def test_the_lambda_view_has_the_open_window_that_batch_does_not(home: Path) -> None:
    counts = {}
    for layer in ("batch", "lambda"):
        done = parity("show", "team_scores", "--lake", home / "lake", "--layer", layer, "--format", "jsonl")
        counts[layer] = len(done.stdout.splitlines())
    assert counts["lambda"] == 5
    assert counts["batch"] == 4


def test_status_says_how_far_each_layer_is_behind(home: Path) -> None:
    done = parity("status", "--lake", home / "lake", "--format", "json")
    found = json.loads(done.stdout)
    assert found["log"]["events"] == 15
    lags = {(each["layer"], each["result"]): each["lag_events"] for each in found["layers"]}
    assert {each: lag for each, lag in lags.items() if lag is not None} == {
        ("kappa", "team_scores@1"): 0,
        ("batch", "team_scores@1"): 1,
        ("kappa", "level_ups@1"): 0,
        ("batch", "level_ups@1"): 1,
        ("legacy", "all"): 1,
    }
    assert "Log version" in parity("status", "--lake", home / "lake").stdout


REFUSED = {
    "a landing directory that does not exist": (
        ("ingest", "--lake", "new", "--landing", "none"),
        "no landing directory",
    ),
    "a lake that does not exist": (("stream", "--lake", "none"), "There is no lake"),
    "a directory that is no lake": (("recompute", "--lake", "{home}/landing"), "is not a lake"),
    "ingesting into a directory that is no lake": (
        ("ingest", "--lake", "{home}/landing", "--landing", "{home}/landing"),
        "not empty and not a lake",
    ),
    "an unknown result": (
        ("stream", "--lake", "{home}/lake", "--result", "scores"),
        "There are: active_players, click_through, game_pulse,",
    ),
    "an interval that ends before it starts": (
        ("recompute", "--lake", "{home}/lake", "--from", "2026-03-02", "--to", "2026-03-01"),
        "ends before it starts",
    ),
    "a log version that is not there": (
        ("recompute", "--lake", "{home}/lake", *TWO, "--log-version", "99"),
        "has no version 99",
    ),
    "a tolerance for an unknown column": (
        ("reconcile", "--lake", "{home}/lake", "--tolerance", "bubble=1"),
        "no value column 'bubble'",
    ),
    "a tolerance that is no number": (
        ("reconcile", "--lake", "{home}/lake", "--tolerance", "bubbles=-1"),
        "not a number of zero or more",
    ),
    "a settings file that is not there": (
        ("status", "--lake", "{home}/lake", "--config", "none.toml"),
        "no settings file",
    ),
    "a demo over somebody's directory": (("demo", "--lake", "{home}/landing"), "was not made by `parity demo`"),
    "simulating into a landing that is not empty": (("simulate", "--landing", "{home}/landing"), "jsonl"),
    "a log version before the stream began": (
        ("reconcile", "--lake", "{home}/lake", *TWO, "--log-version", "0"),
        "has written nothing at or before log version 0",
    ),
}


@pytest.mark.parametrize("what", REFUSED)
def test_refused_with_a_sentence_and_no_stack_trace(home: Path, what: str) -> None:
    command, sentence = REFUSED[what]
    done = parity(*(part.format(home=home) for part in command))
    assert done.exit_code == 2, done.output
    assert sentence in " ".join(done.stderr.split())
    assert "Traceback" not in done.output
    assert done.stdout == ""


def test_another_window_length_against_an_old_checkpoint_is_refused_with_the_way_out(
    home: Path, tmp_path: Path
) -> None:
    other = tmp_path / "other.toml"
    other.write_text('[windows]\nteam_scores = { size = "5 minutes" }\n')
    done = parity("stream", "--lake", home / "lake", "--config", other, "--result", "team_scores")
    assert done.exit_code == 2
    said = " ".join(done.stderr.split())
    assert "the lake has '1 minute', the settings say '5 minutes'" in said
    assert "Set it back" in said


def test_a_misspelt_setting_is_refused_with_the_known_ones(home: Path, tmp_path: Path) -> None:
    other = tmp_path / "other.toml"
    other.write_text('[lateness]\nalowed = "5 minutes"\n')
    done = parity("status", "--lake", home / "lake", "--config", other)
    assert done.exit_code == 2
    assert "lateness.alowed: there is no such setting. Known here: allowed, policy, hold, holds." in " ".join(
        done.stderr.split()
    )


def test_before_anything_has_run_there_is_nothing_to_compare(tmp_path: Path) -> None:
    landing = tmp_path / "landing"
    landing.mkdir()
    assert parity("ingest", "--lake", "lake", "--landing", landing).exit_code == 0  # an empty landing directory
    assert parity("stream", "--lake", "lake", "--result", "team_scores").exit_code == 0
    done = parity("reconcile", "--lake", "lake")
    assert done.exit_code == 2
    assert "Run `parity" in done.stderr
