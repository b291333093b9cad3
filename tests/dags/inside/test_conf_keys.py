"""What a form does not have, or does not allow, is refused before anything is queued, however the run is asked for."""

import os
from collections.abc import Iterator
from datetime import UTC, datetime
from typing import Any

import pytest
from airflow.dag_processing.dagbag import DagBag, sync_bag_to_db
from airflow.models.backfill import Backfill
from airflow.models.dagbundle import DagBundleModel
from airflow.models.dagrun import DagRun
from airflow.utils.session import create_session
from fastapi.testclient import TestClient

pytestmark = pytest.mark.usefixtures("database")

DAGS = ("batch_recompute", "data_quality", "maintenance", "reconciliation", "replay_and_swap", "stream_increment")
OTHER = """
from airflow.sdk import DAG
from airflow.providers.standard.operators.empty import EmptyOperator

with DAG("somebody_elses", schedule=None):
    EmptyOperator(task_id="nothing")
"""


@pytest.fixture(scope="module")
def api(tmp_path_factory: pytest.TempPathFactory) -> Iterator[TestClient]:
    """Airflow's API as an administrator, over our DAGs and one of somebody else."""
    from airflow.api_fastapi.app import create_app
    from airflow.api_fastapi.auth.managers.simple.user import SimpleAuthManagerUser

    others = tmp_path_factory.mktemp("dags")
    (others / "somebody_elses.py").write_text(OTHER)
    with create_session() as session:
        session.merge(DagBundleModel(name="conf-keys"))
    for folder in (os.environ["AIRFLOW__CORE__DAGS_FOLDER"], others):
        bag = DagBag(folder, bundle_name="conf-keys")
        assert not bag.import_errors
        sync_bag_to_db(bag, "conf-keys", None)
    app = create_app(apps="core")
    token = app.state.auth_manager.generate_jwt(SimpleAuthManagerUser(username="tester", role="admin"))
    with TestClient(app, headers={"Authorization": f"Bearer {token}"}) as client:
        yield client


def _asked(api: TestClient, dag: str, conf: dict[str, Any]) -> Any:
    return api.post(f"/api/v2/dags/{dag}/dagRuns", json={"conf": conf, "logical_date": None})


def _runs(dag: str) -> list[str]:
    with create_session() as session:
        return [run.run_id for run in session.query(DagRun).filter_by(dag_id=dag)]


@pytest.mark.parametrize("dag", DAGS)
def test_an_unknown_key_is_refused_and_nothing_is_queued(api: TestClient, dag: str) -> None:
    before = _runs(dag)
    answer = _asked(api, dag, {"unknown": "x"})
    assert answer.status_code == 400 and "has no field 'unknown': nothing was queued" in answer.text
    assert _runs(dag) == before


@pytest.mark.parametrize("key", ["results", "Result", "log-version", " candidate", "params", ""])
def test_a_key_that_is_nearly_a_field_is_named_beside_the_fields(api: TestClient, key: str) -> None:
    answer = _asked(api, "reconciliation", {"candidate": "kappa", key: ["team_scores"]})
    assert answer.status_code == 400
    assert repr(key) in answer.json()["detail"] and "candidate, first, recompute, result" in answer.json()["detail"]


def test_a_backfill_with_an_unknown_key_is_refused(api: TestClient) -> None:
    day = {"from_date": "2026-03-01T00:00:00Z", "to_date": "2026-03-02T00:00:00Z"}
    asked = {"dag_id": "batch_recompute", "dag_run_conf": {"unknown": "x"}, **day}
    answer = api.post("/api/v2/backfills", json=asked)
    assert answer.status_code == 422 and "nothing was queued" in answer.text
    with create_session() as session:
        assert not session.query(Backfill).all()
    assert not [run for run in _runs("batch_recompute") if run.startswith("backfill")]


@pytest.mark.parametrize("conf", [{}, {"result": ["team_scores"], "candidate": "@2", "recompute": True}])
def test_the_fields_of_the_form_are_taken(api: TestClient, conf: dict[str, Any]) -> None:
    answer = _asked(api, "reconciliation", conf)
    assert answer.status_code == 200 and answer.json()["conf"] == conf


@pytest.mark.parametrize(
    ("dag", "field", "value", "wrong", "allowed"),
    [
        ("reconciliation", "candidate", "nobody", "'nobody'", "kappa, legacy, or a version of the results, e.g. @2"),
        (
            "reconciliation",
            "result",
            ["level_ups", "nothing"],
            "'nothing'",
            "a list, each at most once, of active_players,",
        ),
        ("reconciliation", "result", "team_scores", "'team_scores'", "a list, each at most once"),
        ("reconciliation", "first", "yesterday", "'yesterday'", "a day or a time with its zone, e.g. 2026-03-01 or"),
        ("reconciliation", "first", "y" * 5000, "'yyy", "a day or a time with its zone"),
        ("reconciliation", "tolerance", ["bubbles"], "'bubbles'", "a list of COLUMN=NUMBER, e.g. bubbles=0.5"),
        ("reconciliation", "recompute", "perhaps", "'perhaps'", "true or false"),
        ("batch_recompute", "day", "1 March", "'1 March'", "a day, e.g. 2026-03-01"),
        ("replay_and_swap", "way", "by hand", "'by hand'", "steps or engine"),
        ("replay_and_swap", "result", "nothing", "'nothing'", "one of active_players, click_through"),
    ],
)
def test_a_wrong_value_is_refused_in_one_sentence_and_nothing_is_queued(
    api: TestClient, dag: str, field: str, value: Any, wrong: str, allowed: str
) -> None:
    before = _runs(dag)
    answer = _asked(api, dag, {field: value})
    told = answer.json()["detail"]
    assert answer.status_code == 400 and _runs(dag) == before
    assert told.startswith(f"Invalid input for param {field}: {wrong}") and f"Allowed: {allowed}" in told
    assert "\n" not in told and "schema" not in told and len(told) < 500, told


def test_a_backfill_with_a_wrong_value_is_refused_in_one_sentence(api: TestClient) -> None:
    day = {"from_date": "2026-03-01T00:00:00Z", "to_date": "2026-03-02T00:00:00Z"}
    asked = {"dag_id": "batch_recompute", "dag_run_conf": {"day": "1 March"}, **day}
    answer = api.post("/api/v2/backfills", json=asked)
    assert answer.status_code == 422 and "Allowed: a day, e.g. 2026-03-01" in answer.text
    assert "schema" not in answer.text


def test_dags_of_others_are_given_what_they_like(api: TestClient) -> None:
    assert _asked(api, "somebody_elses", {"unknown": "x"}).status_code == 200


def test_the_answer_to_somebody_without_a_login_names_no_field(api: TestClient) -> None:
    asked = {"json": {"conf": {"unknown": "x"}}, "headers": {"Authorization": "Bearer e30.e30.e30"}}
    answer = api.post("/api/v2/dags/reconciliation/dagRuns", **asked)  # type: ignore[arg-type]
    assert answer.status_code in (401, 403) and "field" not in answer.text


def test_runs_of_these_tests_are_not_left_to_others() -> None:
    with create_session() as session:
        for run in session.query(DagRun).filter(DagRun.run_after <= datetime.now(UTC)):
            session.delete(run)
    assert not _runs("reconciliation")
