"""The batch layer by night: each day is computed once it is over, at a version of the log of its own. Times are inputs."""

import json
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
from corrupted import copied, corrupt, without
from game import catalogue
from made_once import made_once
from pyspark.sql import SparkSession

from batch_layer.recompute import recompute
from lakehouse.arrivals import ARRIVALS
from lakehouse.batches import batch_name
from lakehouse.lake import Lake, open_lake
from lakehouse.settings import Settings
from quality.outcome import QualityRun
from quality.validate import validate

from nights import RESULTS, SETTINGS, day, nightly  # isort: skip


@pytest.fixture(scope="module")
def nights(spark: SparkSession, tmp_path_factory: pytest.TempPathFactory, worker_id: str) -> Lake:
    shared = made_once(tmp_path_factory, worker_id, "nights", lambda directory: nightly(spark, directory))
    return open_lake(shared / "lake")


def checked(spark: SparkSession, lake: Lake, *names: str, settings: Settings = SETTINGS) -> QualityRun:
    results = [catalogue()[name] for name in names]
    tables = [f"batch_{name}@1" for name in names]
    return validate(spark, lake, results, settings, run="night", moment=datetime.now(UTC), tables=tables)


def failures(found: QualityRun) -> dict[str, list[dict[str, Any]]]:
    [table] = found.tables
    return {each.name: each.sample for each in table.expectations if not each.met}


def test_with_the_default_settings_a_validation_in_the_night_is_met(spark: SparkSession, nights: Lake) -> None:
    found = checked(spark, nights, *RESULTS)
    assert found.status == "met", [failures(found)]
    names = {table.table: {each.name for each in table.expectations} for table in found.tables}
    assert {"bubbles are conserved", "events are conserved"} <= names["batch_player_sessions@1"]
    assert "rows are conserved" in names["batch_offer_outcomes@1"]


def test_what_was_not_computed_is_named_with_the_reason(spark: SparkSession, nights: Lake) -> None:
    """The first day's late pop lies before all intervals, and the last night's events behind them."""
    found = checked(spark, nights, "team_scores")
    assert found.exit_code == 0
    assert (
        "until 2026-03-02T00:00:00.000Z of batch_team_scores@1 (the batch layer has not computed it" in found.sentence
    )
    assert "from 2026-03-05T00:00:00.000Z of batch_team_scores@1" in found.sentence
    assert "what came after its interval was computed of batch_team_scores@1" in found.sentence
    assert json.loads((nights.path / "quality/runs/night.json").read_text())["sentence"] == found.sentence
    assert "Not checked: until 2026-03-02" in (nights.path / "quality/docs/index.html").read_text()


@pytest.mark.parametrize(
    ("name", "column", "lost", "rule"),
    [
        ("team_scores", "bubbles", 6, "bubbles are conserved"),
        ("player_sessions", "player_id", "noon-1", "events are conserved"),
        ("offer_outcomes", "offer_id", "day-1", "rows are conserved"),
    ],
)
def test_a_row_that_is_lost_on_an_earlier_day_is_missed(
    spark: SparkSession, nights: Lake, tmp_path: Path, name: str, column: str, lost: Any, rule: str
) -> None:
    lake = copied(nights, tmp_path)
    corrupt(lake, f"batch_{name}@1", without(column, lost))
    found = failures(checked(spark, lake, name))
    [wrong] = found[rule]
    assert (wrong["from"], wrong["until"]) == ("2026-03-03T00:00:00.000Z", "2026-03-04T00:00:00.000Z")
    assert wrong["log_version"] == 2


def test_a_day_that_was_never_computed_between_two_that_were_is_a_failure(spark: SparkSession, tmp_path: Path) -> None:
    lake = nightly(spark, tmp_path, computed=(0, 2))
    found = checked(spark, lake, "team_scores")
    [gap] = failures(found)["nothing is left out"]
    assert (gap["from"], gap["until"]) == ("2026-03-03T00:00:00.000Z", "2026-03-04T00:00:00.000Z")
    assert found.exit_code == 1 and gap["events"] == 4
    recompute(spark, lake, catalogue()["team_scores"], SETTINGS, interval=day(1))
    assert checked(spark, lake, "team_scores").status == "met"


def test_commits_that_delta_has_removed_are_not_needed(spark: SparkSession, nights: Lake, tmp_path: Path) -> None:
    lake = copied(nights, tmp_path)
    before = checked(spark, lake, *RESULTS)
    for name in (ARRIVALS, *(batch_name(catalogue()[each]) for each in RESULTS)):
        remove_commits(spark, lake, name)
    after = checked(spark, lake, *RESULTS)
    assert (after.status, after.sentence) == ("met", before.sentence)


def remove_commits(spark: SparkSession, lake: Lake, name: str) -> None:
    """What Delta does to commits beyond the horizon when it writes a checkpoint; the newest stays."""
    log = Path(lake.table(name)) / "_delta_log"
    assert spark._jvm is not None
    spark._jvm.org.apache.spark.sql.delta.DeltaLog.forTable(spark._jsparkSession, lake.table(name)).checkpoint()
    for commit in sorted(log.glob("*.json"))[:-1]:
        for file in (commit, commit.with_suffix(".crc"), commit.with_name(f".{commit.name}.crc")):
            file.unlink(missing_ok=True)
