"""A form and runs of the DAGs over a lake of sensors, in Airflow's own environment. Prints what it found as JSON.

Started in a copy of the project that has never heard of the game, for `test_without_the_game`.
"""

import json
import os
import sys
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from airflow.dag_processing.dagbag import DagBag
from airflow.utils.db import initdb
from airflow.utils.session import create_session

DAGS, LAKE = Path(os.environ["AIRFLOW__CORE__DAGS_FOLDER"]), Path(os.environ["AIRFLOW_VAR_PARITY_LAKE"])
sys.path.insert(0, str(DAGS))  # as Airflow does it for those that it starts itself


def ran(name: str, conf: dict[str, Any]) -> dict[str, Any]:
    """What became of a run and of its tasks, and whatever report it left."""
    bag = DagBag(DAGS / f"{name}.py")
    assert not bag.import_errors, bag.import_errors
    run = bag.dags[name].test(run_conf=conf, logical_date=datetime.now(UTC))
    with create_session() as session:
        tasks = run.get_task_instances(session=session)
        states = {f"{ti.task_id} {ti.rendered_map_index or ''}".strip(): str(ti.state) for ti in tasks}
    file = LAKE / "reports" / f"{name}.{run.run_id}.json"
    return {"state": run.state, "tasks": states, "report": json.loads(file.read_text()) if file.is_file() else None}


initdb()
everything = DagBag(DAGS)
offered = {
    name: dag.params.get_param("result").schema.get("enum") or dag.params.get_param("result").schema["examples"]
    for name, dag in everything.dags.items()
    if "result" in dag.params and name != "repair_after_reconciliation"
}
found = {
    "errors": everything.import_errors,
    "offered": offered,
    "streamed": ran("stream_increment", {"result": ["sensor_means"]}),
    "judged": ran("reconciliation", {"result": ["room_hours", "sensor_sessions"], "recompute": True}),
}
Path("found-by-airflow.json").write_text(json.dumps(found, default=str))
