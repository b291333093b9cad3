"""Spark's engine: ingestion as a Structured Streaming query over the manifests, one manifest a micro-batch.

Its checkpoint says which manifests have been offered; which are in the log, the log says. So a checkpoint that is behind or
gone, because it was lost or because the embedded engine went on meanwhile, offers some again, and they are skipped.
"""

from collections.abc import Callable
from datetime import timedelta
from pathlib import Path

from pyspark.sql import DataFrame, SparkSession

from lakehouse.lake import Lake
from lakehouse.queries import Query, Watched, run

MANIFEST = "place long, path string, modified_ns long, size long"


def run_structured(
    spark: SparkSession,
    lake: Lake,
    take: Callable[[int], int],
    note: Callable[[], None],
    *,
    every: timedelta | None,
    stop: Callable[[], bool],
    rebuild: bool,
    remedy: str,
) -> Watched:
    """Take in every manifest, and with `every` those that `note` adds until `stop` says so."""
    checkpoint = lake.checkpoint("ingest")
    if rebuild:
        _put_aside(checkpoint)
    source = (
        spark.readStream.schema(MANIFEST)
        .option("maxFilesPerTrigger", 1)
        .option("maxFileAge", "36500d")  # the default silently leaves out what is a week behind the newest
        .json(str(lake.landings))
    )

    def sink(_: DataFrame, batch: int) -> int:
        return take(batch)  # which reads the manifest itself: as rows of the query it would be a Spark job

    query = Query("ingest", source, sink, checkpoint, remedy=remedy)
    [ended] = run([query], every=every, meanwhile=note if every is not None else None, stop=stop, lake=lake)
    return ended


def _put_aside(checkpoint: Path) -> None:
    """Keep a damaged checkpoint for inspection, under another name."""
    if checkpoint.exists():
        before = len(list(checkpoint.parent.glob(f"{checkpoint.name}.damaged-*")))
        checkpoint.rename(checkpoint.with_name(f"{checkpoint.name}.damaged-{before + 1}"))
