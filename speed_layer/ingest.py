"""Ingestion: from landing files into the log, the one place where order, copies and lateness are decided.

    parity ingest --lake LAKE --landing DIR

A Structured Streaming query takes one manifest of landing files a micro-batch; what becomes of their lines is decided
by the intake.
"""

from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path

from pyspark.sql import DataFrame, SparkSession

from lakehouse.errors import CheckpointLost
from lakehouse.failpoints import failpoint
from lakehouse.fingerprint import keep_code, parser_fingerprint
from lakehouse.lake import Lake
from lakehouse.landings import Landings, as_noted, manifest, noted_at, refuse_changed, refuse_changed_since
from lakehouse.locks import exclusive
from lakehouse.log import create_log, position
from lakehouse.nameless import agree_on_key
from lakehouse.queries import Query, run
from lakehouse.runs import measured
from lakehouse.settings import Settings
from speed_layer.intake import half_written, judge_of, judged, take_in
from speed_layer.lines import numbered, read_lines
from speed_layer.nameless import without_names

MANIFEST = "place long, path string, modified_ns long, size long"


def ingest(
    spark: SparkSession,
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

    `clock` is read when files are noted, and no line of them is believed beyond it. With `rebuild` the checkpoint is made
    anew: what the log has is not read again.
    """
    size = files_per_batch or settings.ingestion.files_per_batch
    checkpoint = lake.checkpoint("ingest")
    with (
        exclusive(spark, lake.lock_file("ingest"), wait=False),
        measured(spark, lake, "ingest", []) as cost,
    ):
        agree_on_key(lake, settings.ingestion.pseudonym_key)
        create_log(spark, lake, horizon=settings.retention.horizon)
        landings = Landings(lake, landing, files_per_batch=size)
        _refuse_lost_manifests(lake, landings)
        if rebuild:
            _put_aside(checkpoint)
        else:
            _refuse_lost_checkpoint(lake, landing, checkpoint)
        keep_code(lake, parser_fingerprint())
        landings.note(clock)

        def note_when_idle() -> None:
            # What lands during a micro-batch goes into the next as a whole. A manifest whenever a file is seen would be a
            # micro-batch each, and those that take longer than files need to land would fall behind for ever.
            if position(lake).batch + 1 >= landings.manifests:
                landings.note(clock)

        def sink(rows: DataFrame, batch: int) -> int:
            taken = ingest_batch(rows.sparkSession, batch, lake, settings)
            failpoint(rows.sparkSession, "ingest.appended", "events", batch)
            return taken

        source = (
            spark.readStream.schema(MANIFEST)
            .option("maxFilesPerTrigger", 1)
            .option("maxFileAge", "36500d")  # the default silently leaves out what is a week behind the newest
            .json(str(lake.landings))
        )
        query = Query(
            "ingest", source, sink, checkpoint, remedy=f"If its checkpoint is damaged, {_rebuilds(lake, landing)}"
        )
        start = position(lake)
        [ended] = run(
            [query],
            every=settings.stream.interval if continuous else None,
            meanwhile=note_when_idle if continuous else None,
            stop=stop,
            lake=lake,
        )
        cost.took(ended)
        end = position(lake)
        cost.rows_written = end.seq - start.seq
        cost.rows_read = end.lines - start.lines


def ingest_batch(spark: SparkSession, batch: int, lake: Lake, settings: Settings) -> int:
    """One micro-batch: read the files of its manifest, judge every line, append to the three tables.

    Returns how many lines it took in: none if it had been taken in before. A manifest has the number of its micro-batch,
    so it is read here; as rows of the query it would be a Spark job.
    """
    before = position(lake)
    if batch <= before.batch:
        return 0
    files, begun = manifest(lake, batch), half_written(lake)
    if begun is None:
        files = as_noted(files)
    else:
        # The first attempt has put lines aside. From other files, they could be in the log as well.
        files = [each for each in files if each.place in begun["places"]]
        refuse_changed_since(files, batch)
    landed = read_lines(spark, files, batch=batch, ingested_at=noted_at(lake, batch))
    failpoint(spark, "ingest.read", "events", batch)
    # Judged before they are numbered: numbering brings the lines of a file together, and on one core.
    lines = numbered(without_names(judged(landed, settings), settings))
    places = [each.place for each in files]
    take_in(spark, lake, lines, batch, judge_of(settings), places=places, check=lambda: refuse_changed(files))
    return position(lake).lines - before.lines


def _refuse_lost_checkpoint(lake: Lake, landing: Path, checkpoint: Path) -> None:
    last = position(lake).batch
    if last >= 0 and not (checkpoint / "offsets" / str(last)).exists():
        raise CheckpointLost(
            f"The checkpoint of the ingestion is gone or damaged: the log has micro-batch {last}, {checkpoint} does not. "
            f"Nothing was written. {_rebuilds(lake, landing)}"
        )


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
        f"`parity ingest --lake {lake.path} --landing {landing} --rebuild` makes it anew from the log and the manifests; "
        "no line is read into the log twice."
    )


def _put_aside(checkpoint: Path) -> None:
    """Keep a damaged checkpoint for inspection, under another name."""
    if checkpoint.exists():
        before = len(list(checkpoint.parent.glob(f"{checkpoint.name}.damaged-*")))
        checkpoint.rename(checkpoint.with_name(f"{checkpoint.name}.damaged-{before + 1}"))
