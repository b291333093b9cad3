"""The offer of a repair names the results that differ and no other, and is not made where nothing can be repaired."""

from typing import Any

import pytest
from airflow.providers.standard.operators.trigger_dagrun import TriggerDagRunOperator
from airflow.sdk.exceptions import AirflowSkipException

from offer import OfferRepairOperator


class TaskInstance:
    """Of five mapped tasks of `verdict`: those that found a difference have said so."""

    def __init__(self, found: list[tuple[list[str], str]]) -> None:
        self.said = {"found_in": [about for about, _ in found], "verdict": [told for _, told in found]}

    def xcom_pull(self, *, task_ids: list[str], key: str) -> list[Any]:
        assert task_ids == ["verdict"], "by a name alone Airflow gives the value of one task without its list"
        return self.said[key] or [None]


@pytest.fixture
def triggered(monkeypatch: pytest.MonkeyPatch) -> list[Any]:
    asked: list[Any] = []
    monkeypatch.setattr(TriggerDagRunOperator, "execute", lambda self, _context: asked.append(self.conf))
    return asked


def offered(found: list[tuple[list[str], str]], candidate: str | None = None) -> None:
    conf = {"reconciliation": "reconciliation.one", "first": None}
    operator = OfferRepairOperator(task_id="offer", judged="verdict", trigger_dag_id="repair", conf=conf)
    operator.execute({"ti": TaskInstance(found), "params": {"candidate": candidate}})


def test_the_results_that_differ_are_named_with_what_was_found(triggered: list[Any]) -> None:
    offered([(["team_scores@2"], "They differ in 3 keys."), (["level_ups@1"], "They differ in 1 key.")])
    assert triggered == [
        {
            "reconciliation": "reconciliation.one",
            "first": None,
            "verdict": "team_scores@2: They differ in 3 keys.\n\nlevel_ups@1: They differ in 1 key.",
            "result": ["level_ups@1", "team_scores@2"],
        }
    ]


@pytest.mark.parametrize(
    ("found", "candidate", "why"),
    [
        ([], None, "No result differs"),
        ([(["team_scores@1"], "They differ.")], "legacy", "The control differs, as it should"),
        ([([], "The input audit does not balance.")], None, "but the input audit does"),
    ],
)
def test_without_something_to_repair_nobody_is_asked(
    triggered: list[Any], found: list[tuple[list[str], str]], candidate: str | None, why: str
) -> None:
    with pytest.raises(AirflowSkipException, match=why):
        offered(found, candidate)
    assert not triggered
