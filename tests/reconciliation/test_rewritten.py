"""What a kill adds to the control's differences: told apart by the lines that stand there twice, not by a guess."""

from pathlib import Path

import pytest
from deliveries import at, heartbeat, land, pop
from game import catalogue
from pyspark.sql import SparkSession

from batch_layer.recompute import recompute
from ingestion.ingest import ingest
from lakehouse.commits import commits
from lakehouse.control import CONTROL, control_boundary, read_arrivals
from lakehouse.lake import Lake, create_lake
from lakehouse.settings import load_settings
from lakehouse.tables import append
from reconciliation.reconcile import reconcile
from reconciliation.rewritten import Rewritten, rewritten
from speed_layer.legacy import legacy


def _written_again(spark: SparkSession, lake: Lake, event_id: str) -> int:
    """A micro-batch that died after its append and before Spark's commit log: the restart appends it once more."""
    arrivals = read_arrivals(spark, lake, control_boundary(lake))
    [[batch]] = arrivals.where(arrivals.event_id == event_id).select("batch").collect()
    rows = arrivals.where(arrivals.batch == batch)
    said = next(each for each in commits(lake, CONTROL))
    metadata = {name: said[name] for name in ("batch", "log_version")}
    append(spark, lake, CONTROL, rows, transaction=None, metadata=metadata)
    return rows.count()


@pytest.fixture
def landing(tmp_path: Path) -> Path:
    (tmp_path / "landing").mkdir()
    return tmp_path / "landing"


def test_only_what_the_kill_alone_made_differ_is_its_own(spark: SparkSession, tmp_path: Path, landing: Path) -> None:
    settings = load_settings(tried={"stream.commits_per_batch": "1"})
    by_name = catalogue(settings.windows_by_result)
    results = [by_name["team_scores"], by_name["level_ups"]]
    copy = pop("copied", 190, team="green", received_at=at(191))
    # The second file is the micro-batch that is written again: 300 bubbles twice are a level-up that never was.
    land(landing, "1.jsonl", [pop("alone", 10, received_at=at(11)), copy])
    moved = pop("moved", 110, team="red", received_at=at(130))
    land(landing, "2.jsonl", [pop("again", 70, bubbles=300, received_at=at(71)), moved, copy])
    land(landing, "3.jsonl", [heartbeat("tick", 4000)])
    lake = create_lake(tmp_path / "lake")
    ingest(spark, lake, landing, settings, files_per_batch=1)
    for result in results:
        recompute(spark, lake, result, settings)
    legacy(spark, lake, settings)

    before = reconcile(spark, lake, results, settings, candidate="legacy")
    alone = sum(each.differing for each in before.results)
    assert alone == 3  # the minutes that the moved pop left and came to, and the copy's
    assert rewritten(spark, lake, results, before) == Rewritten(0, 6, 0, alone)

    arrivals = _written_again(spark, lake, "again")
    after = reconcile(spark, lake, results, settings, candidate="legacy")
    found = rewritten(spark, lake, results, after)
    assert (found.arrivals, found.all_arrivals) == (arrivals, 6) and 0 < arrivals < 6
    assert found.differing == sum(each.differing for each in after.results)
    assert (found.keys, found.differing - found.keys) == (2, alone)  # the minute of `again`, and its level-up
