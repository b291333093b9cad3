"""Every route of a real server answers for every result, in every layer and format: a value that cannot be sent is a 500."""

import json
from collections.abc import Iterator
from pathlib import Path

import httpx
import pyarrow as pa
import pytest
from deliveries import at, heartbeat, land, pop
from game import CONTROLLED, catalogue
from pyspark.sql import SparkSession
from served import serving

from batch_layer.recompute import recompute
from ingestion.ingest import ingest
from lakehouse.lake import create_lake
from lakehouse.settings import load_settings
from serving.formats import ARROW, CSV, FORMATS, JSON
from serving.pins import LAYERS
from speed_layer.legacy import legacy
from speed_layer.stream import stream

CATALOGUE = catalogue()


def event(name: str, kind: str, seconds: float, **fields: str) -> str:
    return json.dumps({"event_id": name, "kind": kind, "player_id": "alice", "occurred_at": at(seconds), **fields})


LINES = [
    event("league", "league_changed", 1, league="gold"),
    event("shown", "offer_shown", 5, offer_id="hat"),
    event("clicked", "offer_clicked", 9, offer_id="hat"),
    *(pop(f"pop-{second}", second, bubbles=60, reaction_ms=200 + second) for second in range(10, 30)),
    heartbeat("end", 7 * 3600),
]
"""A level-up, a hot minute, two streaks: a row at least of every result, and all of them settled."""


@pytest.fixture(scope="module")
def client(spark: SparkSession, tmp_path_factory: pytest.TempPathFactory) -> Iterator[httpx.Client]:
    home: Path = tmp_path_factory.mktemp("every-route")
    lake, landing, settings = create_lake(home / "lake"), home / "landing", load_settings()
    landing.mkdir()
    land(landing, "1.jsonl", LINES)
    ingest(spark, lake, landing, settings)
    stream(spark, lake, list(CATALOGUE.values()), settings)
    for result in CATALOGUE.values():
        recompute(spark, lake, result, settings)
    legacy(spark, lake, settings, answers=[CATALOGUE[name] for name in CONTROLLED])
    with serving(lake.path) as address, httpx.Client(base_url=address, timeout=60) as opened:
        yield opened


def rows_of(answer: httpx.Response) -> int:
    assert answer.status_code == 200, f"{answer.url}: {answer.status_code} {answer.text[:300]}"
    media_type = answer.headers["content-type"].partition(";")[0]
    count = {
        JSON: lambda: len(answer.json()["rows"]),
        CSV: lambda: answer.text.count("\n") - 1,
        ARROW: lambda: len(pa.ipc.open_stream(answer.content).read_all()),
    }
    return count[media_type]()


@pytest.mark.parametrize("name", CATALOGUE)
def test_the_rows_of_every_result_are_sent_in_every_layer_and_format(client: httpx.Client, name: str) -> None:
    for layer in LAYERS:
        counts = set()
        for accept in FORMATS:
            answer = client.get(f"/results/{name}", params={"layer": layer}, headers={"Accept": accept})
            if layer == "legacy" and name not in CONTROLLED:
                assert answer.status_code == 404 and "legacy" in answer.json()["detail"]
                continue
            assert answer.headers["content-type"].startswith(accept)
            counts.add(rows_of(answer))
        assert len(counts) <= 1 and 0 not in counts, (layer, counts)


@pytest.mark.parametrize("name", CATALOGUE)
def test_the_history_of_every_result_is_sent(client: httpx.Client, name: str) -> None:
    row = client.get(f"/results/{name}").json()["rows"][0]
    asked = {"key": [str(row[column]) for column in CATALOGUE[name].key], "window": row["window_start"]}
    assert rows_of(client.get(f"/results/{name}/history", params=asked)) >= 1


@pytest.mark.parametrize("path", ["/results", "/metrics", "/health", "/reconciliations", "/openapi.json", "/"])
def test_what_is_about_all_results_is_sent(client: httpx.Client, path: str) -> None:
    answer = client.get(path)
    assert answer.status_code == 200
    if path in ("/results", "/metrics"):
        assert all(name in answer.text for name in CATALOGUE)
