"""The intake: judged lines put in order and appended to the three tables of a log, exactly once a micro-batch.

`quarantine` gets the lines that are no event, with the reason; `duplicates` the copies of events that the log has; and
last `events`, the log. A micro-batch whose rows are in `events` is complete; a retry finds that out and adds nothing.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from datetime import datetime
from typing import Any, NamedTuple

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F

from lakehouse.commits import commits
from lakehouse.errors import SettingsChanged
from lakehouse.failpoints import failpoint
from lakehouse.fingerprint import parser_fingerprint
from lakehouse.lake import Lake
from lakehouse.log import DUPLICATES, EVENTS, QUARANTINE, SCHEMAS, log_at, position
from lakehouse.settings import Settings
from lakehouse.tables import Transaction, append
from transformations.arrival import content, in_order, with_first
from transformations.clock import Clock
from transformations.durations import from_millis
from transformations.events import parsed

Judge = dict[str, Any]


def judge_of(settings: Settings) -> Judge:
    """What decides whether a line is an event: the code, and the tolerances of the clock."""
    return {"code": parser_fingerprint(), **settings.clock.model_dump(mode="json")}


def judged(lines: DataFrame, settings: Settings) -> DataFrame:
    """`lines` (`value`, `ingested_at`, and others that stay) with the columns of the log and a `reason`, null for an event."""
    code = {"fingerprint": F.lit(parser_fingerprint()), "id_hash": F.xxhash64("event_id")}
    return parsed(lines, clock_of(settings)).withColumns(code)


def clock_of(settings: Settings) -> Clock:
    """The clock with the tolerances of the settings."""
    return Clock(
        device_tolerance=settings.clock.device, future_tolerance=settings.clock.future, floor=settings.clock.floor
    )


def take_in(
    spark: SparkSession,
    lake: Lake,
    lines: DataFrame,
    batch: int,
    judge: Judge,
    *,
    places: Sequence[int] = (),
    check: Callable[[], None] = lambda: None,
) -> None:
    """Append judged `lines`, whose order of arrival is (`place`, `line`), as micro-batch `batch` of the log.

    `places` are those of the files that they come from, which a retry has to read again. `check` is called when all lines
    have been read, and none is written.
    """
    _refuse_another_judge(lake, judge)
    with kept(lines) as lines, kept(first_arrivals(spark, lake, lines.where("reason is null"))) as placed:
        differing = placed.where("copy = false").withColumn("reason", F.lit("copy of an event with other content"))
        rejected = lines.where("reason is not null").unionByName(differing.drop("copy"))
        transaction = Transaction("ingest", batch)

        found = destinations(lines, placed)
        check()
        quarantined, duplicates = found["broken"].lines + found["differing"].lines, found["copies"].lines
        for table, rows, count in ((QUARANTINE, rejected, quarantined), (DUPLICATES, placed.where("copy"), duplicates)):
            if count:
                said = {"batch": batch, "judge": judge, "places": list(places)}
                append(spark, lake, lake.of_log(table), as_rows(rows, table), transaction=transaction, metadata=said)
        failpoint(spark, "ingest.sidelined", "events", batch)
        append_events(
            spark,
            lake,
            placed.where("copy is null"),
            found["events"],
            transaction=transaction,
            batch=batch,
            duplicates=duplicates,
            quarantined=quarantined,
        )


@contextmanager
def kept(rows: DataFrame) -> Iterator[DataFrame]:
    """The rows, computed once. Not longer than until the end, also a bad one.

    Spark knows a file by its path: it would answer the next attempt of this process from here, also if the file is another.
    """
    rows.persist()
    try:
        yield rows
    finally:
        rows.unpersist()


def half_written(lake: Lake) -> dict[str, Any] | None:
    """What was said of the micro-batch that has put lines aside and has no commit in the log, if there is one.

    Only the same lines, judged by the same rules against the same log, may finish it: the rows that are aside stay.
    """
    last = position(lake).batch
    for table in (QUARANTINE, DUPLICATES):
        said = next((each for each in commits(lake, lake.of_log(table)) if "batch" in each), None)
        if said is not None and said["batch"] > last:
            return said
    return None


def first_arrivals(spark: SparkSession, lake: Lake, events: DataFrame) -> DataFrame:
    """`events` with `copy`: null for those that the log does not have, else whether the content is the same."""
    return with_first(events, known_events(log_at(spark, lake, position(lake).version), events))


class Counted(NamedTuple):
    """How many lines there are, and the latest event time among them."""

    lines: int = 0
    latest: datetime | None = None


def destinations(lines: DataFrame, placed: DataFrame) -> Mapping[str, Counted]:
    """What there is of each: `broken` lines, `copies`, copies of `differing` content, `events`.

    One job counts them all: a small micro-batch consists of what jobs cost before they begin. Of the times only those of
    events are asked for: a line that is none may name a time that Python does not have.
    """
    what = F.when(F.col("copy").isNull(), "events").when(F.col("copy"), "copies").otherwise("differing")
    broken = lines.where("reason is not null").select(F.lit("broken").alias("what"), F.lit(None).alias("event_time"))
    everything = placed.select(what.alias("what"), "event_time").unionByName(broken)
    latest = F.unix_millis(F.max("event_time")).alias("latest")
    rows = everything.groupBy("what").agg(F.count(F.lit(1)).alias("lines"), latest).collect()
    found = {row.what: Counted(row.lines, None if row.latest is None else from_millis(row.latest)) for row in rows}
    return {name: found.get(name, Counted()) for name in ("broken", "copies", "differing", "events")}


def append_events(
    spark: SparkSession,
    lake: Lake,
    first: DataFrame,
    arrived: Counted,
    *,
    transaction: Transaction | None,
    batch: int,
    duplicates: int,
    quarantined: int,
) -> None:
    """Append first arrivals to the log, each with its place in it; the commit says where the log stands then.

    `arrived` is what they are; `duplicates` and `quarantined` are how many lines there are more.
    """
    before = position(lake)
    rows = in_order(first, high_water=before.high_water, seq=before.seq)
    said = before.after(
        batch, events=arrived.lines, latest=arrived.latest, duplicates=duplicates, quarantined=quarantined
    )
    append(spark, lake, lake.of_log(EVENTS), as_rows(rows, EVENTS), transaction=transaction, metadata=said)


def as_rows(lines: DataFrame, table: str) -> DataFrame:
    """Judged lines as rows of a table of the log."""
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


def _refuse_another_judge(lake: Lake, judge: Judge) -> None:
    """Refuse to go on with a half-written micro-batch under other rules than it was begun with.

    What it has put aside stays there; a line that other rules accept would then be in the log as well.
    """
    begun = half_written(lake)
    if begun is not None and begun["judge"] != judge:
        changed = [name for name, value in judge.items() if begun["judge"].get(name) != value]
        raise SettingsChanged(
            f"Micro-batch {begun['batch']} of the ingestion was begun by other rules and not finished: "
            + ", ".join(f"{name} was {begun['judge'].get(name)!r}, is {judge[name]!r}" for name in changed)
            + ". Set [clock] back (for `code`: use the Parity that began it), run `parity ingest` to finish it, then "
            "change the rules. Nothing was written."
        )
