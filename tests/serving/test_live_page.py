"""The live page in a real browser, on a real server: what people see is what the API says, and it moves by itself."""

import json
import time
from collections.abc import Callable, Iterator
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

import httpx
import pytest
from chromium import chromium, screenshot, text_within
from deliveries import land
from pyspark.sql import SparkSession
from served import MINUTES, NASTY, declared, lines_of_minutes, serving, small_settings

from ingestion.ingest import ingest
from lakehouse.lake import Lake, create_lake
from serving.starting import Part, note_starting
from speed_layer.stream import stream

if TYPE_CHECKING:
    from selenium.webdriver.remote.webdriver import WebDriver

HOUR = "2026-03-01T11:00:00.000Z"
"""The hour of the newest window; the last hour of event time begins three minutes after the one before."""
LAST_HOUR = "2026-03-01T10:03:00.000Z"
NEWEST = "2026-03-01T11:02:00.000Z"
TOKEN = "a token of tests, 27 signs".replace(" ", "-")


@pytest.fixture(scope="module")
def driver() -> "Iterator[WebDriver]":
    with chromium(logs=("browser", "performance")) as driven:
        yield driven


@pytest.fixture(scope="module")
def streamed(spark: SparkSession, tmp_path_factory: pytest.TempPathFactory) -> Lake:
    """A lake with a stream and nothing beside it. Its landing lies beside it."""
    directory = tmp_path_factory.mktemp("streamed")
    lake = create_lake(directory / "lake")
    (directory / "landing").mkdir()
    more(spark, lake, lines_of_minutes(60, MINUTES))
    return lake


@pytest.fixture(scope="module")
def moving(streamed: Lake) -> Iterator[str]:
    with serving(streamed.path) as listening:
        yield listening


def more(spark: SparkSession, lake: Lake, lines: list[str]) -> None:
    """Events land and are streamed."""
    landing, settings = lake.path.parent / "landing", small_settings()
    land(landing, f"{len(list(landing.iterdir()))}.jsonl", lines)
    ingest(spark, lake, landing, settings)
    stream(spark, lake, declared(settings, ("team_scores", "level_ups")), settings)


def opened(driver: "WebDriver", address: str) -> None:
    """The page, as soon as it has shown its first answers. What another said before is forgotten."""
    driver.get("about:blank")
    for kind in ("browser", "performance"):
        driver.get_log(kind)
    driver.get(address)
    text_within(driver, r"\bLive\b")


def asked(address: str, path: str, **parameters: Any) -> Any:
    answer = httpx.get(f"{address}{path}", params=parameters)
    answer.raise_for_status()
    return answer.json()


def texts(driver: "WebDriver", selector: str) -> list[str]:
    """What is shown in every element that the selector finds."""
    found = driver.execute_script(
        "return [...document.querySelectorAll(arguments[0])].map((each) => each.innerText.trim())", selector
    )
    return list(found)


def only(driver: "WebDriver", selector: str) -> str:
    [found] = texts(driver, selector)
    return found


def until(condition: Callable[[], bool], seconds: float = 30) -> None:
    deadline = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < deadline, "it did not come in time"
        time.sleep(0.1)


def teams(driver: "WebDriver") -> dict[str, list[str]]:
    """The leaderboard: bubbles in the minute, in the hour, level-ups."""
    rows = driver.execute_script(
        "return [...document.querySelectorAll('#board tbody tr')].map("
        "(row) => [...row.cells].slice(1).map((cell) => cell.innerText.trim()))"
    )
    return {team: rest for team, *rest in rows}


def test_the_leaderboard_is_what_the_stream_says_of_the_newest_minute_and_its_hour(
    driver: "WebDriver", address: str
) -> None:
    opened(driver, address)
    rows = asked(address, "/results/team_scores", **{"from": HOUR})["rows"]
    ups = asked(address, "/results/level_ups", **{"from": HOUR})["rows"]
    shown = teams(driver)
    assert set(shown) == {"blue", "red", NASTY}
    for team, (minute, hour, level_ups) in shown.items():
        mine = [row for row in rows if row["team_id"] == team]
        assert int(hour.replace(",", "")) == sum(row["bubbles"] for row in mine)
        assert int(minute) == sum(row["bubbles"] for row in mine if row["window_start"] == NEWEST)
        reached = [row for row in ups if row["team_id"] == team]
        now = any(row["window_start"] == NEWEST for row in reached)
        assert level_ups.split() == [*(["▲", "now"] if now else []), str(len(reached))]
    assert "▲" in shown["blue"][2]
    assert list(shown) == ["blue", "red", NASTY]


def test_the_layers_are_compared_cell_by_cell_where_both_have_settled(driver: "WebDriver", address: str) -> None:
    opened(driver, address)
    said = dict(zip(texts(driver, "#layers-words dt"), texts(driver, "#layers-words dd"), strict=True))
    cells: dict[str, dict[tuple[str, str], Any]] = {}
    batch = asked(address, "/results/team_scores", layer="batch", **{"from": LAST_HOUR})
    for layer in ("kappa", "batch", "legacy"):
        rows = asked(address, "/results/team_scores", layer=layer, **{"from": LAST_HOUR})["rows"]
        ended = [row for row in rows if row["window_end"] <= batch["settled_before"]]
        cells[layer] = {(row["team_id"], row["window_start"]): {**row, "settled": None} for row in ended}
    differing = {
        layer: {
            cell for cell in cells["batch"].keys() | cells[layer] if cells["batch"].get(cell) != cells[layer].get(cell)
        }
        for layer in ("kappa", "legacy")
    }
    # The only differences of the stream are the windows that late events repaired after batch had run.
    assert differing["kappa"] == {("blue", f"2026-03-01T10:{minute}:00.000Z") for minute in (20, 50)}
    assert said["Stream"] == f"equal in all {len(cells['batch']) - 2} cells."
    assert "2 cells that late events repaired since batch ran" in said["Not judged"]
    assert said["Control"].startswith(f"differs in {len(differing['legacy'])} of ")
    assert "at log version 2" in said["Compared"]
    rows = _table(driver, "#layers-table")
    assert rows[0][0] == "11:02"
    assert {row[-1] for row in rows} == {"in flight", "not in batch yet", "repaired since", "settled"}
    sums = {}
    for row in asked(address, "/results/team_scores", **{"from": LAST_HOUR})["rows"]:
        minute = row["window_start"][11:16]
        sums[minute] = sums.get(minute, 0) + row["bubbles"]
    assert {row[0]: int(row[1].replace(",", "")) for row in rows} == sums


def test_counts_lags_ages_and_verdicts_are_those_of_the_api(driver: "WebDriver", address: str) -> None:
    opened(driver, address)
    standing = asked(address, "/results")
    log = standing["log"]
    names = {"events": "events", "late": "late", "duplicate": "duplicates", "quarantined": "quarantined"}
    for shown, name in names.items():
        assert only(driver, f"#count-{shown} b") == f"{log[name]:,}"
    assert only(driver, "#count-mark b") == log["high_water"][11:19]
    layers = next(each["layers"] for each in standing["results"] if each["name"] == "team_scores")
    for layer, found in layers.items():
        versions = [f"version {found['log_version']}", str(found["lag_versions"]), str(found["lag_events"])]
        assert texts(driver, f"#lag-{layer} td") == versions
        age = float(driver.execute_script(f"return document.getElementById('age-{layer}').dataset.seconds"))
        assert abs(age - found["age_seconds"]) < 20
    verdicts = asked(address, "/reconciliations")["reconciliations"]
    rows = driver.execute_script(
        "return [...document.querySelectorAll('#verdicts tbody tr')].map("
        "(row) => [...row.cells].slice(1, 8).map((cell) => cell.innerText.trim()))"
    )
    side, sign = {"kappa": "stream", "legacy": "control"}, {"agree": "✓", "differ": "✗"}
    numbers = ("compared", "equal", "differing", "in_flight", "unexplained")
    assert rows == [
        [side[each["candidate"]], f"{sign[each['status']]} {each['status']}", *(f"{each[name]:,}" for name in numbers)]
        for each in verdicts
    ]
    assert "processing time" in only(driver, "#verdicts tbody tr:first-child td:last-child")
    assert only(driver, "#verdict-now [data-candidate=kappa] b") == "Stream and batch agree:"


def test_a_team_id_that_is_html_is_shown_as_text_and_runs_nothing(driver: "WebDriver", address: str) -> None:
    opened(driver, address)
    assert NASTY in teams(driver)
    assert driver.execute_script("return [window.broken ?? null, document.images.length]") == [None, 0]


def test_there_is_no_console_error_and_no_request_that_leaves_the_machine(driver: "WebDriver", address: str) -> None:
    opened(driver, address)
    requests: list[str] = []

    def asked_twice() -> bool:
        entries = (json.loads(entry["message"])["message"] for entry in driver.get_log("performance"))
        sent = (entry["params"] for entry in entries if entry["method"] == "Network.requestWillBeSent")
        requests.extend(each["request"]["url"] for each in sent)
        return requests.count(f"{address}/results") >= 2

    until(asked_twice)
    hosts = {urlsplit(url).netloc for url in requests if not url.startswith("data:")}
    assert hosts == {urlsplit(address).netloc}, requests
    assert driver.get_log("browser") == []


def test_a_phone_shows_all_of_it_without_scrolling_sideways_in_light_and_in_dark(
    driver: "WebDriver", address: str
) -> None:
    size = {"width": 360, "height": 740, "deviceScaleFactor": 1, "mobile": True}
    driver.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", size)
    try:
        backgrounds = []
        for scheme in ("light", "dark"):
            feature = {"name": "prefers-color-scheme", "value": scheme}
            driver.execute_cdp_cmd("Emulation.setEmulatedMedia", {"features": [feature]})
            opened(driver, address)
            driver.execute_script("document.querySelectorAll('details').forEach((each) => { each.open = true; })")
            until(lambda: len(texts(driver, "details .scroll")) == 2)
            width = driver.execute_script("return document.documentElement.scrollWidth")
            assert width == 360
            backgrounds.append(driver.execute_script("return getComputedStyle(document.body).backgroundColor"))
            screenshot(driver, f"live-page-phone-{scheme}")
        assert len(set(backgrounds)) == 2
    finally:
        driver.execute_cdp_cmd("Emulation.clearDeviceMetricsOverride", {})
        driver.execute_cdp_cmd("Emulation.setEmulatedMedia", {"features": []})


def test_every_control_is_reached_by_the_tab_key_and_the_keyboard_works_it(driver: "WebDriver", address: str) -> None:
    from selenium.webdriver.common.action_chains import ActionChains
    from selenium.webdriver.common.keys import Keys

    opened(driver, address)
    wanted = driver.execute_script(
        "return [...document.querySelectorAll('a, button, summary, input')].filter((each) => each.checkVisibility())"
        ".map((each) => each.innerText.trim())"
    )
    assert len(wanted) >= 6
    reached: list[str] = []
    outlines = set()
    for _ in range(len(wanted) + 2):
        ActionChains(driver).send_keys(Keys.TAB).perform()
        name, outline = driver.execute_script(
            "const here = document.activeElement;"
            "return here === document.body ? ['', 'auto'] : [here.innerText.trim(), getComputedStyle(here).outlineStyle]"
        )
        reached.append(name)
        outlines.add(outline)
        if reached[-1].startswith("minute"):
            ActionChains(driver).send_keys(Keys.ENTER).perform()
    assert set(wanted) <= {text.removesuffix(" ↓") for text in reached} | set(reached)
    assert outlines <= {"solid", "auto"}, "the focus has to be seen"
    assert driver.execute_script("return document.getElementById('by-window').ariaSort") == "descending"
    order = [int(minute.replace(",", "")) for minute, _, _ in teams(driver).values()]
    assert order == sorted(order, reverse=True)


def test_without_batch_control_and_verdicts_it_says_so_and_shows_the_rest(driver: "WebDriver", moving: str) -> None:
    opened(driver, moving)
    said = text_within(driver, "No verdict has been given on this lake yet")
    assert "The batch layer has not run on this lake." in said
    assert "This lake has no control." in said
    assert "nothing: the batch layer has not computed team_scores yet." in said
    assert "blue" in teams(driver)
    assert driver.get_log("browser") == []


def test_it_updates_by_itself_when_new_events_were_streamed(
    driver: "WebDriver", moving: str, streamed: Lake, spark: SparkSession
) -> None:
    opened(driver, moving)
    driver.execute_script("window.untouched = true")
    assert "newest window, 11:02" in only(driver, "#board-note")
    more(spark, streamed, lines_of_minutes(MINUTES, MINUTES + 2))
    rows = asked(moving, "/results/team_scores", **{"from": HOUR})["rows"]
    until(lambda: int(teams(driver)["red"][1]) == sum(row["bubbles"] for row in rows if row["team_id"] == "red"))
    until(lambda: "newest window, 11:04" in only(driver, "#board-note"))
    assert only(driver, "#count-events b") == str(asked(moving, "/results")["log"]["events"])
    assert only(driver, "#lag-kappa td:nth-of-type(2)") == "0"
    assert driver.execute_script("return window.untouched"), "the page was loaded again"


def test_it_says_that_nobody_answers_keeps_what_it_has_and_recovers(driver: "WebDriver", served_lake: Lake) -> None:
    with serving(served_lake.path) as listening:
        opened(driver, listening)
    text_within(driver, r"The server does not answer\.[\s\S]*next try in \d+ s")
    assert "blue" in teams(driver)
    with serving(served_lake.path, "--port", str(urlsplit(listening).port)):
        driver.find_element("id", "again").click()
        text_within(driver, r"\bLive\b")
        assert driver.find_element("id", "again").is_displayed() is False


def test_it_asks_for_the_token_that_the_server_wants(driver: "WebDriver", served_lake: Lake) -> None:
    with serving(served_lake.path, PARITY_SERVING__TOKEN=TOKEN) as listening:
        driver.get(listening)
        text_within(driver, "This server wants a token")
        assert "blue" not in text_within(driver, "Token")
        field = driver.switch_to.active_element
        field.send_keys("something else entirely\n")
        text_within(driver, "did not take this token")
        driver.switch_to.active_element.send_keys(f"{TOKEN}\n")
        text_within(driver, r"\bLive\b")
        assert "blue" in teams(driver)
        driver.refresh()
        text_within(driver, r"\bLive\b")
        driver.execute_script("sessionStorage.clear()")


def test_it_says_from_its_first_answer_what_is_starting_and_no_more_when_all_is_there(
    driver: "WebDriver", tmp_path: Path
) -> None:
    lake, begun_at = create_lake(tmp_path / "lake"), datetime.now(UTC) - timedelta(seconds=9)
    spark_starts = Part("Spark", "starting", "starts", begun_at.isoformat())
    waits = Part("Stream of team_scores", said="waits for Spark and for events")
    note_starting(lake, [Part("Server", "ready", "answers", seconds=1.0), spark_starts, waits], begun_at=begun_at)

    def shown() -> list[list[str]]:
        rows = driver.execute_script(
            "return [...document.querySelectorAll('#starting-parts tr')].map("
            "(row) => [...row.cells].slice(1).map((cell) => cell.innerText.trim()))"
        )
        return [list(row) for row in rows]

    with serving(lake.path) as listening:
        opened(driver, listening)
        assert driver.find_element("id", "starting").is_displayed()
        assert "1 of 3 are there after" in only(driver, "#starting-note")
        assert texts(driver, ".age p") == ["Not yet."] * 3
        server, starts, waiting = shown()
        assert server == ["Server", "answers", "1 s"]
        assert starts[:2] == ["Spark", "starts"] and 9 <= int(starts[2].removesuffix(" s")) < 60
        assert waiting == ["Stream of team_scores", "waits for Spark and for events", ""]
        until(lambda: shown()[1][2] != starts[2])  # it ticks
        ready = [replace(each, state="ready", seconds=12.0) for each in (spark_starts, waits)]
        note_starting(lake, ready, begun_at=begun_at)
        until(lambda: not driver.find_element("id", "starting").is_displayed())
        assert driver.get_log("browser") == []


def test_a_lake_on_which_nothing_starts_shows_nothing_of_it(driver: "WebDriver", address: str) -> None:
    opened(driver, address)
    assert not driver.find_element("id", "starting").is_displayed()


def test_an_empty_lake_is_no_fault(driver: "WebDriver", tmp_path: Path) -> None:
    lake = create_lake(tmp_path / "lake")
    with serving(lake.path) as listening:
        opened(driver, listening)
        assert "No event has come into this lake yet." in text_within(driver, "no event yet")
        assert only(driver, "#count-events b") == "0"
        assert driver.get_log("browser") == []


def _table(driver: "WebDriver", details: str) -> list[list[str]]:
    driver.execute_script("document.querySelector(arguments[0]).open = true", details)
    until(lambda: bool(texts(driver, f"{details} tbody")))
    rows = driver.execute_script(
        "return [...document.querySelectorAll(arguments[0] + ' tbody tr')].map("
        "(row) => [...row.cells].map((cell) => cell.textContent))",
        details,
    )
    return list(rows)
