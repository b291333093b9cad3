"""What the plugin serves may not call Airflow's API, whatever a script in it tries; and it still works. In real Chromium.

The pages are those of the plugin; a small server stands for Airflow's, with a login by cookie as Airflow sets it.
"""

import json
import os
import socket
import subprocess
import time
import urllib.error
import urllib.request
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import plotly.graph_objects as go
import pytest
from chromium import chromium, seen, text_within
from plotly.offline import get_plotlyjs, get_plotlyjs_version

PROJECT = Path(__file__).parents[2]
STARTS = 60.0

# Each way ends in `window.told`: what it has got hold of, or why it has not.
ATTACK = """
<script>
window.told = {};
async function tried(name, how) {
  try { window.told[name] = String(await how()).slice(0, 200); } catch (why) { window.told[name] = "refused: " + why; }
}
async function of(answer) { return (await answer).text(); }
function framed(address) {
  return new Promise((ready, never) => {
    const frame = document.createElement("iframe");
    frame.onload = () => ready(frame);
    setTimeout(() => never("no frame"), 3000);
    frame.src = address;
    document.body.append(frame);
  });
}
function loaded(address) {
  return new Promise((ready, never) => {
    const script = document.createElement("script");
    script.onload = () => ready("a secret script"); script.onerror = () => never("not loaded");
    script.src = address;
    document.body.append(script);
  });
}
async function attack() {
  await tried("fetch", () => of(fetch("/api/v2/variables")));
  await tried("frame", async () => of((await framed("/login")).contentWindow.fetch("/api/v2/variables")));
  await tried("page", async () => of((await framed("/parity/")).contentWindow.fetch("/api/v2/variables")));
  await tried("blank", async () => of((await framed("about:blank")).contentWindow.fetch("/api/v2/variables")));
  await tried("parent", () => of(parent.fetch("/api/v2/variables")));
  await tried("top", () => of(top.fetch("/api/v2/variables")));
  await tried("opener", () => of(window.open("/login").fetch("/api/v2/variables")));
  await tried("frame element", () => window.frameElement.ownerDocument.cookie + window.frameElement.sandbox);
  await tried("import", async () => JSON.stringify(await import("/api/v2/variables")));
  await tried("script", () => loaded("/api/v2/variables"));
  await tried("sibling", () => parent === window ? "none" : parent.document.body.innerHTML);
  window.told.done = "yes";
}
addEventListener("load", attack);
</script>
<img src="data:," onerror="window.inline = true">
"""
WAYS = {"fetch", "frame", "page", "blank", "parent", "top", "opener", "frame element", "import", "script", "sibling"}


SCRIPT = f"plotly-{get_plotlyjs_version()}.min.js"


def chart() -> str:
    """With its script beside it, as the reports of a lake have it."""
    return str(go.Figure(go.Bar(x=["batch", "stream"], y=[3, 3])).to_html(include_plotlyjs=SCRIPT))


@pytest.fixture(scope="module")
def lake(tmp_path_factory: pytest.TempPathFactory) -> Path:
    lake = tmp_path_factory.mktemp("lake")
    for directory in ("reports", "quality/runs", "quality/docs/validations"):
        (lake / directory).mkdir(parents=True)
    verdict: dict[str, Any] = {
        "run": "reconciliation.one", "at": "2026-03-01T12:00:00", "status": "agree", "candidate": "kappa",
        "sentence": "They agree.", "results": [],
    }  # fmt: skip
    (lake / "reports" / "reconciliation.one.json").write_text(json.dumps(verdict))
    (lake / "reports" / "reconciliation.one.html").write_text(chart().replace("</body>", f"{ATTACK}</body>"))
    (lake / "reports" / SCRIPT).write_text(get_plotlyjs())
    docs = lake / "quality" / "docs"
    (docs / "index.html").write_text(f'<h1>Data Docs</h1><a href="validations/one.html">one</a>{ATTACK}')
    (docs / "validations" / "one.html").write_text(f'<h1>One validation</h1><a href="../index.html">back</a>{ATTACK}')
    return lake


@pytest.fixture(scope="module")
def address(lake: Path) -> Iterator[str]:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    environment = {name: value for name, value in os.environ.items() if not name.startswith(("AIRFLOW", "PYTHON"))}
    server = subprocess.Popen(
        [PROJECT / ".airflow" / "bin" / "python", Path(__file__).with_name("pages_server.py"), str(port)],
        env={**environment, "AIRFLOW_HOME": str(lake / "airflow"), "AIRFLOW_VAR_PARITY_LAKE": str(lake)},
    )
    try:
        wait_for(f"http://127.0.0.1:{port}/login", server)
        yield f"http://127.0.0.1:{port}"
    finally:
        server.terminate()
        server.wait(timeout=20)


def wait_for(url: str, server: subprocess.Popen[bytes]) -> None:
    deadline = time.monotonic() + STARTS
    while time.monotonic() < deadline and server.poll() is None:
        try:
            with urllib.request.urlopen(url, timeout=5):
                return
        except (urllib.error.URLError, OSError):
            time.sleep(0.2)
    raise AssertionError("the pages are not served")


@pytest.fixture(scope="module")
def browser(address: str) -> Iterator[Any]:
    with chromium() as driver:
        driver.get(f"{address}/login")
        yield driver


def told(browser: Any) -> dict[str, str]:
    """What the attack in the document of now has come to."""
    deadline = time.monotonic() + 40
    while time.monotonic() < deadline:
        found = browser.execute_script("return window.told || {}")
        if found.pop("done", None):
            return dict(found)
        time.sleep(0.2)
    raise AssertionError(f"the attack did not come to an end: {found}")


def enter(browser: Any) -> None:
    browser.switch_to.frame(seen(browser, ("tag name", "iframe")))


def test_what_stands_for_airflow_gives_its_secret_to_a_page_of_its_own(browser: Any, address: str) -> None:
    browser.get(f"{address}/login")
    secret = browser.execute_async_script(
        "const done = arguments[0]; fetch('/api/v2/variables').then(a => a.text()).then(done)"
    )
    assert "the secret" in secret


@pytest.mark.parametrize("way", ["in the frames of Airflow", "in the page of its run", "by itself"])
def test_a_script_in_a_report_gets_nothing_and_the_chart_is_drawn(browser: Any, address: str, way: str) -> None:
    page = "parity/runs/reconciliation/one"
    where = {
        "in the frames of Airflow": f"{address}/shown/{page}",
        "in the page of its run": f"{address}/{page}",
        "by itself": f"{address}/parity/reports/reconciliation.one.html",
    }
    browser.get(where[way])
    for _ in range({"in the frames of Airflow": 2, "in the page of its run": 1, "by itself": 0}[way]):
        enter(browser)
    seen(browser, ("css selector", ".js-plotly-plot .main-svg"))
    found = told(browser)
    assert set(found) == WAYS
    assert not [name for name, got in found.items() if "secret" in got or "allow-" in got or "<" in got], found
    assert browser.execute_script("return window.origin") == "null"


def test_data_docs_run_no_script_and_their_links_work_in_a_frame(browser: Any, address: str) -> None:
    browser.get(f"{address}/shown/parity/docs/index.html")
    enter(browser)
    for heading, link in (("Data Docs", "one"), ("One validation", "back")):
        text_within(browser, heading)
        assert browser.execute_script("return [typeof window.told, typeof window.inline]") == ["undefined"] * 2
        seen(browser, ("link text", link)).click()
    text_within(browser, "Data Docs")


def test_the_report_can_be_opened_by_itself_from_the_page_of_its_run(browser: Any, address: str) -> None:
    browser.get(f"{address}/shown/parity/runs/reconciliation/one")
    enter(browser)
    seen(browser, ("partial link text", "by itself")).click()
    seen(browser, ("css selector", ".js-plotly-plot .main-svg"))
