"""A real Airflow, used as people use it: in a browser, through its API, and while things die around it.

One Airflow and one small lake for all of these; they follow one another.
"""

import json
import os
import re
import signal
import stat
import urllib.error
import urllib.request
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import psutil
import pytest
from chromium import chromium, screenshot, seen, text_within
from game import catalogue
from pyspark.sql import SparkSession
from real_airflow import RealAirflow, started
from small_day import DAY, land_small_day, spoil_batch

from batch_layer.recompute import recompute
from ingestion.ingest import ingest
from lakehouse.lake import create_lake
from lakehouse.settings import load_settings
from speed_layer.stream import stream

if TYPE_CHECKING:
    from selenium.webdriver.remote.webdriver import WebDriver

RESULT = catalogue()["team_scores"]
SCORES = {"result": ["team_scores"]}
GIGABYTE = 1e9
RESULTS_FIELD = "//input[@name='element_result']/ancestor::div[.//input[@role='combobox']][1]//input[@role='combobox']"


@pytest.fixture(scope="module")
def airflow(spark: SparkSession, tmp_path_factory: pytest.TempPathFactory) -> Iterator[RealAirflow]:
    directory = tmp_path_factory.mktemp("real")
    lake, landing, settings = create_lake(directory / "lake"), directory / "landing", load_settings()
    land_small_day(landing)
    ingest(spark, lake, landing, settings)
    stream(spark, lake, [RESULT], settings)
    recompute(spark, lake, RESULT, settings)
    with started(directory / "home", lake.path, landing) as real:
        real.until(lambda: len(real.api("GET", "/dags")["dags"]) == 7)
        yield real


@pytest.fixture(scope="module")
def browser(airflow: RealAirflow) -> "Iterator[WebDriver]":
    """Logged in, as a person would."""
    with chromium() as driver:
        driver.get(airflow.address)
        seen(driver, ("name", "username")).send_keys("admin")
        driver.find_element("name", "password").send_keys(airflow.password)
        driver.find_element("css selector", "button[type=submit]").click()
        text_within(driver, "Dags")
        yield driver


def test_it_says_where_it_is_and_how_to_log_in(airflow: RealAirflow) -> None:
    assert airflow.address in airflow.said and airflow.password in airflow.said
    assert stat.S_IMODE((airflow.home / "passwords.json").stat().st_mode) == 0o600
    assert stat.S_IMODE(airflow.home.stat().st_mode) == 0o700
    listening = [
        each for each in psutil.net_connections("tcp") if each.status == "LISTEN" and each.pid in _family(airflow)
    ]
    assert listening and {each.laddr.ip for each in listening} == {"127.0.0.1"}


def test_the_dags_are_there_and_none_with_a_clock_starts_by_itself(airflow: RealAirflow) -> None:
    assert not airflow.api("GET", "/importErrors")["import_errors"]
    paused = {each["dag_id"] for each in airflow.api("GET", "/dags")["dags"] if each["is_paused"]}
    assert paused == {"batch_recompute", "data_quality", "maintenance", "stream_increment"}


def test_a_wrong_value_is_refused_in_the_form_and_a_right_one_brings_the_verdict(
    airflow: RealAirflow, browser: "WebDriver"
) -> None:
    from selenium.webdriver.common.keys import Keys

    browser.get(f"{airflow.address}/dags/reconciliation")
    seen(browser, ("css selector", "button[aria-label='Trigger Dag']")).click()
    candidate = seen(browser, ("name", "element_candidate"))
    screenshot(browser, "airflow-trigger-form")
    candidate.send_keys(Keys.CONTROL, "a")
    candidate.send_keys("nobody", Keys.TAB)
    _press(browser, "Trigger")
    text_within(
        browser, "Invalid input for param candidate: 'nobody' is not possible. Allowed: kappa, legacy, or a version"
    )
    assert "Failed validating" not in browser.find_element("tag name", "body").text
    screenshot(browser, "airflow-refused")
    assert not airflow.runs("reconciliation")

    candidate.send_keys(Keys.CONTROL, "a")
    candidate.send_keys("kappa", Keys.TAB)
    browser.find_element("xpath", RESULTS_FIELD).send_keys("team_scores", Keys.ENTER)
    _press(browser, "Trigger")
    [run] = airflow.until(lambda: airflow.runs("reconciliation"))
    assert run["conf"]["result"] == ["team_scores"]
    assert airflow.ended("reconciliation", run["dag_run_id"])["state"] == "success"
    log = airflow.log("reconciliation", run["dag_run_id"], "reconcile")
    assert "$ parity reconcile --lake" in log and "The stream and the batch layer agree" in log
    told = airflow.log("reconciliation", run["dag_run_id"], "verdict", mapped=0)
    assert "--as-kept" in told and "The stream and the batch layer agree" in told and "Spark starts" not in told
    assert airflow.tasks("reconciliation", run["dag_run_id"])["verdict"]["rendered_map_index"] == "team_scores"

    browser.get(airflow.address)
    seen(browser, ("xpath", "//a[normalize-space()='Parity']")).click()
    browser.switch_to.frame(seen(browser, ("tag name", "iframe")))
    text_within(browser, "The layers agree")
    browser.find_element("partial link text", "reconciliation.manual").click()
    text_within(browser, "they are equal in all 10 settled keys")
    browser.switch_to.frame(seen(browser, ("tag name", "iframe")))
    text_within(browser, "The layers agree")
    browser.switch_to.default_content()
    screenshot(browser, "airflow-report-from-navigation")

    browser.get(f"{airflow.address}/dags/reconciliation/runs/{run['dag_run_id']}")
    seen(browser, ("xpath", "//a[normalize-space()='Parity'][contains(@href, 'parity-run')]")).click()
    browser.switch_to.frame(seen(browser, ("tag name", "iframe")))
    text_within(browser, "The layers agree")
    browser.switch_to.default_content()
    screenshot(browser, "airflow-verdict-on-the-run")


def _press(browser: "WebDriver", label: str) -> None:
    """With the keyboard: a message may lie over the button."""
    from selenium.webdriver.common.keys import Keys

    browser.find_elements("xpath", f"//button[normalize-space()='{label}']")[-1].send_keys(Keys.ENTER)


@pytest.mark.parametrize("page", ["/parity/", "/parity/runs/reconciliation/x", "/parity/docs/index.html"])
def test_without_a_login_the_pages_are_refused(airflow: RealAirflow, page: str) -> None:
    with pytest.raises(urllib.error.HTTPError) as refused:
        urllib.request.urlopen(f"{airflow.address}{page}")
    assert refused.value.code == 401


def test_the_api_refuses_what_the_form_refuses(airflow: RealAirflow) -> None:
    with pytest.raises(AssertionError, match="400 .*Invalid input for param first"):
        airflow.trigger("reconciliation", {"first": "yesterday"})
    with pytest.raises(AssertionError, match="400 .*has no field 'unknown': nothing was queued"):
        airflow.trigger("reconciliation", {"unknown": "x"})


def reject(airflow: RealAirflow, browser: "WebDriver", dag: str, run: str) -> None:
    """Answer as a person does, by the link of the Parity page; and again, if Airflow asks again.

    It does so where an answer comes within seconds: the end of the process that has asked is then taken for that of the task
    that was to go on, and the task is tried once more.
    """
    for tries in (1, 2, 3):
        browser.get(f"{airflow.address}/plugin/parity")
        browser.switch_to.frame(seen(browser, ("tag name", "iframe")))
        browser.find_element("partial link text", "The layers differ").click()
        text_within(browser, "The stream and the batch layer differ")
        _press(browser, "Reject")

        def taken_or_asked_again(tries: int = tries) -> str | bool:
            decision = airflow.tasks(dag, run)["decision"]
            asked_again = decision["state"] == "awaiting_input" and decision["try_number"] > tries
            return "asked again" if asked_again else decision["state"] == "success" and "taken"

        if airflow.until(taken_or_asked_again) == "taken":
            return


def test_a_difference_stays_failed_and_a_rejected_repair_is_recorded(
    airflow: RealAirflow, browser: "WebDriver"
) -> None:
    spoil_batch(airflow.lake)  # until the backfill of the next test
    run = airflow.trigger("reconciliation", SCORES)
    assert airflow.ended("reconciliation", run)["state"] == "failed"
    verdict = airflow.tasks("reconciliation", run)["verdict"]
    assert (verdict["state"], verdict["try_number"], verdict["rendered_map_index"]) == ("failed", 1, "team_scores")
    assert "The stream and the batch layer differ" in airflow.log("reconciliation", run, "verdict", mapped=0)

    [asked] = airflow.until(lambda: airflow.runs("repair_after_reconciliation"))
    repair = asked["dag_run_id"]
    airflow.until(lambda: airflow.tasks(asked["dag_id"], repair).get("decision", {}).get("state") == "awaiting_input")
    browser.get(f"{airflow.address}/dags/{asked['dag_id']}/runs/{repair}/tasks/decision/required_actions")
    text_within(browser, "The stream and the batch layer differ")
    text_within(browser, "The last time it took [0-9.]+ s, over the whole log")
    screenshot(browser, "airflow-decision")

    browser.get(f"{airflow.address}/plugin/parity")
    browser.switch_to.frame(seen(browser, ("tag name", "iframe")))
    text_within(browser, "Waiting for a person")
    browser.switch_to.default_content()
    screenshot(browser, "airflow-parity-page-pending")
    reject(airflow, browser, asked["dag_id"], repair)
    assert airflow.ended(asked["dag_id"], repair)["state"] == "success"
    assert airflow.tasks(asked["dag_id"], repair)["recompute_batch"]["state"] == "skipped"
    assert airflow.run("reconciliation", run)["state"] == "failed"

    browser.get(f"{airflow.address}/plugin/parity")
    browser.switch_to.frame(seen(browser, ("tag name", "iframe")))
    text_within(browser, r"Reject\s+admin")
    browser.switch_to.default_content()
    screenshot(browser, "airflow-parity-page")


def test_a_backfilled_day_is_published_and_starts_a_reconciliation_of_that_day(airflow: RealAirflow) -> None:
    """The other results were never streamed here: the reconciliation of all of them is tried twice and says so."""
    airflow.pause("batch_recompute", False)
    days = {"from_date": f"{DAY}T00:00:00Z", "to_date": f"{DAY}T00:00:00Z"}
    more = {"max_active_runs": 1, "run_backwards": False, "dag_run_conf": {}, "reprocess_behavior": "none"}
    airflow.api("POST", "/backfills", {"dag_id": "batch_recompute", **days, **more})
    [run] = airflow.until(lambda: [each for each in airflow.runs("batch_recompute") if each["partition_key"] == DAY])
    assert airflow.ended("batch_recompute", run["dag_run_id"])["state"] == "success"
    [judged] = airflow.until(lambda: [each for each in airflow.runs("reconciliation") if each["partition_key"] == DAY])
    assert airflow.ended("reconciliation", judged["dag_run_id"])["state"] == "failed"
    pin = airflow.tasks("reconciliation", judged["dag_run_id"])["pin"]
    assert (pin["state"], pin["try_number"]) == ("failed", 2)
    assert "The stream of active_players@1 has not run" in airflow.log("reconciliation", judged["dag_run_id"], "pin", 2)
    # Airflow 3.3.2 answers 500 as long as a run that they started is queued: it cannot tell of one without a start.
    airflow.until(lambda: all(each["start_date"] for each in airflow.runs("reconciliation")))
    events = airflow.api("GET", "/assets/events?limit=100")["asset_events"]
    published = {(each["name"], each["partition_key"]) for each in events}
    assert {(f"batch_{name}", DAY) for name in catalogue()} <= published


def test_the_graph_of_the_assets_leads_from_the_events_to_the_verdict(
    airflow: RealAirflow, browser: "WebDriver"
) -> None:
    drawn = airflow.graph("verdict")
    assert {("events", "kappa_results"), ("kappa_results", "verdict"), ("batch_team_scores", "verdict")} <= drawn
    [found] = airflow.api("GET", "/assets?name_pattern=kappa_results")["assets"]
    browser.get(f"{airflow.address}/assets/{found['id']}")
    text_within(browser, "kappa_results")
    screenshot(browser, "airflow-asset-graph")


def test_two_runs_of_the_stream_do_not_overlap(airflow: RealAirflow) -> None:
    airflow.pause("stream_increment", False)
    first, second = (airflow.trigger("stream_increment", SCORES) for _ in range(2))
    runs = [airflow.ended("stream_increment", each) for each in (first, second)]
    assert [run["state"] for run in runs] == ["success", "success"]
    assert max(run["start_date"] for run in runs) >= min(run["end_date"] for run in runs)
    airflow.pause("stream_increment", True)


def test_a_command_that_is_killed_half_way_is_tried_again(airflow: RealAirflow) -> None:
    run = airflow.trigger("reconciliation", SCORES)
    airflow.until(lambda: _command(airflow, "reconcile")).send_signal(signal.SIGKILL)
    assert airflow.ended("reconciliation", run)["state"] == "success"
    assert airflow.tasks("reconciliation", run)["reconcile"]["try_number"] == 2
    assert "ended with exit code -9" in airflow.log("reconciliation", run, "reconcile")
    assert _verdict(airflow, run) == "agree"


def test_a_scheduler_that_is_killed_comes_back_and_the_run_ends_well(airflow: RealAirflow) -> None:
    run = airflow.trigger("reconciliation", SCORES)
    airflow.until(lambda: _command(airflow, "reconcile"))
    [scheduler] = [each for each in psutil.Process(airflow.process.pid).children() if "scheduler" in _line(each)]
    scheduler.send_signal(signal.SIGKILL)
    assert airflow.ended("reconciliation", run)["state"] == "success"
    assert _verdict(airflow, run) == "agree"
    assert "The scheduler ended with -9; it is started again." in airflow.process.stdout.readline()


def _verdict(airflow: RealAirflow, run: str) -> str:
    return str(json.loads((airflow.lake / "reports" / f"reconciliation.{run}.json").read_text())["status"])


def test_it_is_content_with_little_memory_and_leaves_nothing_behind(airflow: RealAirflow) -> None:
    family = _family(airflow)
    used = sum(_own_memory(pid) for pid in family)
    assert 0.2 * GIGABYTE < used < 3 * GIGABYTE, f"{used / GIGABYTE:.2f} GB"
    os.kill(airflow.process.pid, signal.SIGINT)
    assert airflow.process.wait(timeout=120) == 0
    assert "Airflow has stopped." in airflow.process.stdout.read()
    assert not [pid for pid in family if psutil.pid_exists(pid)]


def _family(airflow: RealAirflow) -> set[int]:
    parent = psutil.Process(airflow.process.pid)
    return {parent.pid, *(each.pid for each in parent.children(recursive=True))}


def _command(airflow: RealAirflow, name: str) -> psutil.Process | None:
    """The process of a `parity` command that Airflow runs."""
    running = (psutil.Process(pid) for pid in _family(airflow) if psutil.pid_exists(pid))
    return next((each for each in running if f"bin/parity {name} " in _line(each)), None)


def _line(process: psutil.Process) -> str:
    try:
        return " ".join(process.cmdline())
    except (psutil.NoSuchProcess, psutil.ZombieProcess):
        return ""


def _own_memory(pid: int) -> int:
    """Its share of what it uses, in bytes: pages that several processes share count once in all."""
    try:
        rollup = Path(f"/proc/{pid}/smaps_rollup").read_text()
    except OSError:  # it has ended, and nobody has asked for its exit code yet
        return 0
    return int(re.search(r"^Pss:\s+(\d+)", rollup, flags=re.MULTILINE)[1]) * 1024
