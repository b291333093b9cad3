"""A user's pipeline needs nothing of the game: all commands work on the sensors in a copy of the project without it.

Every answer is held against plain Python over the landing files.
"""

import json
import shutil
import subprocess
import sys
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest
from plain_sensors import Read, iso, read, rows
from short_lived import SHORT_LIVED

PROJECT, HERE = Path(__file__).parents[2], Path(__file__).parent
PACKAGES = (
    "transformations", "pipelines", "lakehouse", "ingestion", "speed_layer", "batch_layer", "reconciliation", "serving",
    "quality", "chaos", "cli", "simulator",
)  # fmt: skip
RESULTS = ["room_hours", "sensor_means", "sensor_sessions"]
GAME = ("pipelines/game", "simulator/game")
DAY = 1_772_323_200_000
"""The first of March 2026, at midnight."""
HOUR, MINUTE = 3_600_000, 60_000
LATE = [
    ("moved-late", {"kind": "sensor_moved", "sensor_id": "sensor-0001", "room_id": "attic"}, 5 * HOUR),
    ("read-late", {"kind": "temperature_read", "sensor_id": "sensor-0001", "temperature": "@1.5e1@"}, 5 * HOUR),
    ("third-a", {"kind": "temperature_read", "sensor_id": "new", "temperature": "@0.01@"}, 6 * HOUR),
    ("third-b", {"kind": "temperature_read", "sensor_id": "new", "temperature": "@0.01@"}, 6 * HOUR + 1),
    ("third-c", {"kind": "temperature_read", "sensor_id": "new", "temperature": "@0@"}, 6 * HOUR + 4_999),
    ("great", {"kind": "temperature_read", "sensor_id": "new", "temperature": "@9999999999999999.99@"}, 6 * HOUR + 5_000),
    ("joins", {"kind": "temperature_read", "sensor_id": "new", "temperature": "@-0.005e1@"}, 6 * HOUR + 65_000),
    ("apart", {"kind": "temperature_read", "sensor_id": "new", "temperature": "@-1@"}, 6 * HOUR + 125_001),
    ("too-fine", {"kind": "temperature_read", "sensor_id": "new", "temperature": "@0.001@"}, 6 * HOUR),
    ("no-sensor", {"kind": "temperature_read", "temperature": "@20.5@"}, 6 * HOUR),
    ("end", {"kind": "heartbeat"}, 40 * HOUR),  # so that no session is open any more
]  # fmt: skip


def line(event_id: str, said: dict[str, str], at: int) -> str:
    """A number is written just as it stands between the signs."""
    return json.dumps({"event_id": event_id, **said, "occurred_at": iso(DAY + at)}).replace('"@', "").replace('@"', "")


@pytest.fixture(scope="module")
def copy(tmp_path_factory: pytest.TempPathFactory) -> Path:
    home = tmp_path_factory.mktemp("copy")
    for package in PACKAGES:
        shutil.copytree(PROJECT / package, home / package, ignore=shutil.ignore_patterns("__pycache__"))
    for folder in GAME:
        shutil.rmtree(home / folder)
    (home / ".jars").symlink_to(PROJECT / ".jars")
    (home / "parity.toml").write_text('[spark]\ncompiler = "quick"\n')
    (home / "late.jsonl").write_text("".join(f"{line(*each)}\n" for each in LATE))
    return home


def python(copy: Path, *said: str) -> subprocess.CompletedProcess[str]:
    environment = {"PYTHONPATH": str(copy), "PATH": "/usr/bin:/bin", **SHORT_LIVED}
    return subprocess.run([sys.executable, *said], cwd=copy, env=environment, capture_output=True, text=True)


@pytest.fixture(scope="module")
def found(copy: Path) -> dict[str, Any]:
    done = python(copy, str(HERE / "everything.py"))
    assert done.returncode == 0, done.stderr[-4000:]
    said: dict[str, Any] = json.loads(done.stdout)
    return said


@pytest.fixture(scope="module")
def landed(copy: Path, found: dict[str, Any]) -> Read:  # noqa: ARG001
    return read(copy / "lake" / "landing")


def in_order(answer: list[dict[str, Any]]) -> list[str]:
    return sorted(json.dumps(row, sort_keys=True) for row in answer)


def test_without_a_name_the_one_that_there_is_is_named(found: dict[str, Any]) -> None:
    assert "one of the project: sensors." in " ".join(found["without a name"].split())


def test_the_demo_agrees_and_its_control_differs_and_is_explained(found: dict[str, Any]) -> None:
    """Its exit code is 0 then, or `everything.py` had ended."""
    for result in RESULTS:
        assert result in found["demo"]
    assert "Report: lake/report.html" in found["demo"]


def test_every_layer_says_what_plain_python_makes_of_the_landing_files(found: dict[str, Any], landed: Read) -> None:
    right = rows(landed)
    assert {name: len(each) > 40 for name, each in right.items()} == dict.fromkeys(right, True)
    for layer, answers in found["answers"].items():
        for name, answer in answers.items():
            assert in_order(answer) == in_order(right[name]), (layer, name)


def test_before_the_late_lines_came_they_were_not_in_any_answer(found: dict[str, Any], landed: Read) -> None:
    late = {name for name, *_ in LATE}
    before = Read(events={name: line for name, line in landed.events.items() if name not in late})
    for layer, answers in found["after the demo"].items():
        for name, right in rows(before).items():
            if name != "sensor_sessions" or layer == "batch":  # the stream tells a session when it is over
                assert in_order(answers[name]) == in_order(right), (layer, name)
    assert landed.events.keys() & late == late - {"too-fine", "no-sensor"}


def test_a_late_move_takes_readings_from_one_room_to_another(found: dict[str, Any]) -> None:
    rooms = {row["room_id"] for row in found["answers"]["kappa"]["room_hours"]}
    assert "attic" in rooms and "none" in rooms
    assert "attic" not in {row["room_id"] for row in found["after the demo"]["kappa"]["room_hours"]}


def test_a_mean_is_exact_and_rounded_half_up(found: dict[str, Any]) -> None:
    new = [row for row in found["answers"]["kappa"]["sensor_means"] if row["sensor_id"] == "new"]
    assert [row["mean"] for row in sorted(new, key=lambda row: str(row["window_start"]))] == [
        "0.006667", "9999999999999999.990000", "-0.050000", "-1.000000",
    ]  # fmt: skip


def test_readings_a_gap_apart_are_one_session(found: dict[str, Any]) -> None:
    new = [row for row in found["answers"]["batch"]["sensor_sessions"] if row["sensor_id"] == "new"]
    assert sorted(row["reads"] for row in new) == [1, 5]


def test_the_verdict_is_on_all_results_and_the_causes_of_the_control_are_named(found: dict[str, Any]) -> None:
    assert found["verdict"]["status"] == "agree"
    assert [each["result"] for each in found["verdict"]["results"]] == RESULTS
    assert found["control"]["status"] == "differ"
    for result in found["control"]["results"]:
        assert result["differing"] > 0 and result["unexplained"] == 0


def test_a_version_that_is_swapped_in_answers_the_same(found: dict[str, Any]) -> None:
    for name, answer in found["swapped"].items():
        assert in_order(answer) == in_order(found["answers"]["kappa"][name])


def test_the_api_tells_the_story_and_decimals_as_texts(found: dict[str, Any]) -> None:
    served = found["served"]
    assert served["story"]["name"] == "sensors"
    assert served["story"]["charted"] == {"result": "sensor_means", "column": "reads", "key": "sensor_id"}
    assert served["results"] == RESULTS
    mean = served["mean"]
    assert Decimal(mean["least"]) <= Decimal(mean["mean"]) <= Decimal(mean["greatest"])
    assert served["history"] and len(served["runs"]) >= 3 and set(served["runs"]) == {200}
    assert "sensor_means" in served["metrics"] and served["page"] == 200


def test_nothing_that_is_told_has_a_word_of_the_game(found: dict[str, Any]) -> None:
    told = json.dumps(
        {name: each for name, each in found.items() if name not in ("answers", "after the demo", "swapped")}
    )
    for word in ("bubble", "player", "team_", "league", "offer"):
        assert word not in told, told[max(0, told.index(word) - 100) : told.index(word) + 100]


def test_faults_can_be_tried_and_nothing_of_the_game_is_loaded_for_it(copy: Path) -> None:
    """Every module of the runner is loaded, what strikes and what proves."""
    loaded = python(copy, "-c", "import sys, chaos.run; print(*[name for name in sys.modules if 'game' in name])")
    assert (loaded.returncode, loaded.stdout.strip()) == (0, ""), loaded.stderr
    listed = python(copy, "-m", "cli.main", "chaos", "--fault", "list", "--pipeline", "sensors")
    assert listed.returncode == 0 and "kill-repair-after-sink" in listed.stdout.split(), listed.stderr
    unknown = python(
        copy, "-m", "cli.main", "chaos", "--fault", "nothing", "--pipeline", "sensors", "--lake", "chaos-lake"
    )
    assert unknown.returncode == 2 and "There is no fault 'nothing'" in unknown.stderr
    unnamed = python(copy, "-m", "cli.main", "chaos", "--fault", "copies", "--lake", "chaos-lake")
    assert unnamed.returncode == 2 and "one of the project: sensors." in " ".join(unnamed.stderr.split())


def test_forms_of_airflow_offer_the_results_and_runs_are_about_them(copy: Path, found: dict[str, Any]) -> None:
    assert found
    for folder in ("dags", "infra/airflow"):
        shutil.copytree(PROJECT / folder, copy / folder, ignore=shutil.ignore_patterns("__pycache__", "home"))
    (copy / ".venv").symlink_to(PROJECT / ".venv")
    airflow, home = PROJECT / ".airflow" / "bin" / "python", copy / "airflow"
    environment = {
        **SHORT_LIVED,
        "PYTHONPATH": str(copy),
        "PATH": "/usr/bin:/bin",
        "AIRFLOW_HOME": str(home),
        "AIRFLOW__CORE__DAGS_FOLDER": str(copy / "dags"),
        "AIRFLOW__CORE__PLUGINS_FOLDER": str(copy / "infra" / "airflow" / "plugins"),
        "AIRFLOW__CORE__LOAD_EXAMPLES": "False",
        "AIRFLOW_VAR_PARITY_LAKE": str(copy / "lake"),
        "AIRFLOW_VAR_PARITY_LANDING": str(copy / "lake" / "landing"),
    }
    done = subprocess.run(
        [airflow, HERE / "airflow_runs.py"], cwd=copy, env=environment, capture_output=True, text=True
    )
    assert done.returncode == 0, done.stdout[-4000:] + done.stderr[-4000:]
    said = json.loads((copy / "found-by-airflow.json").read_text())
    assert said["errors"] == {}
    assert set(said["offered"]) >= {"reconciliation", "stream_increment", "data_quality", "replay_and_swap"}
    assert all(offered == RESULTS for offered in said["offered"].values())
    assert said["streamed"]["state"] == "success" and set(said["streamed"]["tasks"].values()) == {"success"}
    assert said["judged"]["state"] == "success", said["judged"]
    judged = {name.partition("@")[0] for name in said["judged"]["tasks"] if name.startswith("verdict")}
    assert judged == {"verdict room_hours", "verdict sensor_sessions"}
    assert said["judged"]["report"]["status"] == "agree"
