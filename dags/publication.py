"""The publication of days: an event of every asset of the task for each day that is settled, and none for the others."""

from collections.abc import Sequence
from typing import Any

from airflow.sdk import BaseOperator
from airflow.sdk.definitions.context import Context
from airflow.sdk.exceptions import AirflowSkipException


class PublishOperator(BaseOperator):
    """Without days it is skipped: a task that succeeds would publish the day of its run, settled or not."""

    template_fields: Sequence[str] = ("days",)
    ui_color = "#e6f2ef"

    def __init__(self, *, days: str, **kwargs: Any) -> None:
        super().__init__(**kwargs)
        self.days = days

    def execute(self, context: Context) -> list[str]:
        days = list(self.days)
        if not days:
            raise AirflowSkipException(
                "No day is settled yet: the mark of the log has not passed the end of the day. A later run publishes it."
            )
        for outlet in self.outlets:
            context["outlet_events"][outlet].add_partitions(days)
        self.log.info("Published: %s", ", ".join(days))
        return days
