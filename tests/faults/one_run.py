"""What tests of faults run and look at: three results of different shapes, one run, and what came of it."""

from collections import Counter
from collections.abc import Callable, Sequence
from datetime import UTC, datetime
from pathlib import Path

from pyspark.sql import SparkSession

from lakehouse.changelogs import boundary, changelog_name, read_kappa
from lakehouse.commits import commits
from lakehouse.lake import Lake
from lakehouse.settings import Settings, Stream
from lakehouse.tables import read_table
from speed_layer.ingest import ingest
from speed_layer.stream import stream
from transformations.catalogue import catalogue
from transformations.result import Result

SCORES, SESSIONS, HOT = (catalogue()[name] for name in ("team_scores", "player_sessions", "hot_minutes"))
"""A tumbling window and a session, which the engine computes, and a sliding window, which is recomputed."""
FUTURE = "time in the future: more than 10 minutes after it was received"
RECEIVED_LATER = "time in the future: received more than 10 minutes after the clock of ingestion"
BEFORE_2000 = "time before the floor of 2000-01-01T00:00:00+00:00"


def cut_into(settings: Settings, commits_per_batch: int) -> Settings:
    """The settings with so many commits of the log a micro-batch of the stream."""
    return settings.model_copy(update={"stream": Stream(commits_per_batch=commits_per_batch)})


def one_run(
    spark: SparkSession,
    lake: Lake,
    landing: Path,
    results: Sequence[Result],
    settings: Settings,
    *,
    files_per_batch: int | None = None,
    clock: Callable[[], datetime] = lambda: datetime.now(UTC),
) -> None:
    """Ingest what has landed, and let the streams catch up."""
    ingest(spark, lake, landing, settings, files_per_batch=files_per_batch, clock=clock)
    stream(spark, lake, results, settings)


def ids(spark: SparkSession, lake: Lake, table: str) -> list[str]:
    """The ids of the events in a table of the log, in order."""
    return sorted(row.event_id for row in read_table(spark, lake, table).select("event_id").collect())


def reasons(spark: SparkSession, lake: Lake) -> Counter[str]:
    """How many lines are in quarantine, by the reason."""
    return Counter(row.reason for row in read_table(spark, lake, "quarantine").select("reason").collect())


def repairs(lake: Lake, result: Result) -> int:
    """How many revisions with the cause `late` the commits of a changelog speak of."""
    return sum(commit["late"] for commit in commits(lake, changelog_name(result)) if "late" in commit)


def answer(spark: SparkSession, lake: Lake, result: Result) -> list[tuple[object, ...]]:
    """What the stream answers now, settled or not, without the stamps."""
    rows = read_kappa(spark, lake, result, boundary(lake, result)).select(*result.schema.names)
    return sorted(map(tuple, rows.collect()), key=repr)
