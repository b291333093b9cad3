"""Streams and answers that nobody here wrote: another engine's own test cases, through landing files and the commands.

The cases are in outside_cases.py.
"""

import json
import os
from collections import defaultdict
from collections.abc import Iterable
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
from deliveries import land
from outside_cases import CARS, Row, cars, case, impulse
from typer.testing import CliRunner

from cli.main import app

pytestmark = pytest.mark.usefixtures("spark")


@pytest.fixture(autouse=True)
def _own_settings(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    for name in [name for name in os.environ if name.startswith("PARITY_")]:
        monkeypatch.delenv(name)


def parity(*command: str | Path) -> str:
    done = CliRunner().invoke(app, [str(part) for part in command])
    assert done.exit_code == 0, done.output
    return done.stdout


def answered(events: Iterable[Row], settings: str, results: tuple[str, ...]) -> dict[str, dict[str, list[Row]]]:
    """What each layer shows of the results, after all of the events have landed in four files and been reconciled."""
    home = Path.cwd()
    lines = [json.dumps(event) for event in events]
    (home / "landing").mkdir()
    for number in range(4):
        quarter = lines[number * len(lines) // 4 : (number + 1) * len(lines) // 4]
        land(home / "landing", f"{number}.jsonl", quarter)
    (home / "parity.toml").write_text(settings)
    named = [option for result in results for option in ("--result", result)]
    parity("ingest", "--lake", "lake", "--landing", "landing", "--files-per-batch", "2")
    parity("stream", "--lake", "lake", *named)
    parity("recompute", "--lake", "lake", *named)
    verdict = json.loads(parity("reconcile", "--lake", "lake", *named, "--format", "json"))
    assert {each["result"]: each["differing"] for each in verdict["results"]} == dict.fromkeys(results, 0)
    return {
        layer: {
            result: [
                json.loads(line)
                for line in parity("show", result, "--lake", "lake", "--layer", layer, "--format", "jsonl").splitlines()
            ]
            for result in results
        }
        for layer in ("kappa", "batch")
    }


def moment(text: str) -> datetime:
    found = datetime.fromisoformat(text)
    return found if found.tzinfo else found.replace(tzinfo=UTC)


def test_cars_by_the_hour_and_in_the_last_hour() -> None:
    settings = """
        [lateness]
        allowed = "30 seconds"
        [windows]
        team_scores = { size = "1 hour" }
        player_pace = { size = "1 hour", slide = "1 minute" }
    """
    found = answered(cars(), settings, ("team_scores", "player_pace"))
    complete = moment(case("input_cars.jsonl")[CARS]["timestamp"]) - timedelta(minutes=1)
    hourly = {
        (row["event_type"], moment(row["hour"]), row["count"])
        for row in case("golden_hourly_by_event_type.jsonl")
        if moment(row["hour"]) + timedelta(hours=1) <= complete
    }
    most_active = {
        (moment(row["start"]), moment(row["end"]), row["driver_id"], row["count"])
        for row in case("golden_most_active_driver_last_hour.jsonl")
        if moment(row["end"]) <= complete
    }
    assert len(hourly) > 10 and len(most_active) > 300
    for layer in found.values():
        scores = {
            (row["team_id"], moment(row["window_start"]), row["events"])
            for row in layer["team_scores"]
            if moment(row["window_end"]) <= complete
        }
        assert scores == hourly
        windows = defaultdict(list)
        for row in layer["player_pace"]:
            window = moment(row["window_start"]), moment(row["window_end"])
            if window[1] <= complete:
                windows[window].append((row["events"], int(row["player_id"])))
        first = {(*window, driver, count) for window, rows in windows.items() for count, driver in [max(rows)]}
        assert first == most_active


def test_sessions_of_the_impulse() -> None:
    settings = '[lateness]\nallowed = "1 second"\n[windows]\nplayer_sessions = { gap = "20 seconds" }\n'
    found = answered(impulse(), settings, ("player_sessions",))
    sessions = {
        (row["user_id"], moment(row["start"]), moment(row["end"]), row["rows"])
        for row in case("golden_session_window.jsonl")
    }
    assert len(sessions) == 91
    for layer in found.values():
        assert {
            (int(row["player_id"]), moment(row["window_start"]), moment(row["window_end"]), row["events"])
            for row in layer["player_sessions"]
        } == sessions
