"""The forms and commands are those of the lake's pipeline: one of the project, and one in a folder of somebody's own.

Each is read in a process of its own, as the DAG processor reads them: modules are imported once in a process.
"""

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

from parity_command import PROJECT

STORY = """
from transformations.pipeline import Charted, Story

PIPELINE = Story(name="doors", story="Doors.", controlled=("openings",), charted=Charted("openings", "times"))
"""
READ = """
import json, os, sys
from types import SimpleNamespace

from airflow.dag_processing.dagbag import DagBag

sys.path.insert(0, os.environ["AIRFLOW__CORE__DAGS_FOLDER"])
bag = DagBag(os.environ["AIRFLOW__CORE__DAGS_FOLDER"])
print("errors", json.dumps(bag.import_errors))
from airflow.sdk import Variable
from airflow.sdk.execution_time import macros
from form import versions_param
from house import RESULTS
from parity_command import command_line

def rendered(name, task_id, **given):
    dag = bag.dags[name]
    task = dag.get_task(task_id)
    variables = SimpleNamespace(
        parity_lake=Variable.get("parity_lake"), get=lambda name, default="": Variable.get(name, default=default)
    )
    context = {
        "params": {**{field: dag.params.get_param(field).value for field in dag.params}, **given}, "dag": dag, "task": task,
        "run_id": "run", "dag_run": SimpleNamespace(partition_key=None), "var": {"value": variables}, "macros": macros,
        "ti": SimpleNamespace(xcom_pull=lambda **_: {"log_version": 3, "live": {each: 1 for each in RESULTS}}),
    }
    return command_line(task.command, task.render_template(dict(task.options), context, task.get_template_env(dag)))

one, several = bag.dags["replay_and_swap"].params, bag.dags["reconciliation"].params
print("found", json.dumps({
    "enum": one.get_param("result").schema["enum"],
    "default": one.get_param("result").value,
    "offered": several.get_param("result").schema["examples"],
    "tolerance": several.get_param("tolerance").description,
    "versions": versions_param("").schema["examples"],
    "assets": sorted(each.name for each in bag.dags["batch_recompute"].get_task("publish").outlets),
    "stream": rendered("stream_increment", "stream", result=RESULTS[-1:]),
    "record": rendered("repair_after_reconciliation", "record"),
}))
"""


def own_folder(home: Path) -> Path:
    """Its results would need Spark, which is not here: nobody imports them."""
    folder = home / "doors"
    (folder / "results").mkdir(parents=True)
    (folder / "pipeline.py").write_text(STORY)
    for name in ("openings", "openings_2", "_shared"):
        (folder / "results" / f"{name}.py").write_text("import pyspark\n")
    (folder / "results" / "__init__.py").write_text("")
    return folder


def lake_of(home: Path, name: str, path: str) -> Path:
    lake = home / "lake"
    (lake / "results").mkdir(parents=True)
    (lake / "parity.json").write_text(json.dumps({"format": 3, "pipeline": {"name": name, "path": path}}))
    return lake


def read(lake: Path, **variables: str) -> tuple[dict[str, str], dict[str, Any]]:
    """The mistakes of the DAGs, and what is found where there are none."""
    environment = {name: value for name, value in os.environ.items() if not name.startswith("PARITY_PIPELINE")}
    done = subprocess.run(
        [sys.executable, "-c", READ], cwd=PROJECT, capture_output=True, text=True,
        env={**environment, "AIRFLOW_VAR_PARITY_LAKE": str(lake), **variables},
    )  # fmt: skip
    said = dict(line.split(" ", 1) for line in done.stdout.splitlines() if line.startswith(("errors ", "found ")))
    assert "errors" in said, done.stdout + done.stderr
    return json.loads(said["errors"]), json.loads(said.get("found", "{}"))


def test_those_of_the_sensors_are_offered_and_commands_name_them(tmp_path: Path) -> None:
    lake = lake_of(tmp_path, "sensors", "sensors")
    errors, found = read(lake)
    results = ["room_hours", "sensor_means", "sensor_sessions"]
    assert errors == {} and found["enum"] == found["offered"] == results
    assert found["default"] == "sensor_means" and "reads=0.5" in found["tolerance"]
    assert found["assets"] == [f"batch_{name}" for name in results]
    assert found["stream"] == ["parity", "stream", "--lake", str(lake), "--result", "sensor_sessions"]


def test_those_of_an_own_folder_are_offered_with_versions_and_its_settings_are_used(tmp_path: Path) -> None:
    folder = own_folder(tmp_path)
    lake, file = lake_of(tmp_path, "doors", str(folder)), folder / "parity.toml"
    file.write_text("[pipeline]\npath = '.'\n")
    (lake / "results" / "openings_2@3.json").write_text("{}")
    errors, found = read(lake, AIRFLOW_VAR_PARITY_CONFIG=str(file))
    assert errors == {} and found["enum"] == ["openings", "openings_2"]
    assert found["versions"] == ["openings_2@3"] and "times=0.5" in found["tolerance"]
    on_lake = ["--lake", str(lake), "--config", str(file)]
    assert found["stream"] == ["parity", "stream", *on_lake, "--result", "openings_2"]
    assert found["record"][:4] == ["parity", "decide", "--lake", str(lake)] and "--config" not in found["record"]


def test_before_there_is_a_lake_the_settings_file_says_of_what_it_will_be(tmp_path: Path) -> None:
    file = own_folder(tmp_path) / "parity.toml"
    file.write_text("[pipeline]\npath = '.'\n")
    assert read(tmp_path / "lake", AIRFLOW_VAR_PARITY_CONFIG=str(file))[1]["enum"] == ["openings", "openings_2"]


def test_a_folder_that_is_gone_is_an_import_error_that_names_it(tmp_path: Path) -> None:
    errors, _ = read(lake_of(tmp_path, "doors", str(tmp_path / "gone")))
    assert errors and all(f"There is no pipeline in {tmp_path / 'gone'}" in said for said in errors.values())
