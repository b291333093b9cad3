"""Ingestion: from landing files into the log, the one place where order, copies and lateness are decided.

    parity ingest --lake LAKE --landing DIR

Landing files are noted in manifests, one a micro-batch. Their lines are judged, put behind the log and committed. Two engines
run the same functions: Spark judges on all cores of its executors, as a Structured Streaming query over the manifests; the
embedded one does all of it in this process, without a JVM. They write the same log, and either can go on with the other's.
"""

from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path

from pyspark.sql import SparkSession

from ingestion.blocks import cut
from ingestion.embedded import run_embedded
from ingestion.intake import Intake, struck_here
from ingestion.judging import Judges, judged_by, judged_here, with_origin
from ingestion.rules import Rules, rules_of
from ingestion.structured import run_structured
from ingestion.table import create_arrivals
from lakehouse.errors import CheckpointLost
from lakehouse.failpoints import failpoint
from lakehouse.fingerprint import keep_code
from lakehouse.lake import Lake
from lakehouse.landings import Landings, as_noted, manifest, noted_at, refuse_changed
from lakehouse.locks import exclusive_here
from lakehouse.log import position
from lakehouse.nameless import agree_on_key
from lakehouse.runs import Ended, measured
from lakehouse.settings import Settings
from transformations.durations import to_millis


def ingest(
    spark: SparkSession | None,
    lake: Lake,
    landing: Path,
    settings: Settings,
    *,
    files_per_batch: int | None = None,
    continuous: bool = False,
    rebuild: bool = False,
    clock: Callable[[], datetime] = lambda: datetime.now(UTC),
    stop: Callable[[], bool] = lambda: False,
) -> None:
    """Ingest all that has landed, then stop; or go on with what lands until `stop` says so.

    `[ingestion] engine` says who judges; a session is needed for Spark only. `clock` is read when files are noted, and no
    line of them is believed beyond it. With `rebuild` the checkpoint of Spark's engine is made anew; the log stays.
    """
    structured = settings.ingestion.engine == "spark"
    if structured and spark is None:
        raise ValueError("Spark's engine needs a session")
    with (
        exclusive_here(lake.lock_file("ingest"), wait=False),
        measured(spark if structured else None, lake, "ingest", []) as cost,
    ):
        agree_on_key(lake, settings.ingestion.pseudonym_key)
        create_arrivals(lake, horizon=settings.retention.horizon)
        landings = Landings(lake, landing, files_per_batch=files_per_batch or settings.ingestion.files_per_batch)
        _refuse_lost_manifests(lake, landings)
        rules = rules_of(lake, settings)
        keep_code(lake, rules.fingerprint)
        landings.note(clock)
        start = position(lake)

        with Intake(lake, struck_here(lake, spark)) as intake:
            judges = judged_by(spark) if structured and spark is not None else judged_here

            def take(batch: int) -> int:
                taken = ingest_batch(lake, batch, intake, rules, judges)
                failpoint(spark, "ingest.appended", "arrivals", batch)
                return taken

            def note() -> None:
                # What lands during a micro-batch goes into the next as a whole. A manifest whenever a file is seen would
                # be a micro-batch each, and those that take longer than files need to land would fall behind for ever.
                if position(lake).batch + 1 >= landings.manifests:
                    landings.note(clock)

            every = settings.stream.interval if continuous else None
            ended: Ended
            if structured and spark is not None:
                remedy = _rebuilds(lake, landing)
                ended = run_structured(spark, lake, take, note, every=every, stop=stop, rebuild=rebuild, remedy=remedy)
            else:
                ended = run_embedded(lake, take, note, landings, every=every, stop=stop)
        cost.took(ended)
        end = position(lake)
        cost.rows_written = end.seq - start.seq
        cost.rows_read = end.lines - start.lines


def ingest_batch(lake: Lake, batch: int, intake: Intake, rules: Rules, judges: Judges) -> int:
    """One micro-batch: read the files of its manifest, judge every line, and commit them.

    Returns how many lines it took in: none if it had been taken in before. The manifest has the number of its micro-batch.
    """
    before = position(lake)
    if batch <= before.batch:
        return 0
    files = as_noted(manifest(lake, batch))
    blocks, at = cut(files), to_millis(noted_at(lake, batch))
    tables = with_origin(blocks, judges(blocks, rules, at), batch=batch, rules=rules, ingested_at=at)
    after = intake.take_in(batch, tables, check=lambda: refuse_changed(files))
    return after.lines - before.lines


def _refuse_lost_manifests(lake: Lake, landings: Landings) -> None:
    """Refuse if the log has a micro-batch that no manifest is left of: new files would get its number, and be skipped."""
    last = position(lake).batch
    if last >= landings.manifests:
        raise CheckpointLost(
            f"Manifests of landing files are gone: the log has micro-batch {last}, {lake.landings} has {landings.manifests} "
            "manifests, and which files have been read is known from them alone. Nothing was written. Put them back from a "
            "backup, or ingest the landing files into a new lake."
        )


def _rebuilds(lake: Lake, landing: Path) -> str:
    return (
        f"If its checkpoint is damaged, `parity ingest --lake {lake.path} --landing {landing} --rebuild` makes it anew from "
        "the log and the manifests; no line is read into the log twice."
    )
