"""Running streaming queries: until they have caught up or are stopped, with their sinks' errors and the engine's drops told."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from datetime import timedelta
from pathlib import Path
from typing import Literal

from py4j.protocol import Py4JJavaError
from pyspark.errors import StreamingQueryException
from pyspark.sql import DataFrame
from pyspark.sql.streaming.query import StreamingQuery

from lakehouse.errors import EngineDroppedRows, ParityError, StreamFailed
from transformations.durations import milliseconds

EMPTY_BATCHES = "spark.sql.streaming.noDataMicroBatches.enabled"


@dataclass
class Query:
    """A streaming query whose micro-batches go to `sink(rows, batch)`."""

    name: str
    source: DataFrame
    sink: Callable[[DataFrame, int], None]
    checkpoint: Path
    mode: Literal["append", "update"] = "append"
    remedy: str = ""
    """What a user can do if it fails for a reason that Parity does not know."""
    errors: list[Exception] = field(default_factory=list)

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

    def _told(self, rows: DataFrame, batch: int) -> None:
        """The sink. Spark turns what it raises into a text with a stack trace; we want the error itself."""
        try:
            self.sink(rows, batch)
        except Exception as error:
            self.errors.append(error)
            raise


def run(
    queries: Sequence[Query],
    *,
    every: timedelta | None = None,
    meanwhile: Callable[[], object] | None = None,
) -> list[StreamingQuery]:
    """Run the queries side by side: `every` so often until they are stopped, or without it until all is consumed.

    The first that fails, or whose engine dropped a row, ends all.
    """
    started: list[StreamingQuery] = []
    try:
        started.extend(query.start(every) for query in queries)
        waiting = list(started)
        while waiting:
            if waiting[0].awaitTermination(1):
                refuse_drops(waiting.pop(0))
            for query in waiting:
                refuse_drops(query)
            if meanwhile is not None:
                meanwhile()
    except (StreamingQueryException, Py4JJavaError) as error:  # the latter from a start that fails
        raise _told_error(queries, error) from error
    finally:
        for query in started:
            query.stop()
    return started


def refuse_drops(query: StreamingQuery) -> None:
    """Stop with an explanation if the engine dropped rows. By the rule for late rows it has nothing to drop."""
    operators = [operator for progress in query.recentProgress for operator in progress["stateOperators"]]
    dropped = sum(operator["numRowsDroppedByWatermark"] for operator in operators)
    if dropped:
        raise EngineDroppedRows(
            f"Spark dropped rows behind its watermark in the query {query.name!r} (its counter says {dropped}). "
            "Late rows are taken out before the engine sees them, so this cannot happen on a log that Parity wrote, with "
            "the settings of this checkpoint. The result is not to be trusted: find out what else wrote into the log, "
            "then run `parity stream --rebuild`."
        )


def _told_error(queries: Sequence[Query], error: Exception) -> Exception:
    for query in queries:
        for told in query.errors:
            if isinstance(told, ParityError):
                return told
    failed = next((query for query in queries if query.errors or _is_of(query, error)), queries[0])
    found = next(iter(failed.errors), error)
    said = found.java_exception.toString() if isinstance(found, Py4JJavaError) else str(found)
    first = (said.strip().splitlines() or [""])[0]
    return StreamFailed(
        f"The streaming query of {failed.name} failed with {type(found).__name__}: {first[:500]} {failed.remedy}".rstrip()
    )


def _is_of(query: Query, error: Exception) -> bool:
    """Whether Spark's error is about this query: it names the checkpoint, or the query."""
    return str(query.checkpoint) in str(error) or query.name in str(error)
