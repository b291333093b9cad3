"""The reconciliation can fail: each fault that is put in is caught and given its right cause."""

import shutil
from collections.abc import Callable, Iterator
from dataclasses import replace
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
from deliveries import at, heartbeat, land, pop
from game import catalogue
from other_code import stream_team_scores_wrongly
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F

import reconciliation.reconcile
from batch_layer.recompute import recompute
from ingestion.ingest import ingest
from lakehouse.appends import Appender
from lakehouse.batches import Coverage, computed
from lakehouse.errors import StreamFailed
from lakehouse.lake import Lake, create_lake, open_lake
from lakehouse.settings import Lateness, Settings, Stream, load_settings
from lakehouse.tables import Transaction
from reconciliation.reconcile import reconcile
from reconciliation.verdict import Verdict
from speed_layer.legacy import legacy
from speed_layer.stream import stream
from transformations.result import Result
from transformations.shape import Part

SETTINGS = load_settings().model_copy(update={"stream": Stream(commits_per_batch=1)})
HELD_SHORTLY = SETTINGS.model_copy(update={"lateness": Lateness(hold=timedelta(0))})
"""The engine has closed a window when late events come two micro-batches after the mark has passed it."""
TEAM_SCORES = catalogue()["team_scores"]

ON_TIME = [
    pop(f"on-time-{n}", n * 7, bubbles=n + 1, player=f"player-{n % 3}", received_at=at(n * 7 + 1)) for n in range(24)
]
BEATS = [heartbeat("beat", 1200), heartbeat("beat again", 1200)]
LATE = [
    pop("late", 65, bubbles=1000, player="subway", received_at=at(700)),
    pop("late-too", 68, bubbles=2000, received_at=at(700)),
]


@pytest.fixture(scope="module")
def ingested(spark: SparkSession, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A lake with four commits in its log, copied for each fault."""
    home = tmp_path_factory.mktemp("faults")
    landing = home / "landing"
    landing.mkdir()
    land(landing, "1.jsonl", [*ON_TIME, ON_TIME[3]])
    for name, lines in (("2.jsonl", BEATS[:1]), ("3.jsonl", BEATS[1:]), ("4.jsonl", LATE)):
        land(landing, name, lines)
    lake = create_lake(home / "lake")
    ingest(spark, lake, landing, SETTINGS, files_per_batch=1)
    recompute(spark, lake, TEAM_SCORES, SETTINGS)
    return lake.path


@pytest.fixture
def lake(ingested: Path, tmp_path: Path) -> Iterator[Lake]:
    shutil.copytree(ingested, tmp_path / "lake")
    yield open_lake(tmp_path / "lake")
    shutil.rmtree(tmp_path / "lake")


def judged(spark: SparkSession, lake: Lake, *, settings: Settings = SETTINGS) -> Verdict:
    stream(spark, lake, [TEAM_SCORES], settings)
    return reconcile(spark, lake, [TEAM_SCORES], settings)


def causes(verdict: Verdict) -> list[tuple[list[str], list[str]]]:
    return [(one.causes, one.event_ids) for one in verdict.results[0].differences]


def seen_by_the_engine(monkeypatch: pytest.MonkeyPatch, change: Callable[[DataFrame], DataFrame]) -> None:
    """Let the engine see other rows than the log has."""
    honest = Result.placed

    def placed(self: Result, events: DataFrame) -> DataFrame:
        return honest(self, change(events) if events.isStreaming else events)

    monkeypatch.setattr(Result, "placed", placed)


def test_without_a_fault_the_layers_agree(spark: SparkSession, lake: Lake) -> None:
    verdict = judged(spark, lake)
    [found] = verdict.results
    assert (verdict.status, verdict.exit_code) == ("agree", 0)
    assert (found.equal, found.differing, found.engine_wrong, found.duplicate_revisions) == (3, 0, 0, 0)
    assert found.engine_alone == 3
    assert verdict.audit.balanced
    assert verdict.audit.total("landed") == len(ON_TIME) + 1 + len(BEATS) + len(LATE)


def test_a_repair_is_not_the_engines_own(spark: SparkSession, lake: Lake) -> None:
    (lake.result_file(TEAM_SCORES.id)).unlink()  # the hold belongs to the result; this lake is to have another
    verdict = judged(spark, lake, settings=HELD_SHORTLY)
    [found] = verdict.results
    assert (verdict.status, found.equal, found.engine_wrong, found.engine_alone) == ("agree", 3, 0, 2)


def test_a_recompute_that_ends_during_the_comparison_does_not_show(
    spark: SparkSession, lake: Lake, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It was computed at an older version of the log: taken for the answer at the pinned one, it would differ."""
    honest, ended = reconciliation.reconcile.computed, []

    def overtaken(*arguments: Any) -> list[Coverage]:
        covered = honest(*arguments)
        recompute(spark, lake, TEAM_SCORES, SETTINGS, log_version=1, go_back=True)
        ended.append(covered)
        return covered

    monkeypatch.setattr(reconciliation.reconcile, "computed", overtaken)
    verdict = judged(spark, lake)
    assert (verdict.status, verdict.results[0].equal) == ("agree", 3)
    assert len(ended) == 1, "what batch had computed is asked once, or two answers could be mixed"
    assert computed(lake, TEAM_SCORES)[0].log_version == 1


def test_a_lost_event_is_found_and_named(spark: SparkSession, lake: Lake, monkeypatch: pytest.MonkeyPatch) -> None:
    seen_by_the_engine(monkeypatch, lambda events: events.where("event_id != 'on-time-2'"))
    verdict = judged(spark, lake)
    assert verdict.exit_code == 1
    assert causes(verdict) == [(["lost"], ["on-time-2"])]
    assert verdict.results[0].engine_wrong == 1


def test_an_event_that_is_counted_twice_is_a_duplicate(
    spark: SparkSession, lake: Lake, monkeypatch: pytest.MonkeyPatch
) -> None:
    twice = F.explode(
        F.when(F.col("event_id") == "on-time-4", F.array(F.lit(1), F.lit(2))).otherwise(F.array(F.lit(1)))
    )
    seen_by_the_engine(monkeypatch, lambda events: events.withColumn("again", twice).drop("again"))
    verdict = judged(spark, lake)
    assert verdict.exit_code == 1
    assert causes(verdict) == [(["duplicate"], ["on-time-4"])]


def test_a_commit_of_the_log_that_is_skipped_is_lost(
    spark: SparkSession, lake: Lake, monkeypatch: pytest.MonkeyPatch
) -> None:
    seen_by_the_engine(monkeypatch, lambda events: events.where("batch != 0"))
    verdict = judged(spark, lake)
    assert verdict.exit_code == 1
    assert {tuple(names) for names, _ in causes(verdict)} == {("lost",)}
    assert verdict.results[0].unexplained == 0


def test_one_late_event_that_the_repair_misses_is_late(
    spark: SparkSession, lake: Lake, monkeypatch: pytest.MonkeyPatch
) -> None:
    honest = Result.repaired

    def forgetful(self: Result, part: Part, touched: DataFrame) -> DataFrame:
        return honest(self, replace(part, rows=part.rows.where("event_id != 'late'")), touched)

    monkeypatch.setattr(Result, "repaired", forgetful)
    (lake.result_file(TEAM_SCORES.id)).unlink()  # as above
    verdict = judged(spark, lake, settings=HELD_SHORTLY)
    assert verdict.exit_code == 1
    assert causes(verdict) == [(["late"], ["late"])]


def test_under_the_policy_drop_every_difference_is_due_to_named_late_events(spark: SparkSession, lake: Lake) -> None:
    (lake.result_file(TEAM_SCORES.id)).unlink()  # the policy belongs to the result; this lake is to have another
    dropping = SETTINGS.model_copy(update={"lateness": SETTINGS.lateness.model_copy(update={"policy": "drop"})})
    verdict = judged(spark, lake, settings=dropping)
    assert verdict.exit_code == 1
    assert causes(verdict) == [(["late"], ["late", "late-too"])]
    assert verdict.results[0].late_events == 2


def test_a_dropped_transaction_id_shows_as_a_revision_written_twice(
    spark: SparkSession, lake: Lake, monkeypatch: pytest.MonkeyPatch
) -> None:
    honest = Appender.append
    crashes = [0]  # after the sink's commit of this micro-batch and before the commit log, once

    def careless(*args: Any, transaction: Transaction, **kwargs: Any) -> int:
        appended = honest(*args, transaction=None, **kwargs)
        if transaction.number in crashes:
            crashes.clear()
            raise RuntimeError("crash after the append")
        return appended

    monkeypatch.setattr(Appender, "append", careless)
    with pytest.raises(StreamFailed):
        stream(spark, lake, [TEAM_SCORES], SETTINGS)
    verdict = judged(spark, lake)
    assert verdict.exit_code == 1
    assert verdict.results[0].duplicate_revisions > 0
    assert {tuple(names) for names, _ in causes(verdict)} == {("duplicate",)}


def test_processing_time_and_copies_explain_the_control(spark: SparkSession, lake: Lake) -> None:
    legacy(spark, lake, SETTINGS)
    verdict = reconcile(spark, lake, [TEAM_SCORES], SETTINGS, candidate="legacy")
    [found] = verdict.results
    assert (verdict.exit_code, found.unexplained) == (1, 0)
    assert found.by_cause["processing time"] >= 3
    assert found.by_cause["duplicate"] >= 1


def test_a_changed_aggregation_is_logic_drift(spark: SparkSession, lake: Lake, tmp_path: Path) -> None:
    stream_team_scores_wrongly(lake.path, tmp_path / "other")
    verdict = reconcile(spark, lake, [TEAM_SCORES], SETTINGS)
    [found] = verdict.results
    assert verdict.exit_code == 1
    assert found.candidate_code != found.batch_code
    assert found.by_cause == {"logic drift": 3}
