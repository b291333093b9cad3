"""What tests of faults run and look at: three results of different shapes, one run, and what came of it."""

from collections.abc import Callable, Sequence
from datetime import UTC, datetime
from pathlib import Path

from game import catalogue
from logged import rows
from pyspark.sql import SparkSession

from ingestion.ingest import ingest
from lakehouse.changelogs import boundary, changelog_name, read_kappa
from lakehouse.commits import commits
from lakehouse.lake import Lake
from lakehouse.settings import Settings, Stream
from speed_layer.stream import stream
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
    ingest(None, lake, landing, settings, files_per_batch=files_per_batch, clock=clock)
    stream(spark, lake, results, settings)


def ids(lake: Lake, fate: str) -> list[str]:
    """The ids of the events, or of the copies, in order."""
    return sorted(event_id for (event_id,) in rows(lake, fate, "event_id"))


def repairs(lake: Lake, result: Result) -> int:
    """How many revisions with the cause `late` the commits of a changelog speak of."""
    return sum(commit["late"] for commit in commits(lake, changelog_name(result)) if "late" in commit)


def answer(spark: SparkSession, lake: Lake, result: Result) -> list[tuple[object, ...]]:
    """What the stream answers now, settled or not, without the stamps."""
    found = read_kappa(spark, lake, result, boundary(lake, result)).select(*result.schema.names)
    return sorted(map(tuple, found.collect()), key=repr)
