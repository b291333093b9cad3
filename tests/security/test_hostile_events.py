"""Events whose ids are SQL, HTML, paths, templates and control characters: they come back as they were sent, and do nothing."""

import csv
import io
import json
import re
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, datetime
from html.parser import HTMLParser
from pathlib import Path
from typing import TYPE_CHECKING
from urllib.parse import quote

import pytest
from deliveries import land
from game import catalogue
from logged import assert_whole, rows
from pyspark.sql import SparkSession
from rich.text import Text
from typer.testing import CliRunner

from batch_layer.recompute import recompute
from cli.main import app
from cli.terminal import plain, spelt
from ingestion.ingest import ingest
from lakehouse.arrivals import DUPLICATE, EVENT, QUARANTINED
from lakehouse.lake import Lake, create_lake
from lakehouse.settings import Settings, load_settings
from quality.validate import validate
from reconciliation.history import keep
from reconciliation.reconcile import reconcile
from reconciliation.report import write_report
from reconciliation.verdict import Verdict
from serving.api import application
from speed_layer.legacy import legacy
from speed_layer.stream import stream

from hostile import FILE, HOSTILE, lines  # isort: skip

if TYPE_CHECKING:
    from fastapi.testclient import TestClient

PROJECT = Path(__file__).parents[2]
RESULTS = ("team_scores", "offer_outcomes")
COPIES = "copies.jsonl"
pytestmark = pytest.mark.filterwarnings("ignore:Using .httpx. with .starlette.testclient. is deprecated")
TEMPLATES = [*(PROJECT / "reconciliation").glob("*.j2"), *(PROJECT / "quality" / "pages").glob("*.j2")]
OF_THE_RENDERER = {"h6", "small"}  # Great Expectations'
TAGS = {tag for file in TEMPLATES for tag in re.findall(r"<([a-z][a-z0-9]*)", file.read_text())} | OF_THE_RENDERER


@dataclass(frozen=True)
class Ran:
    directory: Path
    lake: Lake
    settings: Settings
    verdict: Verdict
    control: Verdict
    pages: dict[str, str]


@pytest.fixture(scope="module")
def ran(spark: SparkSession, tmp_path_factory: pytest.TempPathFactory) -> Ran:
    """A lake of hostile events in which everything ran. Each came twice, so the control is wrong about all of them."""
    directory = tmp_path_factory.mktemp("hostile")
    lake, landing, report = create_lake(directory / "lake"), directory / "landing", directory / "report.html"
    landing.mkdir()
    settings = load_settings(tried={"serving.clear_ids": "true"})
    known = catalogue(settings.windows_by_result)
    results = [known[name] for name in RESULTS]
    land(landing, FILE, lines())
    land(landing, COPIES, lines())
    ingest(None, lake, landing, settings)
    stream(spark, lake, results, settings)
    for result in results:
        recompute(spark, lake, result, settings)
    legacy(spark, lake, settings, answers=results[:1])
    verdict = reconcile(spark, lake, results, settings)
    control = reconcile(spark, lake, results[:1], settings, candidate="legacy")
    for each in (verdict, control):
        keep(spark, lake, each, settings)
    write_report(spark, lake, results, settings, verdict, control=control, file=report)
    tables = ("duplicates", "kappa_team_scores@1")
    before = datetime(2020, 1, 1, tzinfo=UTC)  # then every row was written in the future, and samples are shown
    validate(spark, lake, results, settings, run="test", moment=before, tables=tables)
    files = [report, *(lake.path / "quality" / "docs").rglob("*.html")]
    pages = {str(file.relative_to(directory)): file.read_bytes().decode() for file in files}
    return Ran(directory, lake, settings, verdict, control, pages)


@pytest.fixture(scope="module")
def client(ran: Ran) -> "Iterator[TestClient]":
    from fastapi.testclient import TestClient

    with TestClient(application(ran.lake, ran.settings), base_url="http://127.0.0.1") as opened:
        yield opened


class Page(HTMLParser):
    """What a browser would make of a page: its elements, attributes that would run something, and its text."""

    def __init__(self, page: str) -> None:
        super().__init__()
        self.elements = Counter[str]()
        self.running: list[str] = []
        self.text = ""
        self.feed(page)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.elements[tag] += 1
        self.running += [name for name, value in attrs if name.startswith("on") or "javascript:" in (value or "")]

    def handle_data(self, data: str) -> None:
        self.text += data


def test_every_id_is_in_the_log_as_it_was_sent(ran: Ran) -> None:
    found = rows(ran.lake, EVENT, "kind", "event_id", "player_id", "team_id", "offer_id", "file")
    pops = [rest for kind, *rest in found if kind == "bubbles_popped"]
    assert [tuple(row[:3]) for row in pops] == [(text,) * 3 for text in HOSTILE]
    assert [offer for kind, *_, offer, _ in found if kind == "offer_shown"] == list(HOSTILE)
    assert {file for *_, file in pops} == {FILE}
    assert len(rows(ran.lake, DUPLICATE, "file")) == 2 * len(HOSTILE) + 1
    assert rows(ran.lake, QUARANTINED, "file") == []
    assert_whole(ran.lake)


def test_the_layers_agree_about_them_and_the_control_does_not(ran: Ran) -> None:
    assert ran.verdict.status == "agree" and ran.verdict.audit.balanced
    assert [each.compared for each in ran.verdict.results] == [len(HOSTILE)] * 2
    assert ran.control.status == "differ" and not ran.control.unexplained
    assert {one.key["team_id"] for one in ran.control.results[0].differences} == set(HOSTILE)


def test_nothing_is_written_outside_the_lake(ran: Ran) -> None:
    assert {each.name for each in ran.directory.iterdir()} == {"lake", "landing", "report.html"}
    assert {each.name for each in (ran.directory / "landing").iterdir()} == {FILE, COPIES}
    assert not any(re.search(r"escaped|script|drop|owned", str(each)) for each in ran.lake.path.rglob("*"))
    assert not Path("/escaped").exists() and not (PROJECT / "escaped").exists()


def test_pages_show_the_ids_and_have_no_element_of_theirs(ran: Ran) -> None:
    assert len(ran.pages) == 4
    for name, content in ran.pages.items():
        page = Page(content)
        assert page.elements["script"] == (2 if name == "report.html" else 0), "Plotly, and the data of the charts"
        assert page.elements.keys() <= TAGS, name
        assert page.running == [], name
    assert [text for text in HOSTILE if text not in Page(ran.pages["report.html"]).text] == []
    samples = "".join(Page(content).text for name, content in ran.pages.items() if name != "report.html")
    assert any(text in samples for text in HOSTILE)


@pytest.mark.parametrize("layer", ["kappa", "batch", "lambda", "legacy"])
def test_the_api_answers_with_them_and_finds_each_by_itself(client: "TestClient", layer: str) -> None:
    whole = client.get("/results/team_scores", params={"layer": layer}).json()["rows"]
    assert {row["team_id"] for row in whole} == set(HOSTILE)
    for text in HOSTILE:
        [found] = client.get("/results/team_scores", params={"layer": layer, "key": text}).json()["rows"]
        assert found["team_id"] == text and found["events"] == (2 if layer == "legacy" else 1)


def test_other_formats_carry_them_as_well(client: "TestClient") -> None:
    answer = client.get("/results/offer_outcomes", headers={"Accept": "text/csv"})
    rows = list(csv.DictReader(io.StringIO(answer.text, newline="")))
    assert {(row["player_id"], row["offer_id"]) for row in rows} == {(text, text) for text in HOSTILE}


def test_a_verdict_names_the_events(client: "TestClient") -> None:
    runs = client.get("/reconciliations").json()
    [run] = {each["id"] for each in runs["reconciliations"] if each["candidate"] == "legacy"}
    told = client.get(f"/reconciliations/{run}").json()["differences"]
    assert {one["key"]["team_id"] for one in told} == set(HOSTILE)


@pytest.mark.parametrize("text", HOSTILE)
def test_what_a_client_asks_is_refused_in_a_sentence(client: "TestClient", text: str) -> None:
    for path, parameters in (
        ("/results/team_scores", {"layer": text}),
        ("/results/team_scores", {"from": text}),
        ("/results/team_scores", {"cursor": text}),
        ("/results/team_scores", {text: "1"}),
        (f"/results/{quote(text, safe='')}", {}),
        (f"/reconciliations/{quote(text, safe='')}", {}),
    ):
        answer = client.get(path, params=parameters)
        assert answer.status_code in (404, 422), (path, parameters)
        assert answer.headers["content-type"].startswith("application/json") and set(answer.json()) == {"detail"}


def typed(*command: str | Path) -> str:
    done = CliRunner().invoke(app, [str(part) for part in command])
    assert done.exit_code in (0, 1), done.output
    return done.stdout


def test_parity_show_prints_them_exactly_for_machines(ran: Ran) -> None:
    said = typed("show", "team_scores", "--lake", ran.lake.path, "--format", "jsonl")
    assert {json.loads(row)["team_id"] for row in said.split("\n") if row} == set(HOSTILE)


def test_a_terminal_gets_nothing_that_it_would_obey(ran: Ran) -> None:
    for command in (("show", "team_scores"), ("reconcile", "--candidate", "legacy", "--result", "team_scores")):
        said = typed(*command, "--lake", ran.lake.path)
        assert "\\x1b" in said and "\x1b[2J" not in said and "\x07" not in said and "\u202e" not in said


@pytest.mark.parametrize("text", HOSTILE)
def test_a_value_is_spelt_out_and_its_markup_kept(text: str) -> None:
    assert all(sign.isprintable() for sign in spelt(text).replace("\n", "").replace("\t", ""))
    shown = Text.from_markup(f"[bold]{plain(text)}[/]").plain
    assert shown.isprintable() and shown == spelt(text).replace("\n", "\\n").replace("\t", "\\t")


def test_no_script_of_the_page_makes_elements_of_text() -> None:
    scripts = [*(PROJECT / "serving" / "page").glob("*.js"), PROJECT / "serving" / "page" / "index.html"]
    assert len(scripts) > 10
    for script in scripts:
        found = re.search(
            r"(inner|outer)HTML\s*\+?=(?!=)|insertAdjacentHTML|setHTML|document\.write|createContextualFragment|srcdoc"
            r"|DOMParser|\beval\s*\(|new Function|javascript:|\son\w+\s*=\s*[\"']",
            script.read_text(),
        )
        assert not found, f"{script.name}: {found}"
