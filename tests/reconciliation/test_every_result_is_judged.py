"""A verdict over a lake of which one result is always settled, one not yet, and one has no row because none is due."""

from pathlib import Path

from deliveries import START, heartbeat, land, pop
from game import catalogue
from pyspark.sql import SparkSession

from batch_layer.recompute import recompute
from ingestion.ingest import ingest
from lakehouse.batches import Interval
from lakehouse.lake import Lake
from lakehouse.settings import load_settings
from reconciliation.reconcile import reconcile
from reconciliation.sentences import agreement
from reconciliation.verdict import Verdict
from speed_layer.stream import stream

SETTINGS = load_settings()
RESULTS = [catalogue()[name] for name in ("lifetime_totals", "team_scores", "level_ups")]


def judged(spark: SparkSession, lake: Lake, landing: Path) -> Verdict:
    ingest(spark, lake, landing, SETTINGS)
    stream(spark, lake, RESULTS, SETTINGS)
    for result in RESULTS:
        recompute(spark, lake, result, SETTINGS)
    return reconcile(spark, lake, RESULTS, SETTINGS)


def test_what_is_always_settled_does_not_speak_for_what_is_not(spark: SparkSession, lake: Lake, landing: Path) -> None:
    land(landing, "1.jsonl", [pop(f"pop-{n}", n * 60, player=f"player-{n % 40}") for n in range(5)])
    short = judged(spark, lake, landing)
    assert [each.status for each in short.results] == ["agree", "could not compare", "agree"]
    assert (short.status, short.exit_code) == ("could not compare", 2)
    assert "team_scores (0 of 5 keys)" in agreement(short)
    assert [each.empty for each in short.results] == [False, False, True], "there are pops, and no team is at the goal"

    land(landing, "2.jsonl", [heartbeat("beat", 3600)])
    settled = judged(spark, lake, landing)
    assert (settled.status, settled.exit_code) == ("agree", 0)
    assert "equal in all 10 settled keys of 3 results" in agreement(settled)
    assert "the log gives level_ups no row, and neither has one" in agreement(settled)

    before = reconcile(spark, lake, RESULTS, SETTINGS, interval=Interval(None, START))
    assert [(each.status, each.empty) for each in before.results] == [
        ("agree", False),
        ("agree", True),
        ("agree", True),
    ]
