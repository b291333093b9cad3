"""What waits for a person: the questions that the DAGs of Parity have asked and nobody has answered yet."""

from typing import Any

from airflow.models.dag import DagTag
from airflow.models.hitl import HITLDetail
from airflow.models.taskinstance import TaskInstance
from airflow.utils.session import create_session
from airflow.utils.state import TaskInstanceState
from sqlalchemy import select
from sqlalchemy.exc import SQLAlchemyError

from conf_keys import TAG

MOST = 50


def pending(readable: set[str]) -> list[dict[str, Any]] | None:
    """The questions of these DAGs, oldest first; none if the database does not answer."""
    asked = (
        select(HITLDetail, TaskInstance)
        .join(TaskInstance, HITLDetail.ti_id == TaskInstance.id)
        .join(DagTag, DagTag.dag_id == TaskInstance.dag_id)
        .where(DagTag.name == TAG, TaskInstance.dag_id.in_(readable))
        .where(HITLDetail.responded_at.is_(None), TaskInstance.state == TaskInstanceState.AWAITING_INPUT)
        .order_by(HITLDetail.created_at)
        .limit(MOST)
    )
    try:
        with create_session() as session:
            return [
                {
                    "dag": task.dag_id,
                    "run": task.run_id,
                    "task": task.task_id,
                    "subject": question.subject,
                    "options": list(question.options),
                    "since": question.created_at.isoformat(),
                }
                for question, task in session.execute(asked)
            ]
    except SQLAlchemyError:
        return None
