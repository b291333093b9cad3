"""Each DAG run for real on one small lake, from landing files to a swapped version: the tests follow one another.

`dag.test()` runs the tasks of a DAG in this process, with the real commands. Questions to people are answered through
Airflow's own API.
"""

import json
import os
import re
import subprocess
import threading
import time
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import Any
from urllib.parse import quote

import pytest
from airflow.dag_processing.dagbag import DagBag
from airflow.models.asset import AssetEvent
from airflow.models.dagrun import DagRun
from airflow.sdk.exceptions import AirflowFailException
from airflow.utils.session import create_session
from fastapi.testclient import TestClient
from small_day import DAY, land_small_day, spoil_batch

from parity_command import PARITY, PROJECT, ParityOperator

HOME = Path(os.environ["AIRFLOW_HOME"])
LAKE = HOME / "lake"
SCORES = {"result": ["team_scores"]}
JUDGED = {"pin": "success", "reconcile": "success", "results": "success"}

pytestmark = pytest.mark.usefixtures("database")


@pytest.fixture(scope="module")
def api() -> Iterator[TestClient]:
    """Airflow's API as an administrator."""
    from airflow.api_fastapi.app import create_app
    from airflow.api_fastapi.auth.managers.simple.user import SimpleAuthManagerUser

    app = create_app(apps="core")
    token = app.state.auth_manager.generate_jwt(SimpleAuthManagerUser(username="tester", role="admin"))
    with TestClient(app, headers={"Authorization": f"Bearer {token}"}) as client:
        yield client


def _ran(name: str, conf: dict[str, Any] | None = None) -> tuple[DagRun, dict[str, str]]:
    """A run of the DAG, and what became of its tasks. Read anew each time: `test` leaves its conf in the DAG's params."""
    bag = DagBag(Path(os.environ["AIRFLOW__CORE__DAGS_FOLDER"], f"{name}.py"))
    run = bag.dags[name].test(run_conf=conf, logical_date=datetime.now(UTC))
    with create_session() as session:
        return run, {ti.task_id: str(ti.state) for ti in run.get_task_instances(session=session)}


def _verdicts(run: DagRun) -> dict[str, tuple[str, int]]:
    """What became of the task of each result, and in how many tries."""
    with create_session() as session:
        judged = [each for each in run.get_task_instances(session=session) if each.task_id == "verdict"]
        return {str(each.rendered_map_index): (str(each.state), each.try_number) for each in judged}


def _report(run: DagRun, kind: str = "reports") -> dict[str, Any]:
    return dict(json.loads((LAKE / kind / f"{run.dag_id}.{run.run_id}.json").read_text()))


def _failures() -> list[dict[str, Any]]:
    return [json.loads(line) for line in (LAKE / "reports" / "failures.jsonl").read_text().splitlines()]


def _parity(*command: str) -> str:
    done = subprocess.run([PARITY, *command], cwd=PROJECT, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    return done.stdout


class Answers(threading.Thread):
    """Answers the first question that a DAG asks, as a person would under "Required actions"."""

    def __init__(self, api: TestClient, dag: str, option: str) -> None:
        super().__init__(daemon=True)
        self.api, self.dag, self.option = api, dag, option
        self.question: dict[str, Any] = {}
        self.page = ""  # of Parity, as long as nobody has answered
        self.start()

    def run(self) -> None:
        deadline = time.monotonic() + 240
        while time.monotonic() < deadline:
            asked = self.api.get(f"/api/v2/dags/{self.dag}/dagRuns/~/hitlDetails", params={"response_received": False})
            for each in asked.json()["hitl_details"]:
                ti = each["task_instance"]
                if ti["state"] == "awaiting_input":
                    self.question, self.page = each, self.api.get("/parity/").text
                    path = f"/api/v2/dags/{self.dag}/dagRuns/{ti['dag_run_id']}/taskInstances/{ti['task_id']}/-1/hitlDetails"
                    answer = self.api.patch(path, json={"chosen_options": [self.option], "params_input": {}})
                    assert answer.status_code == 200, answer.text
                    return
            time.sleep(1)


def test_without_a_lake_the_reason_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("AIRFLOW_VAR_PARITY_LAKE", str(HOME / "nowhere"))
    run, states = _ran("batch_recompute")
    assert run.state == "failed" and set(states.values()) == {"failed", "upstream_failed"}
    assert not (HOME / "nowhere").exists()


def test_the_stream_catches_up_with_what_has_landed() -> None:
    land_small_day(HOME / "landing")
    run, states = _ran("stream_increment", SCORES)
    assert run.state == "success" and states == {"ingest": "success", "stream": "success"}
    status = json.loads(_parity("status", "--lake", str(LAKE), "--format", "json"))
    assert status["log"]["events"] == 61 and status["log"]["duplicates"] == 6


def test_a_day_is_recomputed_in_batch() -> None:
    run, states = _ran("batch_recompute", {"day": DAY})
    assert run.state == "success" and states == {"pin": "success", "recompute": "success", "publish": "success"}


def test_a_day_that_is_not_settled_is_computed_and_not_published() -> None:
    """The heartbeat that settles the small day is two days later: on that day itself nothing is settled."""
    run, states = _ran("batch_recompute", {"day": "2026-03-03"})
    assert run.state == "success" and states["recompute"] == "success"
    with create_session() as session:
        events = session.query(AssetEvent).filter_by(source_run_id=run.run_id)
        assert {event.partition_key for event in events} == {"2026-03-02"}, "the day before is published again"


def test_the_layers_agree_and_no_repair_is_offered() -> None:
    run, states = _ran("reconciliation", SCORES)
    assert run.state == "success"
    assert states == {**JUDGED, "verdict": "success", "agreed": "success", "offer_repair": "skipped"}
    assert _report(run)["status"] == "agree"
    assert _verdicts(run) == {"team_scores": ("success", 1)}
    assert "The layers agree" in (LAKE / "reports" / f"{run.dag_id}.{run.run_id}.html").read_text()


def test_a_day_without_events_is_agreed_on() -> None:
    day = {"first": "2026-03-02T00:00:00Z", "to": "2026-03-03T00:00:00Z"}
    run, _ = _ran("reconciliation", {**SCORES, **day, "recompute": True})
    assert run.state == "success"
    assert "the log gives team_scores no row there" in _report(run)["sentence"]


def test_an_interval_that_ends_before_it_starts_is_refused_and_nothing_is_offered() -> None:
    run, states = _ran("reconciliation", {"first": "2026-03-02T00:00:00Z", "to": "2026-03-01T00:00:00Z"})
    assert run.state == "failed" and states["pin"] == "failed" and states["offer_repair"] == "skipped"
    assert "The interval ends before it starts" in _failures()[-1]["error"]


def test_a_control_that_differs_is_as_it_should_be_and_no_repair_is_offered() -> None:
    _parity("legacy", "--lake", str(LAKE))
    run, states = _ran("reconciliation", {**SCORES, "candidate": "legacy"})
    assert run.state == "failed"
    assert states == {**JUDGED, "verdict": "failed", "agreed": "upstream_failed", "offer_repair": "skipped"}
    assert (_report(run)["status"], _report(run)["heading"]) == ("differ", "The control differs, as it should")
    with create_session() as session:
        assert not session.query(DagRun).filter_by(dag_id="repair_after_reconciliation").all()


def test_a_difference_fails_the_run_at_once_and_asks_for_a_decision() -> None:
    spoil_batch(LAKE)
    run, states = _ran("reconciliation", SCORES)
    assert run.state == "failed"
    assert states == {**JUDGED, "verdict": "failed", "agreed": "upstream_failed", "offer_repair": "success"}
    assert _report(run)["status"] == "differ"
    assert _failures()[-1]["try"] == 1, "a difference was tried again"
    with create_session() as session:
        asked = session.query(DagRun).filter_by(dag_id="repair_after_reconciliation").one()
        assert asked.conf["reconciliation"] == f"reconciliation.{run.run_id}"
        assert "differ at log version" in asked.conf["verdict"] and asked.conf["result"] == ["team_scores@1"]
        session.delete(asked)


def test_an_approved_repair_recomputes_batch_and_is_recorded(api: TestClient) -> None:
    person = Answers(api, "repair_after_reconciliation", "Recompute batch")
    run, states = _ran(
        "repair_after_reconciliation",
        {**SCORES, "reconciliation": "reconciliation.x", "verdict": "They differ <3."},
    )
    assert run.state == "success"
    assert states["recompute_batch"] == states["record"] == "success"
    assert states["rebuild_stream"] == states["leave_it"] == "skipped"
    assert "reconciliation.x" in person.question["subject"] and person.question["body"].startswith("They differ <3.")
    assert re.search(r"The last time it took [0-9.]+ s, 1 of 1 over some days only\.", person.question["body"])
    assert re.search(
        r"The greatest run so far took [0-9.]+ s for (\d+) arrivals; there are \1\.", person.question["body"]
    )
    address = f"/dags/repair_after_reconciliation/runs/{quote(run.run_id)}/tasks/decision/required_actions"
    assert address in person.page and "Recompute batch, Rebuild the stream, Reject" in person.page
    assert "Waiting for a person" not in api.get("/parity/").text
    kept = _report(run, "decisions")
    assert (kept["decision"], kept["by"], kept["reconciliation"]) == ("Recompute batch", "tester", "reconciliation.x")


def test_a_decision_is_recorded_whatever_becomes_of_its_repair(
    api: TestClient, monkeypatch: pytest.MonkeyPatch
) -> None:
    Answers(api, "repair_after_reconciliation", "Recompute batch")
    honest = ParityOperator.execute

    def failing(self: ParityOperator, context: Any) -> Any:
        if self.command == "recompute":
            raise AirflowFailException("the disk is full")
        return honest(self, context)

    monkeypatch.setattr(ParityOperator, "execute", failing)
    run, states = _ran("repair_after_reconciliation", {**SCORES, "reconciliation": "reconciliation.y"})
    assert run.state == "failed" and states["recompute_batch"] == "failed"
    assert _report(run, "decisions")["decision"] == "Recompute batch"


def test_the_tables_are_validated() -> None:
    run, states = _ran("data_quality", SCORES)
    assert run.state == "success" and states == {"pin": "success", "validate": "success"}
    said = json.loads((LAKE / "quality" / "runs" / f"{run.dag_id}.{run.run_id}.json").read_text())
    assert said["status"] == "met"
    assert {"events", "quarantine", "kappa_team_scores@1", "batch_team_scores@1"} <= {
        each["table"] for each in said["tables"]
    }


def test_a_new_version_is_swapped_in_after_approval(api: TestClient) -> None:
    person = Answers(api, "replay_and_swap", "Approve")
    run, states = _ran("replay_and_swap", {"result": "team_scores"})
    assert run.state == "success" and set(states.values()) == {"success"}
    assert person.question["subject"] == "Make team_scores@2 live instead of team_scores@1?"
    assert "settled keys are equal" in person.question["body"]
    live = [
        each
        for each in json.loads(_parity("versions", "--lake", str(LAKE), "--format", "json"))
        if each["state"] == "live"
    ]
    assert ("team_scores", 2) in {(each["result"], each["version"]) for each in live}


def test_the_lake_is_maintained() -> None:
    run, states = _ran("maintenance")
    assert run.state == "success" and states == {"maintain": "success"}
