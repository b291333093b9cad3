"""What each layer costs: the table of the report. What the architectures cost, `architectures` makes of it.

CPU, wall time and rows are what the runs noted of themselves, those that were killed too, for the results that cannot be
told apart (`accounts`). Storage is the live data files of a layer's
tables, as Delta counts them, and the files of its checkpoint on disk; what a vacuum would remove is not counted.
"""

from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass
from functools import reduce
from pathlib import Path
from statistics import median
from typing import Literal

from pyspark.sql import Column, DataFrame, SparkSession
from pyspark.sql import functions as F

from lakehouse.arrivals import ARRIVALS, QUARANTINED
from lakehouse.batches import batch_name
from lakehouse.changelogs import boundary, changelog_name, read_kappa
from lakehouse.control import CONTROL
from lakehouse.errors import NothingToCompare
from lakehouse.lake import Lake
from lakehouse.log import events
from lakehouse.runs import Job, runs
from lakehouse.table_files import read_files, table_files
from reconciliation.accounts import account, together
from reconciliation.pins import controlled
from transformations.result import Result

Layer = Literal["kappa", "replays", "batch", "legacy", "ingest (shared)"]
JOBS: dict[Layer, Job] = {
    "kappa": "stream",
    "replays": "replay",
    "batch": "recompute",
    "legacy": "legacy",
    "ingest (shared)": "ingest",
}


@dataclass(frozen=True)
class LayerCost:
    """One layer. What its runs would have noted is none where the lake has its tables but no note of a run.

    `freshness_seconds` is the median over the layer's rows of the time from the ingestion of the newest event that a row
    could contain to the writing of the row, for the results that the control is judged on too. `batch_seconds` is the
    median length of a micro-batch, for the streams. `results` are those that the runs were for, where a run is for some.
    """

    layer: Layer
    results: tuple[str, ...]
    runs: int
    unended: int
    cpu_seconds: float | None
    wall_seconds: float | None
    rows_read: int | None
    rows_written: int | None
    table_bytes: int
    checkpoint_bytes: int
    freshness_seconds: float | None
    batch_seconds: float | None

    @property
    def storage_bytes(self) -> int:
        return self.table_bytes + self.checkpoint_bytes


def layer_costs(spark: SparkSession, lake: Lake, results: Sequence[Result]) -> list[LayerCost]:
    """The costs of the layers that have run in this lake, for `results`."""
    noted = runs(lake)
    group = together(noted, [result.id for result in results])
    tables: dict[Layer, list[str]] = {
        "replays": [],  # what a replay builds is the stream's
        "kappa": [changelog_name(result) for result in results],
        "batch": [batch_name(result) for result in results],
        "legacy": [CONTROL],
        "ingest (shared)": [lake.of_log(ARRIVALS)],
    }
    checkpoints: dict[Layer, list[str]] = {
        "kappa": [result.id for result in results],
        "replays": [],
        "batch": [],
        "legacy": ["legacy"],
        "ingest (shared)": ["ingest"],
    }
    fresh = _freshness(spark, lake, controlled(lake, results))
    costs = []
    for layer, job in JOBS.items():
        present = [name for name in tables[layer] if lake.has(name)]
        mine = account(noted, job, group)
        if not present and not (layer == "replays" and mine.runs):
            continue
        lengths = [seconds for run in mine.runs for seconds in run.batch_seconds]
        costs.append(
            LayerCost(
                layer=layer,
                results=tuple(sorted({each for run in mine.runs for each in run.results})),
                runs=len(mine.runs),
                unended=mine.unended,
                cpu_seconds=mine.cpu_seconds,
                wall_seconds=mine.wall_seconds,
                rows_read=mine.rows_read,
                rows_written=mine.rows_written,
                table_bytes=sum(table_files(lake, name).bytes for name in present),
                checkpoint_bytes=sum(_bytes_in(lake.checkpoint(name)) for name in checkpoints[layer]),
                freshness_seconds=fresh.get(layer),
                batch_seconds=median(lengths) if lengths else None,
            )
        )
    return costs


def _bytes_in(directory: Path) -> int:
    """A running stream replaces files of its checkpoint; one that is gone when it is measured counts as nothing."""
    total = 0
    for file in directory.rglob("*"):
        try:
            total += file.stat().st_size if file.is_file() else 0
        except FileNotFoundError:
            continue
    return total


def _freshness(spark: SparkSession, lake: Lake, results: Sequence[Result]) -> dict[str, float]:
    """The median delay of each layer, in one Spark job for all of them."""
    delays = [delay for result in results for delay in _delays(spark, lake, result)]
    if lake.has(CONTROL):
        delays.append(_arrival_delays(spark, lake))
    if not delays:
        return {}
    both = reduce(DataFrame.unionByName, delays).groupBy("layer").agg(F.median("millis").alias("millis"))
    return {row.layer: float(row.millis) / 1000 for row in both.collect()}


def _delays(spark: SparkSession, lake: Lake, result: Result) -> Iterator[DataFrame]:
    """For each row of the stream's and the batch layer's answer, how long after its newest event it was written.

    The newest of those that had been ingested by then: a batch row that new events have overtaken is not younger for it.
    """
    log = events(read_files(spark, lake, lake.of_log(ARRIVALS))).where(result.concerns())
    about = F.struct(*result.identity, "layer", "written_at").alias("about")
    keys = [
        rows.withColumn("layer", F.lit(layer)).select(about, *result.grouping, "window_start", "window_end")
        for layer, rows in _answers(spark, lake, result)
    ]
    if keys:
        known = result.window.bearing(log, reduce(DataFrame.unionByName, keys), result.grouping)
        known = known.select("about", "ingested_at").where("ingested_at <= about.written_at")
        newest = known.groupBy("about").agg(F.max("ingested_at").alias("ingested_at"))
        yield newest.select("about.layer", _between("ingested_at", "about.written_at"))


def _answers(spark: SparkSession, lake: Lake, result: Result) -> Iterator[tuple[Layer, DataFrame]]:
    with suppress(NothingToCompare):  # the stream has not run
        yield "kappa", read_kappa(spark, lake, result, boundary(lake, result))
    if lake.has(batch_name(result)):
        yield "batch", read_files(spark, lake, batch_name(result)).withColumn("written_at", F.col("computed_at"))


def _arrival_delays(spark: SparkSession, lake: Lake) -> DataFrame:
    """The control answers at query time, so its delay is that of the arrivals it has appended."""
    origin = ("file", "line", "ingested_at")
    ingested = read_files(spark, lake, ARRIVALS).where(F.col("fate") != QUARANTINED).select(*origin)
    appended = read_files(spark, lake, CONTROL).select("file", "line", "written_at")
    both = appended.join(ingested, ["file", "line"])
    return both.select(F.lit("legacy").alias("layer"), _between("ingested_at", "written_at"))


def _between(first: str, last: str) -> Column:
    return (F.unix_millis(last) - F.unix_millis(first)).alias("millis")
