"""What a run of a DAG of Parity may be given: the fields of its form, and nothing else.

Airflow checks the values of the fields that it knows, and takes every other key without a word: a misspelt `result` would
queue a run over all results. It has no setting and no hook for this. Every run, from the form, the API, a backfill or
another DAG, is inserted as a `DagRun` before anybody can start it. What is raised there is the answer of Airflow's API,
400 or for a backfill 422, and nothing is queued.
"""

from typing import Any

from airflow.models.backfill import InvalidBackfillConf
from airflow.models.dagrun import DagRun

TAG = "parity"
AIRFLOWS_OWN = "airflow/"
"""Keys that Airflow itself reads from a conf begin with this."""


def refuse_unknown_keys(_mapper: Any, _connection: Any, run: DagRun) -> None:
    """Refuse a run of ours whose conf has a key that its form does not have. DAGs of others are none of our business."""
    given = {key for key in run.conf or {} if not key.startswith(AIRFLOWS_OWN)}
    if not given or run.created_dag_version is None:
        return
    dag = run.created_dag_version.serialized_dag.dag
    if TAG not in dag.tags:
        return
    if unknown := sorted(given - set(dag.params)):
        refused = ValueError if run.backfill_id is None else InvalidBackfillConf  # what the API answers each with
        raise refused(
            f"{dag.dag_id} has no field {', '.join(map(repr, unknown))}: nothing was queued. "
            f"Its form has {', '.join(sorted(dag.params)) or 'no fields'}."
        )
