"""A warm micro-batch of the stream: seconds, CPU and Spark jobs, for a log of many small commits.

    .venv/bin/python -m benchmarks.micro_batch [--events 5000] [--result team_scores]

The log is streamed from its first commit on, one commit a micro-batch, again and again in one process; the last round is told.
"""

import shutil
import tempfile
from pathlib import Path
from statistics import median
from typing import Annotated

import typer
from pyspark.sql import SparkSession
from rich.console import Console
from rich.table import Table

from ingestion.ingest import ingest
from lakehouse.lake import create_lake
from lakehouse.pipelines import default_pipeline
from lakehouse.runs import runs
from lakehouse.session import spark_session
from lakehouse.settings import load_settings
from simulator.game import simulate
from speed_layer.stream import stream

BATCHES, ROUNDS = 20, 4
TRIED = {"stream.commits_per_batch": "1", "ingestion.files_per_batch": "1", "spark.compiler": "quick"}
console = Console()


def jobs(spark: SparkSession) -> int:
    """How many jobs the session has run so far."""
    return int(spark.sparkContext._jsc.sc().dagScheduler().numTotalJobs())


def main(
    events: Annotated[int, typer.Option(help="Events of a micro-batch.")] = 5_000,
    result: Annotated[str, typer.Option(help="The result, by its name.")] = "team_scores",
) -> None:
    home = Path(tempfile.mkdtemp(prefix="parity-micro-batch-"))
    try:
        settings = load_settings(tried=TRIED)
        simulate(home / "landing", events=BATCHES * events, files=BATCHES, senders=1000)
        lake = create_lake(home / "lake")
        spark = spark_session(settings.spark, log_file=lake.log_file)
        ingest(spark, lake, home / "landing", settings)
        table = Table(title=f"{result}: micro-batches of {events:,} events, one process")
        for name in ("round", "micro-batches", "one of them, median (s)", "CPU s of one", "Spark jobs of one"):
            table.add_column(name, justify="right")
        for number in range(1, ROUNDS + 1):
            before = jobs(spark)
            stream(spark, lake, [default_pipeline().catalogue()[result]], settings, rebuild=number > 1)
            run = runs(lake)[-1]
            each = (median(run.batch_seconds), run.cpu_seconds / run.batches, (jobs(spark) - before) / run.batches)
            table.add_row(str(number), str(run.batches), *(f"{value:.2f}" for value in each))
        console.print(table)
    finally:
        shutil.rmtree(home)


if __name__ == "__main__":
    typer.run(main)
