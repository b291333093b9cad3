"""A verdict and a report do not depend on how Spark spreads the tables: small ones are one task, large ones are many."""

from dataclasses import replace
from pathlib import Path

import pytest
from deliveries import at, heartbeat, land, pop
from game import catalogue
from pyspark.sql import SparkSession

from batch_layer.recompute import recompute
from ingestion.ingest import ingest
from lakehouse import table_files
from lakehouse.lake import Lake
from lakehouse.settings import load_settings
from reconciliation.pins import Candidate
from reconciliation.reconcile import reconcile
from reconciliation.report import gathered
from speed_layer.legacy import legacy
from speed_layer.stream import stream

SETTINGS = load_settings()
RESULTS = list(catalogue().values())
START = at(0)


def test_it_says_the_same(spark: SparkSession, lake: Lake, landing: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    lines = [
        pop(
            f"pop-{n}",
            n * 20,
            bubbles=n,
            player=f"player-{n % 3}",
            team=f"team {n % 2}",
            received_at=at(n * 20 + n % 90),
        )
        for n in range(120)
    ]
    land(landing, "1.jsonl", [*lines, lines[5], heartbeat("beat", 9000)])
    land(landing, "2.jsonl", [pop("late", 65, bubbles=1000, received_at=at(9100))])
    ingest(spark, lake, landing, SETTINGS, files_per_batch=1)
    stream(spark, lake, RESULTS, SETTINGS)
    for result in RESULTS:
        recompute(spark, lake, result, SETTINGS)
    legacy(spark, lake, SETTINGS)

    def told() -> tuple[object, ...]:
        candidates: tuple[Candidate, Candidate] = ("kappa", "legacy")
        one, other = (
            replace(reconcile(spark, lake, RESULTS, SETTINGS, candidate=each), id="", at=START) for each in candidates
        )
        page = gathered(spark, lake, RESULTS, SETTINGS, one, control=other)
        return one, other, page.costs, page.bill, page.again, page.series, page.choice, page.redelivery

    of_one_task = told()
    monkeypatch.setattr(table_files, "ONE_TASK", -1)
    assert told() == of_one_task
    verdict = of_one_task[0]
    assert sum(each.compared for each in verdict.results) > 200  # type: ignore[attr-defined]
    assert of_one_task[1].exit_code == 1  # type: ignore[attr-defined]
