"""The offer of a repair: once every result of a reconciliation has its verdict, for those that differ and for no other."""

from typing import Any

from airflow.providers.standard.operators.trigger_dagrun import TriggerDagRunOperator
from airflow.sdk.definitions.context import Context
from airflow.sdk.exceptions import AirflowSkipException

from house import CONTROL
from parity_command import FOUND_IN, VERDICT


class OfferRepairOperator(TriggerDagRunOperator):
    """Triggers the question to a person, with what the tasks of `judged` found. Without a difference it is skipped.

    What could not be compared has nothing to repair, and a control that differs is as it should be: neither batch nor the
    stream would become another by it.
    """

    def __init__(self, *, judged: str, **kwargs: Any) -> None:
        super().__init__(**kwargs)
        self.judged = judged

    def execute(self, context: Context) -> None:
        about = self._told(context, FOUND_IN)
        results = sorted({result for each in about for result in each})
        if not about:
            raise AirflowSkipException("No result differs: there is nothing to repair.")
        if context["params"]["candidate"] == CONTROL:
            raise AirflowSkipException("The control differs, as it should: there is nothing to repair.")
        if not results:
            raise AirflowSkipException("No result differs, but the input audit does: no repair would change that.")
        sentences = [
            f"{', '.join(each)}: {told}" for each, told in zip(about, self._told(context, VERDICT), strict=True)
        ]
        self.conf = {**(self.conf or {}), "verdict": "\n\n".join(sentences), "result": results}
        super().execute(context)

    def _told(self, context: Context, key: str) -> list[Any]:
        """What each mapped task has said under this key; those that had nothing to say are left out."""
        return [each for each in context["ti"].xcom_pull(task_ids=[self.judged], key=key) if each is not None]
