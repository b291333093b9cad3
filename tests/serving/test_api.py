"""The API as a client sees it: a real server on a real lake."""

import csv
import io
import json
from collections.abc import Iterator
from datetime import datetime, timedelta
from typing import Any

import httpx
import pyarrow as pa
import pytest
from deliveries import START, at
from game import catalogue
from served import NASTY, serving, small_settings

from lakehouse.arrivals import ARRIVALS
from lakehouse.changelogs import changelog_name
from lakehouse.commits import committed_at
from lakehouse.lake import Lake
from serving.reader import Reader
from transformations.durations import iso

PLAYERS = ("alice", "bert", "carol", "dora")


@pytest.fixture(scope="module")
def client(address: str) -> Iterator[httpx.Client]:
    with httpx.Client(base_url=address, timeout=60) as opened:
        yield opened


def got(client: httpx.Client, path: str, **parameters: Any) -> Any:
    answer = client.get(path, params=parameters or None)
    assert answer.status_code == 200, answer.text
    return answer.json()


def refused(client: httpx.Client, path: str, code: int, **parameters: Any) -> str:
    answer = client.get(path, params=parameters)
    assert answer.status_code == code, answer.text
    assert "Traceback" not in answer.text and set(answer.json()) == {"detail"}
    return str(answer.json()["detail"])


def test_the_catalogue_says_what_there_is_and_how_far_each_layer_is_behind(client: httpx.Client) -> None:
    found = got(client, "/results")
    scores = next(each for each in found["results"] if each["name"] == "team_scores")
    assert scores["key"] == ["team_id"] and scores["live_version"] == 1 and scores["window"]["size"] == "1 minute"
    assert scores["layers"]["kappa"]["lag_versions"] == 0 < scores["layers"]["batch"]["lag_versions"]
    assert scores["layers"]["batch"]["age_seconds"] > scores["layers"]["kappa"]["age_seconds"]
    assert [each["name"] for each in found["results"]] == list(catalogue())
    assert found["log"]["duplicates"] == 2 and found["log"]["quarantined"] == 1 and found["log"]["late"] == 3


@pytest.mark.parametrize("layer", ["kappa", "batch", "lambda", "legacy"])
def test_an_answer_says_of_which_versions_it_is(client: httpx.Client, layer: str) -> None:
    answer = got(client, "/results/team_scores", layer=layer, limit=1)
    tables = {"kappa": {"kappa_team_scores@1"}, "batch": {"batch_team_scores@1"}, "legacy": {"legacy_team_scores@1"}}
    tables["lambda"] = tables["kappa"] | tables["batch"]
    assert set(answer["versions"]) == tables[layer] | {ARRIVALS}
    assert answer["log_version"] <= answer["versions"][ARRIVALS]
    assert (answer["cut_off"] is not None) == (layer == "lambda")


def test_pages_put_together_are_the_whole(client: httpx.Client) -> None:
    whole = got(client, "/results/team_scores")
    assert whole["next"] is None
    rows, cursor, pages = [], None, 0
    while pages == 0 or cursor:
        page = got(client, "/results/team_scores", limit=50, **({"cursor": cursor} if cursor else {}))
        rows, cursor, pages = rows + page["rows"], page["next"], pages + 1
    assert rows == whole["rows"] and pages == -(-len(rows) // 50) > 2


def test_a_page_that_ends_with_the_rows_has_no_next_one(client: httpx.Client) -> None:
    rows = len(got(client, "/results/team_scores")["rows"])
    assert got(client, "/results/team_scores", limit=rows)["next"] is None
    assert got(client, "/results/team_scores", limit=rows - 1)["next"] is not None


@pytest.mark.parametrize("name", ["team_scores", "player_sessions"])
def test_windows_and_keys_can_be_asked_for(client: httpx.Client, name: str) -> None:
    whole = got(client, f"/results/{name}")["rows"]
    column = catalogue()[name].key[0]
    key = whole[0][column]
    first, end = whole[0]["window_start"], at(40 * 60)
    found = got(client, f"/results/{name}", key=key, **{"from": first, "to": end})["rows"]
    assert found == [row for row in whole if row[column] == key and first <= row["window_start"] < end]
    assert found
    assert got(client, f"/results/{name}", key=key, **{"from": at(-60), "to": first})["rows"] == []


def test_the_formats_say_the_same(client: httpx.Client) -> None:
    rows = got(client, "/results/team_scores", limit=7)["rows"]
    text = client.get("/results/team_scores", params={"limit": 7}, headers={"Accept": "text/csv"})
    assert text.headers["content-type"].startswith("text/csv")
    assert [row["window_start"] for row in csv.DictReader(io.StringIO(text.text))] == [
        row["window_start"] for row in rows
    ]
    assert [int(row["bubbles"]) for row in csv.DictReader(io.StringIO(text.text))] == [row["bubbles"] for row in rows]
    arrow = client.get(
        "/results/team_scores", params={"limit": 7}, headers={"Accept": "application/vnd.apache.arrow.stream"}
    )
    table = pa.ipc.open_stream(arrow.content).read_all()
    assert table["bubbles"].to_pylist() == [row["bubbles"] for row in rows]
    assert table["window_start"].type == pa.timestamp("us", "UTC")
    assert json.loads(arrow.headers["parity-versions"]) == json.loads(text.headers["parity-versions"])
    assert arrow.headers["parity-next"] == text.headers["parity-next"]
    assert (
        "There are: application/json"
        in client.get("/results/team_scores", headers={"Accept": "image/png"}).json()["detail"]
    )


def test_a_client_that_has_the_answer_is_told_so(client: httpx.Client) -> None:
    first = client.get("/results/team_scores")
    again = client.get("/results/team_scores", headers={"If-None-Match": first.headers["etag"]})
    assert again.status_code == 304 and not again.content


def test_the_past_is_answered_as_it_was_served_then(client: httpx.Client, served_lake: Lake) -> None:
    table = changelog_name(catalogue()["team_scores"])
    now = got(client, "/results/team_scores")
    before = committed_at(served_lake, table, now["versions"][table]) - timedelta(milliseconds=1)
    then = got(client, "/results/team_scores", as_of=iso(before))
    assert then["versions"][table] < now["versions"][table] and then["log_version"] < now["log_version"]
    assert len(then["rows"]) < len(now["rows"])
    cell = {"team_id": "blue", "window_start": at(20 * 60)}

    def bubbles(answer: Any) -> int:
        return next(row["bubbles"] for row in answer["rows"] if cell.items() <= row.items())

    assert bubbles(now) - bubbles(then) == 17, "the late event came afterwards"
    batch = got(client, "/results/team_scores", layer="batch", as_of=iso(before))
    assert bubbles(batch) == bubbles(then)
    assert "nothing to serve yet" in refused(client, "/results/team_scores", 404, as_of="2020-01-01T00:00:00Z")


def test_the_history_of_a_result_tells_its_parts(client: httpx.Client) -> None:
    found = got(client, "/results/team_scores/history", key="blue", window=at(20 * 60))
    assert [row["part"] for row in found["rows"]][-1] == "corrected"
    assert found["rows"][-1]["bubbles"] - found["rows"][0]["bubbles"] == 17
    assert found["settled"]["log_version"] < found["rows"][-1]["log_version"]
    open_one = got(client, "/results/team_scores/history", key="blue", window=at(62 * 60))
    assert [row["part"] for row in open_one["rows"]] == ["early"] and open_one["settled"] is None
    assert "no row for the key" in refused(client, "/results/team_scores/history", 404, key="pink", window=at(0))
    assert "has team_id; 0 values given" in refused(client, "/results/team_scores/history", 422, window=at(0))


def test_the_verdicts_are_told_with_their_differences(client: httpx.Client) -> None:
    runs = got(client, "/reconciliations")["reconciliations"]
    assert [(run["candidate"], run["status"]) for run in runs] == [("legacy", "differ"), ("kappa", "agree")]
    assert runs[1]["compared"] == runs[1]["equal"] > 0 == runs[1]["unexplained"]
    page = got(client, "/reconciliations", limit=1)
    assert got(client, "/reconciliations", limit=1, cursor=page["next"])["reconciliations"] == runs[1:]
    whole = got(client, f"/reconciliations/{runs[0]['id']}", limit=10_000)
    assert len(whole["differences"]) == runs[0]["differing"] > 3 and whole["next"] is None
    assert all(each["causes"] for each in whole["differences"])
    first = got(client, f"/reconciliations/{runs[0]['id']}", limit=2)
    second = got(client, f"/reconciliations/{runs[0]['id']}", limit=2, cursor=first["next"])
    assert first["differences"] + second["differences"] == whole["differences"][:4]
    assert "no reconciliation 'none'" in refused(client, "/reconciliations/none", 404)


@pytest.mark.parametrize(
    ("parameters", "said"),
    [
        ({"layer": "gamma"}, "layer = 'gamma'"),
        ({"from": "yesterday"}, "from = 'yesterday': this is no time"),
        ({"from": "2026-03-01T10:00:00"}, "has no zone"),
        ({"limit": 0}, "limit = '0'"),
        ({"limit": 10_001}, "limit = '10001'"),
        ({"settled": "perhaps"}, "settled = 'perhaps'"),
        ({"frm": "2026-03-01"}, "frm: there is no such parameter"),
        ({"key": ["blue", "red"]}, "has team_id; 2 values given"),
        ({"cursor": "made-up"}, "no cursor of this lake"),
        ({"cursor": "é"}, "no cursor of this lake"),
    ],
)
def test_a_wrong_parameter_gets_a_sentence(client: httpx.Client, parameters: dict[str, Any], said: str) -> None:
    assert said in refused(client, "/results/team_scores", 422, **parameters)


def test_a_cursor_belongs_to_its_question(client: httpx.Client) -> None:
    cursor = got(client, "/results/team_scores", limit=1)["next"]
    assert "another question" in refused(client, "/results/team_scores", 422, cursor=cursor, layer="batch")
    assert "another question" in refused(client, "/results/level_ups", 422, cursor=cursor)


def test_what_is_not_there_is_named(client: httpx.Client) -> None:
    assert "There is no result 'scores'. There are: active_players" in refused(client, "/results/scores", 404)
    assert "has no version 7" in refused(client, "/results/team_scores@7", 404)
    assert "has not run in the lake" in refused(client, "/results/game_pulse", 404)
    assert "`parity legacy` does it for" in refused(client, "/results/player_sessions", 404, layer="legacy")


@pytest.mark.parametrize("text", ["'; drop table copy_0; --", '" or 1=1', "../../events", NASTY, "{rows}", "$first"])
def test_a_value_is_a_value_whatever_is_in_it(client: httpx.Client, text: str) -> None:
    found = got(client, "/results/team_scores", key=text)["rows"]
    assert {row["team_id"] for row in found} == ({NASTY} if text == NASTY else set())
    assert client.get(f"/results/{httpx.URL(path=text).raw_path.decode()}").status_code in (404, 422)


def test_no_player_is_named_unless_a_setting_asks_for_it(client: httpx.Client, served_lake: Lake) -> None:
    runs = got(client, "/reconciliations")["reconciliations"]
    paths = [
        "/results/player_sessions?layer=batch",
        *(f"/reconciliations/{run['id']}?limit=10000" for run in runs),
        "/metrics",
    ]
    for path in paths:
        said = client.get(path).text
        assert not any(player in said for player in PLAYERS), path
    path = "/results/player_sessions?layer=batch"
    names = {row["player_id"] for row in got(client, path)["rows"]}
    assert len(names) == len(PLAYERS) and all(name.startswith("person-") for name in names)
    one = min(names)
    assert {row["player_id"] for row in got(client, f"{path}&key={one}")["rows"]} == {one}
    with serving(served_lake.path, PARITY_SERVING__CLEAR_IDS="true") as address:
        clear = httpx.get(f"{address}{path}", timeout=60).json()["rows"]
    assert {row["player_id"] for row in clear} == {"alice", "bert", "<i>carol</i>", "dora"}


def test_prometheus_can_read_the_metrics(client: httpx.Client) -> None:
    from prometheus_client.parser import text_string_to_metric_families

    families = {each.name: each for each in text_string_to_metric_families(client.get("/metrics").text)}

    def value(name: str, **labels: str) -> float:
        found = [each.value for each in families[name].samples if labels.items() <= each.labels.items()]
        assert len(found) == 1, (name, labels)
        return float(found[0])

    log = got(client, "/results")["log"]
    for name in ("events", "late", "duplicates", "quarantined"):
        assert value(f"parity_{name}") == log[name]
    assert value("parity_lag_commits", layer="batch", result="team_scores") == 1
    assert value("parity_revisions", result="player_sessions", cause="late") > 0
    assert value("parity_revisions", result="team_scores", cause="late") == 0, "the engine counted them"
    assert value("parity_unexplained_keys", candidate="legacy", result="team_scores") == 0
    assert value("parity_differing_keys", candidate="legacy", result="team_scores") > 0
    taken = {each.labels["query"] for each in families["parity_micro_batch_seconds"].samples}
    assert {"ingest", "team_scores@1"} <= taken


def test_the_documentation_needs_no_network(client: httpx.Client) -> None:
    for page in ("/docs", "/redoc"):
        said = client.get(page).text
        assert "https://" not in said.replace("https://fastapi.tiangolo.com", ""), page
    assert client.get("/static-offline-docs/swagger-ui-bundle.js").status_code == 200


def test_other_names_than_those_of_loopback_are_not_answered(client: httpx.Client) -> None:
    assert client.get("/results", headers={"Host": "evil.example"}).status_code == 421
    assert client.get("/results", headers={"Host": "localhost"}).status_code == 200


def test_a_token_is_asked_for_where_one_is_set(served_lake: Lake) -> None:
    token = "correct-horse-battery"
    with serving(served_lake.path, "--host", "0.0.0.0", PARITY_SERVING__TOKEN=token) as address:
        local = address.replace("0.0.0.0", "127.0.0.1")
        for headers in ({}, {"Authorization": "Bearer wrong-horse-battery"}, {"Authorization": f"Basic {token}"}):
            answer = httpx.get(f"{local}/results", headers=headers, timeout=60)
            assert answer.status_code == 401 and "A token is needed" in answer.json()["detail"]
        assert (
            httpx.get(f"{local}/results", headers={"Authorization": f"Bearer {token}"}, timeout=60).status_code == 200
        )
        assert httpx.get(f"{local}/", timeout=60).status_code == 200, "the empty page tells nothing"


def test_a_python_reader_is_told_the_same(client: httpx.Client, served_lake: Lake) -> None:
    with Reader(served_lake, small_settings()) as reader:
        frame = reader.answer("team_scores", first=START, end=START + timedelta(minutes=3)).frame()
    rows = got(client, "/results/team_scores", **{"from": at(0), "to": at(180)})["rows"]
    assert frame["bubbles"].tolist() == [row["bubbles"] for row in rows]
    assert [datetime.fromisoformat(row["window_start"]) for row in rows] == frame["window_start"].tolist()
