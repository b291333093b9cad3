"""Ingestion: from landing files into the log, the one place where order, copies and lateness are decided.

    parity ingest --lake LAKE --landing DIR

A Structured Streaming query takes one manifest of landing files a micro-batch and appends to three tables: `quarantine`
(lines that are no event, with the reason), `duplicates` (copies of events that the log has), and last `events`, the
log. A batch whose rows are in `events` is complete; a retry finds that out and adds nothing to any of the three.
"""

from collections.abc import Callable
from datetime import datetime
from functools import partial
from pathlib import Path
from typing import Any

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F

from lakehouse.checkpoints import planned_at
from lakehouse.errors import CheckpointLost, SettingsChanged
from lakehouse.failpoints import failpoint
from lakehouse.fingerprint import keep_code, parser_fingerprint
from lakehouse.lake import Lake
from lakehouse.landings import note_landings
from lakehouse.locks import exclusive
from lakehouse.log import DUPLICATES, EVENTS, QUARANTINE, SCHEMAS, create_log, log_at, position
from lakehouse.queries import Query, run
from lakehouse.runs import measured
from lakehouse.settings import Settings
from lakehouse.tables import Transaction, append, commits
from speed_layer.lines import numbered, read_lines
from transformations.arrival import content, in_order, with_first
from transformations.clock import Clock
from transformations.durations import from_millis
from transformations.events import parsed

MANIFEST = "place long, path string, modified_ns long, size long"
BatchClock = Callable[[int], datetime]


def ingest(
    spark: SparkSession,
    lake: Lake,
    landing: Path,
    settings: Settings,
    *,
    files_per_batch: int | None = None,
    continuous: bool = False,
    clock: BatchClock | None = None,
) -> None:
    """Ingest all that has landed, then stop; or go on with what lands until stopped. `clock` is the time of a batch."""
    size = files_per_batch or settings.ingestion.files_per_batch
    checkpoint = lake.checkpoint("ingest")
    with (
        exclusive(spark, lake.lock_file("ingest"), wait=False),
        measured(spark, lake, "ingest", []) as cost,
    ):
        create_log(spark, lake, horizon=settings.retention.horizon)
        _refuse_lost_checkpoint(lake, checkpoint)
        keep_code(lake, parser_fingerprint())
        note = partial(note_landings, lake, landing, files_per_batch=size)
        note()
        clock = clock or (lambda batch: planned_at(checkpoint, batch))

        def sink(manifest: DataFrame, batch: int) -> None:
            ingest_batch(manifest, batch, lake, settings, ingested_at=clock(batch))

        source = (
            spark.readStream.schema(MANIFEST)
            .option("maxFilesPerTrigger", 1)
            .option("maxFileAge", "36500d")  # the default silently leaves out what is a week behind the newest
            .json(str(lake.landings))
        )
        query = Query("ingest", source, sink, checkpoint)
        start = position(lake)
        [ended] = run(
            [query], every=settings.stream.interval if continuous else None, meanwhile=note if continuous else None
        )
        cost.took(ended)
        end = position(lake)
        cost.rows_written = end.seq - start.seq
        cost.rows_read = cost.rows_written + end.duplicates - start.duplicates + end.quarantined - start.quarantined


def ingest_batch(manifest: DataFrame, batch: int, lake: Lake, settings: Settings, *, ingested_at: datetime) -> None:
    """One micro-batch: read the files of the manifest, judge every line, append to the three tables."""
    spark = manifest.sparkSession
    before = position(lake)
    if before.batch == batch:
        return
    judge = {"code": parser_fingerprint(), **settings.clock.model_dump(mode="json")}
    _refuse_another_judge(lake, batch, judge)
    landed = read_lines(spark, manifest.orderBy("place").collect(), batch=batch, ingested_at=ingested_at)
    failpoint(spark, "ingest.read", "events", batch)
    clock = Clock(
        device_tolerance=settings.clock.device, future_tolerance=settings.clock.future, floor=settings.clock.floor
    )
    code = {"fingerprint": F.lit(judge["code"]), "id_hash": F.xxhash64("event_id")}
    # Parsed before they are numbered: numbering brings the lines of a file together, and on one core.
    judged = numbered(parsed(landed, clock)).withColumns(code).persist()
    log = log_at(spark, lake, before.version)
    placed = with_first(judged.where("reason is null"), known_events(log, judged)).persist()
    differing = placed.where("copy = false").withColumn("reason", F.lit("copy of an event with other content"))
    rejected = judged.where("reason is not null").unionByName(differing.drop("copy"))
    copies = placed.where("copy")
    first = in_order(placed.where("copy is null"), high_water=before.high_water, seq=before.seq)
    transaction = Transaction("ingest", batch)

    sidelined = {}
    for table, lines in ((QUARANTINE, rejected), (DUPLICATES, copies)):
        sidelined[table] = lines.count()
        if sidelined[table]:
            said = {"batch": batch, "judge": judge}
            append(spark, lake, table, _rows(table, lines), transaction=transaction, metadata=said)
    failpoint(spark, "ingest.sidelined", "events", batch)
    arrived = first.agg(F.count(F.lit(1)).alias("events"), F.unix_millis(F.max("event_time")).alias("latest")).first()
    assert arrived is not None
    position_then = before.after(
        batch,
        events=arrived.events,
        latest=None if arrived.latest is None else from_millis(arrived.latest),
        duplicates=sidelined[DUPLICATES],
        quarantined=sidelined[QUARANTINE],
    )
    append(spark, lake, EVENTS, _rows(EVENTS, first), transaction=transaction, metadata=position_then)
    failpoint(spark, "ingest.appended", "events", batch)
    placed.unpersist()
    judged.unpersist()


def _rows(table: str, lines: DataFrame) -> DataFrame:
    raw = F.col("value").cast(SCHEMAS[table]["raw"].dataType)
    return lines.withColumn("raw", raw).select(*SCHEMAS[table].names)


def known_events(log: DataFrame, events: DataFrame) -> DataFrame | None:
    """The events of the log that share an id with `events`, over any distance in time; none, usually.

    A first pass reads nothing but hashes of ids and finds where such rows can be. Only then does a second one compare
    the ids themselves.
    """
    hashes = F.broadcast(events.select("id_hash"))
    hits = log.select("id_hash", "seq").join(hashes, "id_hash", "left_semi")
    where = hits.agg(F.min("seq").alias("first"), F.max("seq").alias("last")).first()
    assert where is not None
    if where["first"] is None:
        return None
    near = log.where(F.col("seq").between(where["first"], where["last"])).join(hashes, "id_hash", "left_semi")
    return near.join(events.select("event_id"), "event_id", "left_semi").select("event_id", *content())


def _refuse_another_judge(lake: Lake, batch: int, judge: dict[str, Any]) -> None:
    """Refuse to go on with a half-written micro-batch under other rules than it was begun with.

    What it has put aside stays there; a line that other rules accept would then be in the log as well.
    """
    for table in (QUARANTINE, DUPLICATES):
        begun: dict[str, Any] = next(commits(lake, table), {})
        if begun.get("batch") == batch and begun["judge"] != judge:
            changed = [name for name, value in judge.items() if begun["judge"].get(name) != value]
            raise SettingsChanged(
                f"Micro-batch {batch} of the ingestion was begun by other rules and not finished: "
                + ", ".join(f"{name} was {begun['judge'].get(name)!r}, is {judge[name]!r}" for name in changed)
                + ". Set [clock] back (for `code`: use the Parity that began it), run `parity ingest` to finish it, then "
                "change the rules. Nothing was written."
            )


def _refuse_lost_checkpoint(lake: Lake, checkpoint: Path) -> None:
    last = position(lake).batch
    if last >= 0 and not (checkpoint / "offsets" / str(last)).exists():
        raise CheckpointLost(
            f"The checkpoint of the ingestion is gone or damaged: the log has micro-batch {last}, {checkpoint} does not. "
            "Nothing was written. Ingest the landing files into a new lake, or restore the checkpoint."
        )
