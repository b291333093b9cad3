"""Everything that a user can do, with the sensors. Started in a copy of the project that has never heard of the game.

It prints what it found as JSON, for `test_without_the_game`. The file `late.jsonl` lands after the demo.
"""

import json
import sys
from pathlib import Path
from typing import Any

from fastapi.testclient import TestClient
from typer.testing import CliRunner

from cli.main import app
from lakehouse.lake import open_lake
from lakehouse.settings import load_settings
from serving.api import application

RESULTS = ("room_hours", "sensor_means", "sensor_sessions")
LAYERS = ("kappa", "batch", "lambda")


def parity(*command: str, lake: bool = True, code: int = 0) -> str:
    done = CliRunner().invoke(app, [*command, *(("--lake", "lake") if lake else ())])
    if done.exit_code != code:
        sys.exit(f"{command}: exit code {done.exit_code}\n{done.output}\n{done.exception!r}")
    return done.output if code else done.stdout


def rows(result: str, layer: str) -> list[dict[str, Any]]:
    shown = parity("show", result, "--layer", layer, "--format", "jsonl")
    return [json.loads(line) for line in shown.splitlines()]


def answers() -> dict[str, dict[str, list[dict[str, Any]]]]:
    return {layer: {result: rows(result, layer) for result in RESULTS} for layer in LAYERS}


def worked_on() -> dict[str, Any]:
    """What came late goes through every command that the demo does not need."""
    Path("late.jsonl").rename("lake/landing/late.jsonl")
    parity("ingest", "--landing", "lake/landing")
    parity("savepoint", "--name", "before")
    parity("stream")
    parity("recompute")
    parity("legacy")
    found: dict[str, Any] = {"answers": answers()}
    found["verdict"] = json.loads(parity("reconcile", "--format", "json", "--report", "report.html", "--run", "late"))
    control = ("reconcile", "--candidate", "legacy", "--result", "sensor_means", "--result", "sensor_sessions")
    said = CliRunner().invoke(app, [*control, "--lake", "lake", "--format", "json"])
    found["control"] = json.loads(said.stdout)
    found["quality"] = parity("quality")
    parity("replay", "--result", "room_hours", "--way", "steps")
    parity("replay", "--result", "sensor_means")
    for result in ("room_hours", "sensor_means"):
        parity("compare", "--left", result, "--right", f"{result}@2")
        parity("swap", "--result", result, "--to", "2")
    found["swapped"] = {result: rows(result, "kappa") for result in RESULTS}
    parity("requeue")
    parity("maintain")
    found["told"] = [parity(command) for command in ("status", "versions", "lateness")]
    return found


def asked(client: TestClient, path: str, **parameters: Any) -> Any:
    answer = client.get(path, params=parameters)
    if answer.status_code != 200:
        sys.exit(f"{path} {parameters}: {answer.status_code} {answer.text}")
    return answer


def served() -> dict[str, Any]:
    lake = open_lake(Path("lake"))
    with TestClient(application(lake, load_settings(lake=lake)), base_url="http://localhost") as client:
        runs = asked(client, "/reconciliations").json()["reconciliations"]
        mean = asked(client, "/results/sensor_means", limit=1).json()["rows"][0]
        of_window = {"key": mean["sensor_id"], "window": mean["window_start"]}
        return {
            "story": asked(client, "/pipeline").json(),
            "results": [each["name"] for each in asked(client, "/results").json()["results"]],
            "rows": {name: asked(client, f"/results/{name}", limit=5).json()["rows"] for name in RESULTS},
            "mean": mean,
            "history": asked(client, "/results/sensor_means/history", **of_window).json()["rows"],
            "runs": [asked(client, f"/reconciliations/{each['id']}").status_code for each in runs],
            "metrics": asked(client, "/metrics").text,
            "page": asked(client, "/").status_code,
            "openapi": asked(client, "/openapi.json").text,
        }


def found() -> dict[str, Any]:
    told: dict[str, Any] = {"without a name": parity("simulate", "--landing", "nothing", lake=False, code=2)}
    told["declared"] = parity("results", "--pipeline", "sensors", lake=False)
    told["demo"] = parity("demo", "--events", "5000", "--pipeline", "sensors")
    told["after the demo"] = answers()
    return {**told, **worked_on(), "served": served()}


sys.stdout.write(json.dumps(found()))
