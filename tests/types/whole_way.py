"""Runs every command on a lake whose events have a field of every type, in a directory with its pipeline and its settings.

It prints what it found as JSON, for `test_every_type_on_the_whole_way`.
"""

import json
import os
import sys
from pathlib import Path
from typing import Any

from deltalake import DeltaTable
from fastapi.testclient import TestClient
from typer.testing import CliRunner

from cli.main import app
from lakehouse.arrivals import schema
from lakehouse.lake import open_lake
from lakehouse.pipelines import pipeline_at
from lakehouse.settings import load_settings
from serving.api import application

PLACE = {"batch", "ingested_at", "id_high", "id_low", "content_hash"}
ONLY = ("--result", "measurements")


def parity(*command: str, code: int = 0) -> str:
    done = CliRunner().invoke(app, [*command, "--lake", "lake"])
    if done.exit_code != code:
        sys.exit(f"{command}: exit code {done.exit_code}\n{done.output}\n{done.exception!r}")
    return done.stdout


def arrivals(lake: str) -> list[dict[str, Any]]:
    columns = [name for name in schema(pipeline_at("measuring").kinds).names if name not in PLACE]
    return DeltaTable(f"{lake}/tables/arrivals").to_pyarrow_table(columns=columns).sort_by("arrival").to_pylist()


def by_both_engines() -> bool:
    """Whether the embedded engine and Spark's write the same log."""
    for lake, engine in (("other", "embedded"), ("lake", "spark")):
        os.environ["PARITY_INGESTION__ENGINE"] = engine
        done = CliRunner().invoke(app, ["ingest", "--landing", "landing", "--lake", lake])
        if done.exit_code:
            sys.exit(f"ingest by {engine}: {done.output}")
    return arrivals("lake") == arrivals("other")


def asked(client: TestClient, path: str, accept: str = "application/json", **parameters: Any) -> Any:
    answer = client.get(path, params=parameters, headers={"Accept": accept})
    if answer.status_code != 200:
        sys.exit(f"{path} {parameters}: {answer.status_code} {answer.text}")
    return answer


def served() -> dict[str, Any]:
    with TestClient(application(open_lake(Path("lake")), load_settings()), base_url="http://127.0.0.1") as client:
        path = "/results/measurements"
        pages, cursor = [], None
        while not pages or cursor:
            page = asked(client, path, limit=1, **({"cursor": cursor} if cursor else {})).json()
            pages, cursor = [*pages, *page["rows"]], page["next"]
        first = max(pages, key=lambda row: (row["window_start"] == pages[0]["window_start"], row["device"]))
        key = {"key": str(first["device"])}
        run = asked(client, "/reconciliations").json()["reconciliations"][0]["id"]
        return {
            "rows": asked(client, path).json()["rows"],
            "lambda": asked(client, path, layer="lambda").json()["rows"],
            "batch": asked(client, path, layer="batch").json()["rows"],
            "pages": pages,
            "of a key": asked(client, path, **key).json()["rows"],
            "csv": asked(client, path, accept="text/csv").text,
            "arrow": len(asked(client, path, accept="application/vnd.apache.arrow.stream").content),
            "history": asked(client, f"{path}/history", window=first["window_start"], **key).json()["rows"],
            "catalogue": [
                each for each in asked(client, "/results").json()["results"] if each["name"] == "measurements"
            ],
            "differences": asked(client, f"/reconciliations/{run}").json()["differences"],
            "openapi": len(asked(client, "/openapi.json").json()["paths"]),
        }


def found() -> dict[str, Any]:
    told: dict[str, Any] = {
        "engines agree": by_both_engines(),
        "arrivals": json.loads(json.dumps(arrivals("lake"), default=str)),
    }
    parity("stream", *ONLY)
    Path("landing/.late").rename("landing/late.jsonl")
    parity("ingest", "--landing", "landing")
    parity("stream", *ONLY)
    parity("recompute", *ONLY)
    parity("legacy")
    told["verdict"] = json.loads(parity("reconcile", *ONLY, "--format", "json", "--report", "report.html"))
    told["control"] = json.loads(parity("reconcile", *ONLY, "--candidate", "legacy", "--format", "json", code=1))
    parity("quality", *ONLY)
    told["table"] = parity("show", "measurements")
    told["csv"] = parity("show", "measurements", "--format", "csv")
    told["jsonl"] = [json.loads(line) for line in parity("show", "measurements", "--format", "jsonl").splitlines()]
    told["sorted"] = parity("show", "measurements", "--format", "csv", "--sort", "-levels", "--key", "device=7")
    told["control's"] = parity("show", "measurements", "--layer", "legacy", "--format", "jsonl")
    parity("replay", *ONLY, "--way", "steps")
    told["compared"] = json.loads(
        parity("compare", "--left", "measurements", "--right", "measurements@2", "--format", "json")
    )
    parity("maintain")
    return {**told, **served()}


sys.stdout.write(json.dumps(found()))
