"""What is kept of the micro-batches of a query, and how queries that run side by side end."""

import json
from collections.abc import Callable
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
from deliveries import heartbeat, land, pop
from pyspark.sql import DataFrame, SparkSession

from ingestion.ingest import ingest
from lakehouse.errors import StreamFailed
from lakehouse.lake import Lake
from lakehouse.log import position
from lakehouse.progress import BUCKETS, Progress, note_progress, progress
from lakehouse.queries import LENGTHS_KEPT, Query, run
from lakehouse.runs import runs
from lakehouse.settings import Settings, Stream

OFTEN = timedelta(milliseconds=100)


def test_a_micro_batch_counts_in_every_bucket_that_it_did_not_exceed() -> None:
    found = Progress("team_scores@1", "2026-03-01T10:00:00.000Z")
    for batch, seconds in enumerate((0.25, 0.26, 3.0, 100.0)):
        found.add(batch=batch, rows=10, seconds=seconds, at="2026-03-01T10:00:01.000Z")
    assert found.buckets == {"0.25": 1, "0.5": 2, "1": 2, "2": 2, "4": 3, "8": 3, "16": 3, "32": 3, "64": 3}
    assert list(found.buckets) == [str(bound) for bound in BUCKETS]
    assert (found.batches, found.rows, found.seconds) == (4, 40, 103.51)
    assert found.last == {"batch": 3, "rows": 10, "seconds": 100.0, "at": "2026-03-01T10:00:01.000Z"}


def test_what_is_noted_is_read_back_by_name_and_drafts_are_left_out(lake: Lake) -> None:
    assert progress(lake) == []
    noted = [Progress(name, "2026-03-01T10:00:00.000Z", batches=3) for name in ("team_scores@1", "ingest")]
    for each in noted:
        note_progress(lake, each)
    (lake.path / "progress" / ".ingest.json.123").write_text("half a")
    assert progress(lake) == [noted[1], noted[0]]


def test_a_continuous_ingestion_notes_its_lines_and_ends_well_when_told_to(
    spark: SparkSession, lake: Lake, landing: Path, settings: Settings
) -> None:
    land(landing, "1.jsonl", [pop("a", 0), pop("b", 1), pop("a", 0), "no event"])
    often = settings.model_copy(update={"stream": Stream(interval=OFTEN)})
    landed = False

    def told() -> bool:
        nonlocal landed
        noted = {each.query: each.rows for each in progress(lake)}
        if noted.get("ingest") == 4 and not landed:
            landed = True
            land(landing, "2.jsonl", [heartbeat("c", 2)])
        return noted.get("ingest") == 5

    ingest(spark, lake, landing, often, continuous=True, stop=told)
    assert position(lake).lines == 5
    [found] = progress(lake)
    assert (found.batches, found.rows) == (2, 5)
    assert found.last is not None and found.last["batch"] == 1
    [cost] = runs(lake)
    assert (cost.batches, cost.rows_read, cost.rows_written) == (2, 5, 3)
    assert len(cost.batch_seconds) == 2


@pytest.fixture
def query(spark: SparkSession, landing: Path, tmp_path: Path) -> Callable[..., Query]:
    land(landing, "1.jsonl", [pop("a", 0)])

    def of(name: str, sink: Callable[[DataFrame, int], None]) -> Query:
        return Query(name, spark.readStream.text(str(landing)), sink, tmp_path / name)

    return of


def nothing(_rows: DataFrame, _batch: int) -> None:
    """A sink that is content with what comes."""


def test_a_query_that_fails_ends_those_that_would_go_on(query: Callable[..., Query]) -> None:
    def fails(_rows: DataFrame, _batch: int) -> None:
        raise ValueError("the disk is full")

    with pytest.raises(StreamFailed, match="query of second failed with ValueError: the disk is full"):
        run([query("first", nothing), query("second", fails)], every=OFTEN)


def test_only_progress_that_is_new_is_fetched(query: Callable[..., Query], monkeypatch: pytest.MonkeyPatch) -> None:
    parsed: list[str] = []
    loads = json.loads

    def counted(text: str, **options: Any) -> Any:
        parsed.append(text)
        return loads(text, **options)

    monkeypatch.setattr(json, "loads", counted)
    [watched] = run([query("once", nothing)])
    assert (watched.progress.batches, len(watched.lengths)) == (1, 1)
    before = len(parsed)
    watched.look()
    assert len(parsed) == before > 0
    assert watched.lengths.maxlen == LENGTHS_KEPT
