"""A nightly batch layer has computed the days until midnight: what came after it is in flight, and no difference."""

from datetime import timedelta

import pytest
from deliveries import START, at, heartbeat, land, pop
from deltalake import CommitProperties, DeltaTable, write_deltalake
from game import catalogue
from pyspark.sql import SparkSession

from batch_layer.recompute import recompute
from ingestion.ingest import ingest
from lakehouse.batches import Interval
from lakehouse.changelogs import changelog_name
from lakehouse.lake import Lake, create_lake
from lakehouse.settings import load_settings
from reconciliation.reconcile import reconcile
from speed_layer.legacy import legacy
from speed_layer.stream import stream

SETTINGS = load_settings()
NAMES = ("team_scores", "player_sessions", "pop_streaks")
RESULTS = [catalogue()[name] for name in NAMES]
MIDNIGHT = START + timedelta(minutes=30)
COVERED = {"until": Interval(None, MIDNIGHT), "from": Interval(MIDNIGHT, None)}


@pytest.fixture(scope="module", params=COVERED)
def half(spark: SparkSession, tmp_path_factory: pytest.TempPathFactory, request: pytest.FixtureRequest) -> Lake:
    """An hour of pops, of which batch has computed one half. What the second test invents comes after the first."""
    landing = tmp_path_factory.mktemp("landing")
    lake = create_lake(tmp_path_factory.mktemp("half") / "lake")
    lines = [
        pop(f"{number}", number * 60, player=f"player-{number % 2}", received_at=at(number * 60 + 1))
        for number in range(60)
    ]
    land(landing, "1.jsonl", [*lines, heartbeat("beat", 9000)])
    ingest(spark, lake, landing, SETTINGS)
    stream(spark, lake, RESULTS, SETTINGS)
    for result in RESULTS:
        recompute(spark, lake, result, SETTINGS, interval=COVERED[request.param])
    return lake


def test_what_batch_never_computed_is_in_flight_and_no_difference(spark: SparkSession, half: Lake) -> None:
    verdict = reconcile(spark, half, RESULTS, SETTINGS)
    scores = next(each for each in verdict.results if each.result == "team_scores")
    assert (scores.status, scores.equal, scores.behind) == ("agree", 30, 30)
    assert all(each.differing == 0 for each in verdict.results)
    legacy(spark, half, SETTINGS)
    [control] = reconcile(spark, half, RESULTS[:1], SETTINGS, candidate="legacy").results
    assert (control.differing, control.unexplained, control.behind) == (0, 0, 30)


def test_a_row_that_no_event_gives_is_a_difference_wherever_it_is(spark: SparkSession, half: Lake) -> None:
    scores = RESULTS[0]
    for minutes in (-10, 70):
        _invent(half, changelog_name(scores), timedelta(minutes=minutes))
    [verdict] = reconcile(spark, half, [scores], SETTINGS).results
    assert (verdict.status, verdict.differing, verdict.unexplained) == ("differ", 2, 2)


def _invent(lake: Lake, table: str, after: timedelta) -> None:
    """A row of the first window once more, some time after it, as if the stream had written it."""
    known = DeltaTable(lake.table(table))
    rows = known.to_pyarrow_table()
    first = min(rows.to_pylist(), key=lambda row: row["window_start"])
    times = {name: first[name] + after for name in ("window_start", "window_end")}
    said = next(commit["userMetadata"] for commit in known.history() if "userMetadata" in commit)
    write_deltalake(
        lake.table(table),
        type(rows).from_pylist([{**first, **times}], schema=rows.schema),
        mode="append",
        commit_properties=CommitProperties(custom_metadata={"userMetadata": said}),
    )
