"""A question to a person, whose answer chooses the branch; what was chosen and by whom is kept beside it."""

from typing import Any

from airflow.providers.standard.operators.hitl import HITLBranchOperator
from airflow.sdk.definitions.context import Context

NOBODY = "nobody in time"


class DecisionOperator(HITLBranchOperator):
    """The standard provider's branch operator, with two XComs more: `chosen` and `by`."""

    def execute_complete(self, context: Context, event: dict[str, Any]) -> Any:
        person = event.get("responded_by_user") or {}
        context["ti"].xcom_push(key="chosen", value=event["chosen_options"][0])
        context["ti"].xcom_push(key="by", value=person.get("name") or NOBODY)
        return super().execute_complete(context, event)
