"""The DAGs as Airflow reads them: they import, they are careful, and their forms refuse what the commands would."""

import copy
import json
import os
import tomllib
from datetime import UTC, datetime, timedelta
from itertools import pairwise
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from airflow.dag_processing.dagbag import DagBag
from airflow.sdk import DAG, Param
from airflow.sdk.definitions.mappedoperator import MappedOperator
from airflow.sdk.exceptions import ParamValidationError
from airflow.sdk.execution_time import macros
from airflow.serialization.serialized_objects import DagSerialization
from airflow.timetables.base import TimeRestriction

import house
from form import candidate_param, versions_param
from house import REBUILT, RESULTS, RUN, STREAM_POOL
from parity_command import PROJECT, ParityOperator, command_line
from transformations.durations import parse_duration

JUDGES, REPAIRS = "reconciliation", "repair_after_reconciliation"
EXPECTED = {
    "batch_recompute": "0 0 * * *",
    "data_quality": "0 5 * * *",
    "maintenance": "0 4 * * 0",
    "reconciliation": "Partitioned Asset",
    "repair_after_reconciliation": "None",
    "replay_and_swap": "None",
    "stream_increment": "*/5 * * * *",
}


@pytest.fixture(scope="module")
def bag() -> DagBag:
    return DagBag(os.environ["AIRFLOW__CORE__DAGS_FOLDER"])


def _scheduled(bag: DagBag, name: str) -> Any:
    """The DAG as the scheduler gets it."""
    return DagSerialization.deserialize_dag(DagSerialization.serialize_dag(bag.dags[name]))


def _commands(dag: DAG) -> list[ParityOperator]:
    """The tasks that are commands; of a mapped one that of a single result."""
    tasks = (task.unmap({"about": "team_scores"}) if isinstance(task, MappedOperator) else task for task in dag.tasks)
    return [task for task in tasks if isinstance(task, ParityOperator)]


def _param(bag: DagBag, dag: str, field: str) -> Param:
    """A field of the form; resolving a value changes it, so everybody gets one of their own."""
    return copy.deepcopy(bag.dags[dag].params.get_param(field))


def test_every_dag_is_imported(bag: DagBag) -> None:
    assert not bag.import_errors
    assert set(bag.dags) == set(EXPECTED)


@pytest.mark.parametrize("name", EXPECTED)
def test_every_dag_has_its_schedule_and_never_catches_up(bag: DagBag, name: str) -> None:
    dag = _scheduled(bag, name)
    assert dag.timetable.summary == EXPECTED[name]
    assert not dag.catchup


@pytest.mark.parametrize("name", EXPECTED)
def test_every_dag_is_set_up_as_a_careful_user_would(bag: DagBag, name: str) -> None:
    dag = bag.dags[name]
    assert dag.doc_md and dag.description and "parity" in dag.tags
    assert dag.dagrun_timeout is not None and dag.max_active_runs <= 4
    for task in dag.tasks:
        assert task.owner == "data-platform"
        assert task.on_failure_callback, f"{task.task_id} fails without a word"
    for task in _commands(dag):
        assert task.execution_timeout is not None and task.retries >= 1
        assert task.options["lake"] == "{{ var.value.parity_lake }}"


def test_what_may_not_overlap_itself_does_not(bag: DagBag) -> None:
    for name in ("stream_increment", "batch_recompute", "maintenance", "reconciliation"):
        assert bag.dags[name].max_active_runs == 1


def test_each_result_has_its_own_verdict_and_only_so_many_start_spark_at_once(bag: DagBag) -> None:
    dag = bag.dags[JUDGES]
    verdict = dag.get_task("verdict")
    assert isinstance(verdict, MappedOperator) and verdict.max_active_tis_per_dagrun == 2 and verdict.retries == 2
    [told] = [task for task in _commands(dag) if task.task_id == "verdict"]
    line = _rendered(dag, told, {"result": ["team_scores", "level_ups"]})
    assert [value for option, value in pairwise(line) if option == "--result"] == ["team_scores"]
    [compared] = [task for task in _commands(dag) if task.task_id == "reconcile"]
    assert [part for part in line if part != "--as-kept"] == _rendered(dag, compared, {"result": ["team_scores"]})
    assert verdict.render_template("{{ task.about }}", {"task": told}, dag.get_template_env()) == "team_scores"


def test_the_assets_lead_from_the_events_over_the_results_to_the_verdict(bag: DagBag) -> None:
    edges = {
        (inlet.name, outlet.name)
        for dag in bag.dags.values()
        for task in dag.tasks
        for inlet in task.inlets
        for outlet in task.outlets
    }
    batch = {f"batch_{name}" for name in RESULTS}
    results = {"kappa_results", *batch}
    assert edges == {("events", each) for each in results} | {(each, "verdict") for each in results}
    assert [asset.name for asset in bag.dags["stream_increment"].get_task("ingest").outlets] == ["events"]


def test_an_approval_has_a_time_limit(bag: DagBag) -> None:
    for name, task in (("repair_after_reconciliation", "decision"), ("replay_and_swap", "approval")):
        assert bag.dags[name].get_task(task).response_timeout is not None


def test_a_recompute_publishes_the_asset_of_every_result_and_reconciliation_waits_for_all(bag: DagBag) -> None:
    published = {asset.name for asset in bag.dags["batch_recompute"].get_task("publish").outlets}
    assert published == {f"batch_{name}" for name in RESULTS}
    awaited = {key.name for key, _ in _scheduled(bag, "reconciliation").timetable.asset_condition.iter_assets()}
    assert awaited == published


@pytest.mark.parametrize("name", EXPECTED)
def test_every_form_can_be_sent_as_it_is_and_explains_each_field(bag: DagBag, name: str) -> None:
    for field in bag.dags[name].params:
        param = _param(bag, name, field)
        param.resolve()
        assert param.description and param.schema.get("title"), f"{field} is not explained"
        assert param.schema.get("allowed"), f"who gives {field} a wrong value gets a schema for an answer"


def test_days_and_moments_have_pickers_and_what_can_be_chosen_is_offered(bag: DagBag) -> None:
    fields = {(name, field): _param(bag, name, field).schema for name in EXPECTED for field in bag.dags[name].params}
    pickers = {key: schema["format"] for key, schema in fields.items() if "format" in schema}
    assert pickers == {
        ("batch_recompute", "day"): "date",
        **{(name, field): "date-time" for name in (JUDGES, REPAIRS) for field in ("first", "to")},
    }
    for name in (JUDGES, "data_quality", "stream_increment"):
        assert fields[name, "result"]["examples"] == RESULTS and "array" in fields[name, "result"]["type"]
    assert fields["replay_and_swap", "result"]["enum"] == RESULTS


def test_the_form_offers_the_versions_that_the_lake_has(lake: Path) -> None:
    (lake / "results").mkdir()
    for file in (
        "team_scores@1.json",
        "team_scores@12.json",
        "level_ups@2.json",
        "level_ups@1.retired",
        "other@7.json",
    ):
        (lake / "results" / file).write_text("{}")
    assert candidate_param().schema["examples"] == ["kappa", "legacy", "@1", "@2", "@12"]
    assert versions_param("").schema["examples"] == ["level_ups@2", "team_scores@1", "team_scores@12"]
    assert candidate_param().resolve("@13") == "@13", "one that was made since is no mistake"


@pytest.mark.parametrize(
    ("dag", "field", "value"),
    [
        ("reconciliation", "candidate", "nobody"),
        ("reconciliation", "candidate", "@0"),
        ("reconciliation", "result", ["nothing"]),
        ("reconciliation", "result", "team_scores"),
        ("reconciliation", "result", ["team_scores", "team_scores"]),
        ("reconciliation", "first", "yesterday"),
        ("reconciliation", "first", "2026-03-01T10:00"),
        ("reconciliation", "tolerance", ["bubbles"]),
        ("reconciliation", "tolerance", ["bubbles=-1"]),
        ("reconciliation", "recompute", "perhaps"),
        ("batch_recompute", "day", "1 March"),
        ("replay_and_swap", "result", "nothing"),
        ("replay_and_swap", "way", "by hand"),
        ("repair_after_reconciliation", "reconciliation", "../../etc/passwd"),
        ("repair_after_reconciliation", "result", ["legacy"]),
        ("repair_after_reconciliation", "result", ["team_scores@0"]),
    ],
)
def test_a_wrong_value_is_refused(bag: DagBag, dag: str, field: str, value: Any) -> None:
    with pytest.raises(ParamValidationError):
        _param(bag, dag, field).resolve(value)


@pytest.mark.parametrize(
    ("field", "value"),
    [
        ("candidate", "@12"),
        ("result", ["team_scores", "level_ups"]),
        ("first", "2026-03-01T10:00:00Z"),
        ("first", "2026-03-01T10:00:00.000+00:00"),
        ("first", None),
        ("tolerance", ["bubbles=0.5", "players=1"]),
    ],
)
def test_a_right_value_is_taken(bag: DagBag, field: str, value: Any) -> None:
    assert _param(bag, "reconciliation", field).resolve(value) == value


PIN = {"log_version": 3, "results": RESULTS, "live": dict.fromkeys(RESULTS, 1), "to_replay": dict.fromkeys(RESULTS, 2)}
RUNS: list[dict[str, Any]] = [
    {},
    {"partition_key": "2026-03-01"},
    {"result": ["team_scores", "level_ups"], "candidate": "@2", "tolerance": ["bubbles=0.5"], "recompute": True},
    {"first": "2026-03-01T10:00:00Z", "to": "2026-03-02T10:00:00+00:00", "day": "2026-03-01"},
]


VARIABLES = {"parity_landing": "landing"}


def _xcom(task_ids: str, key: str = "return_value") -> Any:
    if key != "return_value":
        return "somebody"
    return {"pin": PIN, "compare": "what changed"}[task_ids]


def _rendered(dag: DAG, task: ParityOperator, given: dict[str, Any]) -> list[str]:
    params = {name: dag.params.get_param(name).value for name in dag.params}
    several = {"result"} if isinstance(params.get("result"), str) else set()  # a form for one result takes no list
    context = {
        "params": {name: given.get(name, value) if name not in several else value for name, value in params.items()},
        "dag": dag,
        "task": task,
        "run_id": "manual__2026-03-01T00:00:00+00:00",
        "dag_run": SimpleNamespace(partition_key=given.get("partition_key")),
        "ti": SimpleNamespace(xcom_pull=_xcom),
        "var": {"value": SimpleNamespace(parity_lake="lake", get=VARIABLES.get)},
        "macros": macros,
    }
    rendered = task.render_template(dict(task.options), context, task.get_template_env(dag))
    return command_line(task.command, rendered)


@pytest.mark.parametrize("results", [None, ["team_scores@2", "level_ups"]])
def test_what_is_repaired_is_the_version_that_was_judged(bag: DagBag, results: list[str] | None) -> None:
    dag = bag.dags["repair_after_reconciliation"]
    for task in ("check", "pin", "recompute_batch", "rebuild_stream"):
        line = _rendered(dag, dag.get_task(task), {"result": results})
        named = [value for option, value in pairwise(line) if option == "--result"]
        assert named == (results or [])


def test_a_decision_is_recorded_when_it_is_made_and_the_log_is_pinned_after_it(bag: DagBag) -> None:
    dag = bag.dags["repair_after_reconciliation"]
    for repair in ("recompute_batch", "rebuild_stream"):
        assert {"decision", "record"} <= dag.get_task(repair).get_flat_relative_ids(upstream=True)
    assert "decision" in dag.get_task("pin").get_flat_relative_ids(upstream=True)
    assert "pin" in dag.get_task("recompute_batch").get_flat_relative_ids(upstream=True)


def test_whatever_streams_goes_through_one_pool_and_a_rebuild_is_its_runs_own(bag: DagBag) -> None:
    streams = [
        task for dag in bag.dags.values() for task in _commands(dag) if task.command in ("stream", "replay", "swap")
    ]
    assert len(streams) == 4 and {task.pool for task in streams} == {STREAM_POOL}
    [rebuild] = [task for task in streams if task.options.get("rebuild")]
    assert rebuild.options["run"] == RUN and rebuild.execution_timeout == REBUILT


def test_quality_bears_with_batch_until_the_next_night_has_ended_and_notices_one_that_did_not_come() -> None:
    known = tomllib.loads((PROJECT / "parity.toml").read_text())["quality"]["batch_lag"]
    validated, least_for_the_run = timedelta(hours=int(EXPECTED["data_quality"].split()[1])), timedelta(hours=1)
    night = timedelta(days=1) + house.nightly()
    assert night + least_for_the_run <= parse_duration(known) < timedelta(days=1) + validated


def test_a_night_runs_later_than_the_day_by_more_than_the_allowed_lateness(monkeypatch: pytest.MonkeyPatch) -> None:
    for allowed, minutes in (("5 minutes", 135), ("3 hours", 310), ("90 seconds", 131.5), ("2 days", 130)):
        monkeypatch.setenv("PARITY_LATENESS__ALLOWED", allowed)
        assert house.nightly() == timedelta(minutes=minutes)


END = datetime(2026, 3, 10, tzinfo=UTC)


def test_a_night_is_of_the_day_before_and_a_backfill_takes_days_as_they_are_named(bag: DagBag) -> None:
    timetable = _scheduled(bag, "batch_recompute").timetable
    days = list(timetable.iter_partition_dagrun_infos(earliest=datetime(2026, 3, 9, tzinfo=UTC), latest=END))
    assert [each.partition_key for each in days] == ["2026-03-09", "2026-03-10"]
    night = timetable.next_dagrun_info_v2(
        last_dagrun_info=days[0]._replace(run_after=days[1].partition_date),
        restriction=TimeRestriction(earliest=None, latest=None, catchup=True),
    )
    assert (night.partition_key, night.run_after) == ("2026-03-10", datetime(2026, 3, 11, 2, 15, tzinfo=UTC))


def test_every_command_is_written_down_for_the_real_command_line(bag: DagBag) -> None:
    """`test_inside_airflow.py` parses them in the project's environment."""
    lines = [_rendered(dag, task, given) for dag in bag.dags.values() for task in _commands(dag) for given in RUNS]
    assert next(line[:6] for line in lines if line[1] == "reconcile") == [
        "parity",
        "reconcile",
        "--lake",
        "lake",
        "--candidate",
        "kappa",
    ]
    assert not [part for line in lines for part in line if "{{" in part or part == "None"]
    Path(os.environ["AIRFLOW_HOME"], "commands.json").write_text(json.dumps(lines))
