"""`parity quality` as a user types it: exit codes, messages, pins, and lakes in which little has happened."""

import json
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
from corrupted import corrupt, where
from pyspark.sql import SparkSession
from pyspark.sql import functions as F
from typer.testing import CliRunner, Result

from batch_layer.recompute import recompute
from cli.main import app
from ingestion.table import create_arrivals
from lakehouse.batches import Interval
from lakehouse.lake import Lake, create_lake
from lakehouse.tables import append, read_table
from lakehouse.verdicts import DIFFERENCES, RECONCILIATIONS

from lakes import SMALL, declared, small_settings  # isort: skip

TABLES = [
    "arrivals", "events", "duplicates", "quarantine",
    "kappa_level_ups@1", "kappa_level_ups@1-changelog", "batch_level_ups@1",
    "kappa_team_scores@1", "kappa_team_scores@1-changelog", "batch_team_scores@1",
    "legacy_arrivals", "reconciliations", "differences",
]  # fmt: skip


@pytest.fixture
def parity(monkeypatch: pytest.MonkeyPatch) -> Any:
    for name, value in SMALL.items():
        monkeypatch.setenv(f"PARITY_{name.replace('.', '__').upper()}", value)

    def run(*command: str | Path) -> Result:
        return CliRunner().invoke(app, [str(part) for part in command])

    return run


def test_a_clean_lake_meets_all_that_is_expected(parity: Any, copy: Lake) -> None:
    only = [part for name in ("level_ups", "team_scores") for part in ("--result", name)]
    done = parity("quality", "--lake", copy.path, *only, "--format", "json")
    assert done.exit_code == 0, done.output
    found = json.loads(done.stdout)
    assert [table["table"] for table in found["tables"]] == TABLES
    assert all(table["met"] and table["expectations"] for table in found["tables"])
    assert json.loads((copy.path / "quality" / "runs" / f"{found['run']}.json").read_text()) == found


def test_a_failure_is_told_in_a_sentence_with_a_sample_and_the_place_of_the_pages(parity: Any, copy: Lake) -> None:
    corrupt(copy, "events", where("event_id", "tock", kind="nothing"))
    done = parity("quality", "--lake", copy.path, "--table", "events", "--table", "duplicates", "--run", "mine")
    assert done.exit_code == 1, done.output
    assert "✗ not met" in done.stdout and "✓ met" in done.stdout
    assert "events: kind is known. kind is one of" in done.stdout
    assert "Found: 1 such row." in done.stdout and "e.g. seq 7, event_id tock, kind nothing" in done.stdout
    assert f"Data Docs: {copy.path / 'quality' / 'docs' / 'index.html'}" in done.stdout


def test_an_older_version_that_was_clean_stays_clean_though_the_newest_is_not(validated: Any, copy: Lake) -> None:
    corrupt(copy, "events", where("event_id", "tock", kind="nothing"))
    assert validated(copy, ["events"]).status == "not met"
    older = validated(copy, ["events", "duplicates", "quarantine", "kappa_team_scores@1"], log_version=2)
    assert older.status == "met" and older.log_version == 2
    assert [table.pinned["log_version"] for table in older.tables] == [2, 2, 2, 2]


def test_before_the_layers_ran_their_tables_are_not_there(validated: Any, clean: Lake) -> None:
    earliest = validated(clean, log_version=1)
    assert earliest.status == "met"
    assert [table.table for table in earliest.tables][:4] == ["arrivals", "events", "duplicates", "quarantine"]
    assert {each["table"] for each in earliest.absent} >= {"batch_team_scores@1", "legacy_arrivals"}


def test_a_table_that_is_not_there_cannot_be_validated(parity: Any, clean: Lake) -> None:
    done = parity("quality", "--lake", clean.path, "--table", "kappa_game_pulse@1")
    assert done.exit_code == 2
    assert (
        "There is no table 'kappa_game_pulse@1' to validate." in done.stderr
        and "There are: arrivals, events" in done.stderr
    )


@pytest.mark.parametrize("name", [".hidden", "a/b", "", "x" * 251, "two words"])
def test_a_run_needs_a_name_that_can_be_one_of_a_file(parity: Any, clean: Lake, name: str) -> None:
    done = parity("quality", "--lake", clean.path, "--run", name)
    assert done.exit_code == 2 and "cannot be the name of a run" in done.stderr


def test_a_lake_without_a_log_cannot_be_validated(parity: Any, lake: Lake) -> None:
    done = parity("quality", "--lake", lake.path)
    assert done.exit_code == 2 and "has no log yet" in done.stderr


def test_an_empty_log_meets_all_and_nothing_else_is_there(spark: SparkSession, validated: Any, tmp_path: Path) -> None:
    empty = create_lake(tmp_path / "empty")
    create_arrivals(empty, horizon=timedelta(days=1))
    before, application = dict(spark.conf.getAll), spark.sparkContext.applicationId
    found = validated(empty)
    assert (dict(spark.conf.getAll), spark.sparkContext.applicationId) == (before, application), (
        "Spark is not as it was"
    )
    assert found.status == "met"
    assert [table.table for table in found.tables] == ["arrivals", "events", "duplicates", "quarantine"]
    assert "legacy_arrivals" in {each["table"] for each in found.absent}


def test_an_interval_of_batch_without_events_is_no_failure(spark: SparkSession, validated: Any, copy: Lake) -> None:
    settings = small_settings()
    [scores, *_] = declared(settings)
    empty = Interval(datetime(2026, 5, 1, tzinfo=UTC), datetime(2026, 5, 2, tzinfo=UTC))
    recompute(spark, copy, scores, settings, interval=empty)
    found = validated(copy, ["batch_team_scores@1"])
    assert found.status == "met"
    assert "bubbles are conserved" in {each.name for each in found.tables[0].expectations}


def test_a_verdict_whose_results_are_of_different_versions_is_taken_result_by_result(
    spark: SparkSession, validated: Any, copy: Lake
) -> None:
    """Of one run, a result was judged at the pinned version, another one at a later version."""
    for table, later in ((RECONCILIATIONS, {"log_version": F.lit(3).cast("long")}), (DIFFERENCES, {})):
        rows = read_table(spark, copy, table)
        append(spark, copy, table, rows.withColumns({"result": F.lit("level_ups"), **later}), transaction=None)
    for version in (None, 2):
        assert validated(copy, [RECONCILIATIONS, DIFFERENCES], log_version=version).status == "met"


def test_what_the_stream_cannot_be_asked_for_is_named(validated: Any, clean: Lake) -> None:
    found = validated(clean, ["kappa_player_sessions@1", "kappa_team_scores@1"])
    assert found.sentence.startswith("All ") and found.status == "met"
    assert "Not checked: sums of kappa_player_sessions@1 (the engine tells them when they are over" in found.sentence
    assert "kappa_team_scores" not in found.sentence
