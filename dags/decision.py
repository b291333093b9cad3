"""A question to a person, whose answer chooses the branch; who gave it is kept beside it."""

from typing import Any

from airflow.providers.standard.operators.hitl import HITLBranchOperator
from airflow.sdk.definitions.context import Context

BY = "by"
NOBODY = "nobody in time"


class DecisionOperator(HITLBranchOperator):
    """The standard provider's branch operator; the name of who decided becomes an XCom too."""

    def execute_complete(self, context: Context, event: dict[str, Any]) -> Any:
        chosen = super().execute_complete(context, event)
        person = event.get("responded_by_user") or {}
        context["ti"].xcom_push(key=BY, value=person.get("name") or NOBODY)
        return chosen
