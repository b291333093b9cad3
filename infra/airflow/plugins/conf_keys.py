"""What a run of a DAG of Parity may be given: the fields of its form, and nothing else.

Airflow checks the values of the fields that it knows, and takes every other key without a word: a misspelt `result` would
queue a run over all results. It has no setting and no hook for this. But every run, from the form, the API or another DAG,
is inserted as a `DagRun` before anybody can start it, and every backfill as a `Backfill` before its runs. What is raised
there is the answer of Airflow's API, 400 or for a backfill 422, and nothing is queued.
"""

from collections.abc import Mapping
from typing import Any

from airflow.models.backfill import Backfill, InvalidBackfillConf
from airflow.models.dagrun import DagRun
from airflow.models.serialized_dag import SerializedDagModel
from sqlalchemy import event
from sqlalchemy.orm import object_session

TAG = "parity"
AIRFLOWS_OWN = "airflow/"
"""Keys that Airflow itself reads from a conf begin with this."""


def watch() -> None:
    """Refuse unknown keys from now on, in this process."""
    event.listen(DagRun, "before_insert", _of_a_run)
    event.listen(Backfill, "before_insert", _of_a_backfill)


def _of_a_run(_mapper: Any, _connection: Any, run: DagRun) -> None:
    if refusal := _refusal(run, run.conf):
        raise ValueError(refusal)


def _of_a_backfill(_mapper: Any, _connection: Any, backfill: Backfill) -> None:
    if refusal := _refusal(backfill, backfill.dag_run_conf):
        raise InvalidBackfillConf(refusal)


def _refusal(asked: DagRun | Backfill, conf: Mapping[str, Any] | None) -> str | None:
    """Why the conf is refused; none where the form has all its keys, and for DAGs of others, which are not our business."""
    given, session = {key for key in conf or {} if not key.startswith(AIRFLOWS_OWN)}, object_session(asked)
    if not given or session is None:
        return None
    latest = SerializedDagModel.latest_item_select_object(asked.dag_id)  # type: ignore[no-untyped-call]
    found = session.scalar(latest)
    if found is None or TAG not in found.dag.tags:
        return None
    unknown, known = sorted(given - set(found.dag.params)), sorted(found.dag.params)
    if not unknown:
        return None
    return (
        f"{asked.dag_id} has no field {', '.join(map(repr, unknown))}: nothing was queued. "
        f"Its form has {', '.join(known) or 'no fields'}."
    )
