"""Running streaming queries: until they have caught up or are stopped, with their sinks' errors and the engine's drops told."""

import json
import threading
import time
from collections import deque
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any, Literal

from py4j.protocol import Py4JJavaError
from pyspark.errors import PySparkException, StreamingQueryException
from pyspark.sql import DataFrame
from pyspark.sql.streaming.query import StreamingQuery

from lakehouse.errors import EngineDroppedRows, ParityError, StreamFailed
from lakehouse.lake import Lake
from lakehouse.progress import begun, note_progress
from lakehouse.storage import storage_refusal
from transformations.durations import milliseconds

EMPTY_BATCHES = "spark.sql.streaming.noDataMicroBatches.enabled"
POLL = timedelta(seconds=1)
SHORTEST_POLL = timedelta(milliseconds=100)
LENGTHS_KEPT = 1000
LONGEST_SINK = timedelta(minutes=1)
OTHER_COLUMNS = "DELTA_SCHEMA_CHANGED"
"""What Delta calls the error with which it ends a query whose source has got a column."""


@dataclass
class Query:
    """A streaming query whose micro-batches go to `sink(rows, batch)`.

    The sink may return how many rows it took in, where those are not the rows of the source.
    """

    name: str
    source: DataFrame
    sink: Callable[[DataFrame, int], int | None]
    checkpoint: Path
    mode: Literal["append", "update"] = "append"
    remedy: str = ""
    """What a user can do if it fails for a reason that Parity does not know."""
    errors: list[Exception] = field(default_factory=list)
    taken: dict[int, int] = field(default_factory=dict)
    """How many rows its sink says that it took in, by micro-batch."""
    drops: dict[int, int | None] = field(default_factory=dict)
    """How many results of a micro-batch its sink has repaired because the engine dropped rows of them, where there are any;
    none where that is not known. Spark has to have counted as many."""
    renewed: Callable[[], DataFrame] | None = None
    """The source as it is to be read when the table behind it has got other columns. Delta ends a query then."""
    _at_work: threading.Lock = field(default_factory=threading.Lock)

    def start(self, interval: timedelta | None) -> StreamingQuery:
        """Start it: every `interval`, or without one for all that there is now."""
        # A batch without data only moves the watermark on. In update mode nothing comes out of it, and it costs a commit.
        self.source.sparkSession.conf.set(EMPTY_BATCHES, str(self.mode == "append").lower())
        writer = (
            self.source.writeStream.queryName(self.name)
            .outputMode(self.mode)
            .option("checkpointLocation", str(self.checkpoint))
            .foreachBatch(self._told)
        )
        if interval is None:
            return writer.trigger(availableNow=True).start()
        return writer.trigger(processingTime=f"{milliseconds(interval)} milliseconds").start()

    def goes_on(self, error: Exception) -> bool:
        """Whether it has ended for another column of its source alone, and can be started again from its checkpoint."""
        if self.renewed is None or self.errors or OTHER_COLUMNS not in str(error):
            return False
        self.source = self.renewed()
        return True

    def _told(self, rows: DataFrame, batch: int) -> None:
        """The sink. Spark turns what it raises into a text with a stack trace; we want the error itself."""
        with self._at_work:
            try:
                taken = self.sink(rows, batch)
                if taken is not None:
                    self.taken[batch] = taken
            except Exception as error:
                self.errors.append(error)
                raise

    def let_finish(self) -> None:
        """Wait for a sink that is at work. It commits by itself: where the JVM has died, nobody else waits for it, and a
        process that ends in the middle of delta-rs crashes."""
        if self._at_work.acquire(timeout=LONGEST_SINK.total_seconds()):
            self._at_work.release()


class Watched:
    """A query that was started, and what its micro-batches have taken so far."""

    def __init__(self, query: Query, started: StreamingQuery, lake: Lake | None) -> None:
        self.of = query
        self.query = started
        self.progress = begun(query.name, datetime.now(UTC))
        self.lengths: deque[float] = deque(maxlen=LENGTHS_KEPT)
        """What the last micro-batches took, in seconds."""
        self._taken = query.taken
        self._drops = query.drops
        self._lake = lake
        self._seen = ""

    def look(self) -> None:
        """Count what is new since the last look; stop with an explanation if the engine dropped rows."""
        new = self._news()
        for each in new:
            refuse_drops(self.query.name, each, expected=self._drops.pop(each["batchId"], 0))
            if "addBatch" in each["durationMs"]:  # else a trigger that found nothing to do
                seconds = each["durationMs"]["triggerExecution"] / 1000
                rows = self._taken.pop(each["batchId"], each["numInputRows"])
                self.progress.add(batch=each["batchId"], rows=rows, seconds=seconds, at=each["timestamp"])
                self.lengths.append(seconds)
        if new and self._lake is not None:
            note_progress(self._lake, self.progress)

    def _news(self) -> list[dict[str, Any]]:
        """The progress since the last look, oldest first. Only that is fetched from the JVM: a query may run for weeks."""
        recent = self.query._jsq.recentProgress()
        new: list[str] = []
        for place in range(len(recent) - 1, -1, -1):
            text = str(recent[place].json())
            if text == self._seen:
                break
            new.append(text)
        self._seen = new[0] if new else self._seen
        return [json.loads(text) for text in reversed(new)]


def run(
    queries: Sequence[Query],
    *,
    every: timedelta | None = None,
    meanwhile: Callable[[], object] | None = None,
    stop: Callable[[], bool] = lambda: False,
    lake: Lake | None = None,
) -> list[Watched]:
    """Run the queries side by side: `every` so often until `stop` says so, or without it until all is consumed.

    The first that fails, or whose engine dropped a row, ends all. `meanwhile` is called at least once a second, and as
    often as `every`. What the micro-batches took is noted in the lake, if one is given.
    """
    watched: list[Watched] = []
    pause = POLL if every is None else min(max(every, SHORTEST_POLL), POLL)
    looked = time.monotonic()
    try:
        for query in queries:
            watched.append(Watched(query, query.start(every), lake))
        running = list(watched)
        while running and not stop():
            _wait(running[0], pause)
            for each in [each for each in running if not each.query.isActive]:
                if not _has_ended(each, every):
                    continue
                each.look()
                running.remove(each)
            if time.monotonic() - looked >= POLL.total_seconds():
                looked = time.monotonic()
                for each in running:
                    each.look()
            if meanwhile is not None:
                meanwhile()
    except (PySparkException, Py4JJavaError) as error:  # also from a start that fails
        raise _told_error(queries, error) from error
    finally:
        try:
            for each in watched:
                each.query.stop()
        finally:
            for query in queries:
                query.let_finish()
    for each in watched:
        each.look()
    return watched


def _wait(watched: Watched, pause: timedelta) -> None:
    """Wait for the end of a query. What it ended with is looked at later, with that of the others."""
    with suppress(StreamingQueryException):
        watched.query.awaitTermination(pause.total_seconds())  # type: ignore[arg-type]  # parts of a second too


def _has_ended(watched: Watched, every: timedelta | None) -> bool:
    """Whether a query has ended for good; raises what it ended with. One whose source has got a column goes on."""
    try:
        watched.query.awaitTermination()
    except StreamingQueryException as error:
        if not watched.of.goes_on(error):
            raise
        watched.look()
        watched.query = watched.of.start(every)
        return False
    return True


def refuse_drops(query: str, progress: Mapping[str, Any], *, expected: int | None) -> None:
    """Stop with an explanation if the engine dropped other rows than those whose results were repaired.

    Spark's counter is of partial results, one for each key and window, as the repairs are.
    """
    dropped = sum(operator["numRowsDroppedByWatermark"] for operator in progress["stateOperators"])
    if expected is not None and dropped != expected:
        raise EngineDroppedRows(
            f"In micro-batch {progress['batchId']} of the query {query!r} Spark dropped rows of {dropped} results behind its "
            f"watermark, and {expected} were repaired for it. On a log that Parity wrote, with the settings of this "
            "checkpoint, both are the same. The result is not to be trusted: find out what else wrote into the log, then run "
            "`parity stream --rebuild`."
        )


def _told_error(queries: Sequence[Query], error: Exception) -> Exception:
    for query in queries:
        for told in query.errors:
            if isinstance(told, ParityError):
                return told
    failed = next((query for query in queries if query.errors or _is_of(query, error)), queries[0])
    found = next(iter(failed.errors), error)
    if refused := storage_refusal(found):
        return refused
    said = found.java_exception.toString() if isinstance(found, Py4JJavaError) else str(found)
    first = (said.strip().splitlines() or [""])[0]
    return StreamFailed(
        f"The streaming query of {failed.name} failed with {type(found).__name__}: {first[:500]} {failed.remedy}".rstrip()
    )


def _is_of(query: Query, error: Exception) -> bool:
    """Whether Spark's error is about this query: it names the checkpoint, or the query."""
    return str(query.checkpoint) in str(error) or query.name in str(error)
