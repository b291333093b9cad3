"""A question to a person; what was chosen and by whom is kept beside the answer, for the tasks that follow."""

from typing import Any

from airflow.providers.standard.operators.hitl import HITLOperator
from airflow.sdk.definitions.context import Context

NOBODY = "nobody in time"


class DecisionOperator(HITLOperator):
    """The standard provider's operator, with two XComs more: `chosen` and `by`."""

    def execute_complete(self, context: Context, event: dict[str, Any]) -> Any:
        answer = super().execute_complete(context, event)
        person = event.get("responded_by_user") or {}
        context["ti"].xcom_push(key="chosen", value=event["chosen_options"][0])
        context["ti"].xcom_push(key="by", value=person.get("name") or NOBODY)
        return answer
