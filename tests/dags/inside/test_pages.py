"""The pages of the plugin: for logged-in users only, and nothing but what lies in the reports' directories."""

import json
from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace

import pytest
from airflow.api_fastapi.core_api.security import get_user
from fastapi.testclient import TestClient

from house import told_failure
from pages.app import app, readable_dags
from parity_plugin import ParityPlugin

NAME = "reconciliation.manual__2026-03-01T00:00:00+00:00"
VERDICT = {
    "run": NAME,
    "at": "2026-03-01T12:00:00+00:00",
    "status": "differ",
    "candidate": "<b>legacy</b>",
    "sentence": "They differ: <script>alert(1)</script>",
    "results": [{"equal": 7, "differing": 1234, "unexplained": 0}],
}
QUALITY = {
    "run": "data_quality.one",
    "at": "2026-03-01T12:00:00+00:00",
    "status": "not met",
    "tables": [
        {
            "table": "events",
            "version": 3,
            "met": False,
            "failed": 1,
            "page": "validations/one.html",
            "expectations": [{"description": "no id twice", "met": False}, {"description": "a schema", "met": True}],
        }
    ],
}


@pytest.fixture
def anonymous(lake: Path) -> TestClient:
    for directory in ("reports", "quality/runs", "quality/docs/validations", "decisions"):
        (lake / directory).mkdir(parents=True)
    (lake / "reports" / f"{NAME}.json").write_text(json.dumps(VERDICT))
    (lake / "reports" / f"{NAME}.html").write_text("<h1>the report</h1>")
    (lake / "reports" / "failures.jsonl").write_text(
        json.dumps(
            {"at": "2026-03-01T12:00:00", "dag": "maintenance", "run": "r", "task": "t", "try": 1, "error": "<i>"}
        )
        + "\n"
    )
    (lake / "quality" / "runs" / "data_quality.one.json").write_text(json.dumps(QUALITY))
    (lake / "quality" / "docs" / "index.html").write_text("<h1>Data Docs</h1>")
    (lake / "quality" / "docs" / "validations" / "one.html").write_text("<h1>one validation</h1>")
    (lake / "secret.json").write_text("{}")
    (lake / "reports" / "link.html").symlink_to(lake / "secret.json")
    (lake / "reports" / "plotly-1.min.js").write_text("var Plotly;")
    (lake / "reports" / "plotly-2.min.js").symlink_to(lake / "secret.json")
    return TestClient(app)


@pytest.fixture
def client(anonymous: TestClient) -> Iterator[TestClient]:
    app.dependency_overrides |= {get_user: lambda: "somebody", readable_dags: lambda: {"repair_after_reconciliation"}}
    yield anonymous
    app.dependency_overrides.clear()


PAGES = ["/", f"/runs/reconciliation/{NAME.partition('.')[2]}", f"/reports/{NAME}.html", "/docs/index.html"]


@pytest.mark.parametrize("page", [*PAGES, "/openapi.json", "/docs", "/redoc"])
def test_without_a_login_nothing_is_shown(anonymous: TestClient, page: str) -> None:
    assert anonymous.get(page).status_code in (401, 404)
    assert page not in PAGES or anonymous.get(page).status_code == 401


def test_the_charts_script_alone_is_for_everybody(anonymous: TestClient) -> None:
    """A report has an origin of its own: the browser sends no login with what it loads."""
    answer = anonymous.get("/reports/plotly-1.min.js")
    assert (answer.status_code, answer.text) == (200, "var Plotly;")
    assert answer.headers["Content-Type"].startswith("text/javascript")
    assert "immutable" in answer.headers["Cache-Control"]


@pytest.mark.parametrize(
    "name",
    [
        "plotly-2.min.js",
        "plotly-3.min.js",
        "plotly-..%2F..%2Fsecret.min.js",
        "plotly-1.min.js%2F..%2Flink.html",
        "plotly-.json",
    ],
)
def test_by_the_way_of_the_script_nothing_else_is_got(anonymous: TestClient, name: str) -> None:
    answer = anonymous.get(f"/reports/{name}")
    assert answer.status_code in (401, 404) and "{}" not in answer.text


@pytest.mark.usefixtures("database")
def test_a_forged_token_is_refused(anonymous: TestClient) -> None:
    from airflow.api_fastapi.app import create_app

    create_app(apps="core")
    assert anonymous.get("/", cookies={"_token": "e30.e30.e30"}).status_code in (401, 403)


@pytest.mark.parametrize("page", PAGES)
def test_with_a_login_every_page_is_shown_and_guarded(client: TestClient, page: str) -> None:
    answer = client.get(page)
    assert answer.status_code == 200
    assert "connect-src 'none'" in answer.headers["Content-Security-Policy"]


@pytest.mark.parametrize("page", PAGES)
def test_no_page_runs_a_script_with_the_rights_of_the_user(client: TestClient, page: str) -> None:
    policy = client.get(page).headers["Content-Security-Policy"]
    rules = {name: values for name, *values in (each.split() for each in policy.split(";"))}
    scripts = rules.get("script-src", rules["default-src"])
    assert scripts == ["'none'"] or rules["sandbox"] == ["allow-scripts"], policy
    assert rules["connect-src"] == ["'none'"] and rules["form-action"] == ["'none'"]


TORN = [b'{"at": "2026-03-01T12:00', b"", b"[]", b"[1]", b"null", b"7", b"{}", b"\xff\xfe", b"[" * 100_000]


@pytest.mark.parametrize("torn", TORN, ids=[repr(each[:12]) for each in TORN])
def test_what_is_torn_does_not_break_the_pages(lake: Path, client: TestClient, torn: bytes) -> None:
    failures = lake / "reports" / "failures.jsonl"
    failures.write_bytes(torn + b"\n" + failures.read_bytes() + torn)
    for directory in ("reports", "quality/runs", "decisions"):
        (lake / directory / "torn.one.json").write_bytes(torn)
    page = client.get("/")
    assert page.status_code == 200 and "1,234" in page.text and "&lt;i&gt;" in page.text
    assert "cannot be read, and is not shown" in page.text
    assert client.get("/runs/maintenance/r").status_code == client.get("/runs/torn/one").status_code == 200
    assert "maintenance.t" in client.get("/runs/maintenance/r").text


@pytest.mark.parametrize("missing", ["at", "run", "task", "try", "error", "dag"])
def test_a_failure_that_does_not_say_everything_is_left_out(lake: Path, client: TestClient, missing: str) -> None:
    failures = lake / "reports" / "failures.jsonl"
    line = {name: value for name, value in json.loads(failures.read_text()).items() if name != missing}
    with failures.open("a") as more:
        more.write(json.dumps(line) + "\n")
    assert "&lt;i&gt;" in client.get("/").text


def test_a_failure_after_a_torn_line_is_not_lost_with_it(lake: Path, client: TestClient) -> None:
    with (lake / "reports" / "failures.jsonl").open("a") as kept:
        kept.write('{"at": "2026-03')
    task = SimpleNamespace(dag_id="maintenance", run_id="r", task_id="after the torn one", try_number=1)
    told_failure({"ti": task, "exception": RuntimeError("the disk is full")})
    assert "after the torn one" in client.get("/").text


def test_the_overview_lists_what_was_kept(client: TestClient) -> None:
    page = client.get("/").text
    assert "1,234" in page and "✗ differ" in page and "✗ not met" in page
    assert "&lt;b&gt;legacy&lt;/b&gt;" in page and "&lt;i&gt;" in page


QUESTION = {
    "dag": "repair_after_reconciliation",
    "run": "manual__2026-03-01T00:00:00+00:00",
    "task": "decision",
    "subject": "The layers differ: <b>one</b>",
    "options": ["Recompute batch", "Reject"],
    "since": "2026-03-01T12:00:00+00:00",
}


def test_a_question_that_waits_for_a_person_is_the_first_thing_with_a_link_to_answer_it(
    client: TestClient, monkeypatch: pytest.MonkeyPatch
) -> None:
    """`test_runs.py` has a question that was really asked; here is how it is shown."""
    monkeypatch.setattr("pages.app.pending", lambda readable: [QUESTION] if QUESTION["dag"] in readable else [])
    page = client.get("/").text
    link = "/dags/repair_after_reconciliation/runs/manual__2026-03-01T00%3A00%3A00%2B00%3A00/tasks/decision/required_actions"
    assert link in page and "The layers differ: &lt;b&gt;one" in page and "Recompute batch, Reject" in page
    assert page.index("Waiting for a person") < page.index("<h2>Reconciliations")


def test_nothing_waits_and_nothing_is_said_of_it_and_a_dead_database_breaks_no_page(
    client: TestClient, monkeypatch: pytest.MonkeyPatch
) -> None:
    for answer, told in (([], False), (None, True)):
        monkeypatch.setattr("pages.app.pending", lambda _, answer=answer: answer)
        assert ("Waiting for a person" in client.get("/").text) is told


def test_the_page_of_a_run_has_a_line_for_each_result_and_its_own_report(lake: Path, client: TestClient) -> None:
    counts = {"compared": 2000, "equal": 1999, "open": 3, "behind": 4, "differing": 1, "unexplained": 0}
    results = [
        {"result": "team_scores", "version": 2, "status": "differ", "report": f"{NAME}.html", **counts},
        {"result": "level_ups", "version": 1, "status": "agree", "report": f"{NAME}.level_ups.html", **counts},
    ]
    (lake / "reports" / f"{NAME}.json").write_text(json.dumps({**VERDICT, "results": results}))
    page = client.get(PAGES[1]).text
    assert "team_scores@2" in page and "level_ups@1" in page and "2,000" in page
    assert ".level_ups.html" in page and "compared again" in page


def test_the_page_of_a_run_shows_its_verdict_and_its_report(client: TestClient) -> None:
    page = client.get(PAGES[1]).text
    assert "They differ: &lt;script&gt;" in page and "<script>" not in page
    assert f"/reports/{NAME.replace(':', '%3A').replace('+', '%2B')}.html" in page


def test_the_page_of_a_validation_names_what_is_not_met(client: TestClient) -> None:
    page = client.get("/runs/data_quality/one").text
    assert "no id twice" in page and "1 of 2" in page and "a schema" not in page
    assert client.get("/docs/validations/one.html").text == "<h1>one validation</h1>"


def test_a_run_without_a_report_says_so(client: TestClient) -> None:
    assert "has left no report" in client.get("/runs/batch_recompute/x").text


@pytest.mark.parametrize(
    "address",
    [
        "/reports/../secret.json",
        "/reports/..%2Fsecret.json",
        "/reports/%2e%2e%2fsecret.json",
        "/reports/link.html",
        "/reports/.hidden",
        "/docs/../runs/data_quality.one.json",
        "/docs/%2e%2e/runs/data_quality.one.json",
        "/docs//etc/passwd",
        "/docs/validations/../../runs/data_quality.one.json",
        "/docs/%00",
        "/runs/../secret.json",
    ],
)
def test_no_address_leaves_the_directory_of_the_reports(client: TestClient, address: str) -> None:
    assert client.get(address).status_code == 404


def test_a_run_that_is_named_like_a_path_finds_nothing(client: TestClient) -> None:
    assert "has left no report" in client.get("/runs/x/..%5c..%5csecret").text


def test_the_interface_gets_an_entry_and_a_tab() -> None:
    assert {view["destination"] for view in ParityPlugin.external_views} == {"nav", "dag_run"}
