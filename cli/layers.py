"""What runs side by side in `parity live`: each method is one part, with a Spark session of its own in the one JVM.

A session of its own, because a query's start sets options of its session (`lakehouse.queries`), and another part's start
must not come between. What a person waits for comes first: the stream's rows, then batch and the verdict on the stream, and
only then the control, which would take the machine from them.
"""

import threading
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path

from pyspark.sql import SparkSession

from batch_layer.recompute import recompute
from cli.console import notes
from cli.starting import BATCH, CONTROL, INGESTION, SPARK, VERDICTS, Starting, stream_of
from cli.terminal import apart
from ingestion.ingest import ingest
from lakehouse.arrivals import ARRIVALS
from lakehouse.changelogs import boundary
from lakehouse.errors import GoesBack, NothingToCompare
from lakehouse.lake import Lake
from lakehouse.log import position
from lakehouse.session import spark_session
from lakehouse.settings import Settings
from reconciliation.history import keep
from reconciliation.pins import Candidate, controlled
from reconciliation.reconcile import reconcile
from reconciliation.sentences import audit_fault, not_judged
from reconciliation.verdict import Verdict
from speed_layer.legacy import legacy
from speed_layer.stream import stream
from transformations.result import Result

SOON = 0.2
ROUND = "a round of `parity live`"
"""The tag of jobs that need not be waited for when all is stopped: they are done again, or not missed."""


@dataclass
class Layers:
    """The layers over one lake. They go on until `stop` is set."""

    lake: Lake
    landing: Path
    results: Sequence[Result]
    settings: Settings
    stop: threading.Event
    starting: Starting
    said: dict[Candidate, str] = field(default_factory=dict)
    """What the last verdicts say of the stream and of the control."""
    _spark: SparkSession | None = None
    _started: threading.Event = field(default_factory=threading.Event)
    _judged: threading.Event = field(default_factory=threading.Event)
    _controlled: threading.Event = field(default_factory=threading.Event)

    def ingestion(self) -> None:
        self.starting.begins(INGESTION, "takes in what has landed")
        spark = self._session() if self.settings.ingestion.engine == "spark" else None
        if not self.stop.is_set():
            ingest(spark, self.lake, self.landing, self.settings, continuous=True, stop=self.stop.is_set)

    def streams(self) -> None:
        """Start Spark, which nobody needs sooner, and let the streams run in it."""
        self.starting.begins(SPARK, "starts")
        with apart(notes):
            self._spark = spark_session(self.settings.spark, log_file=self.lake.log_file)
        self._started.set()
        self.starting.ready(SPARK, "has started")
        if self._wait(self._begun):
            for each in self.results:
                self.starting.begins(stream_of(each.name), "its first micro-batch")
            session, stop = self._spark.newSession(), self.stop.is_set
            stream(session, self.lake, self.results, self.settings, continuous=True, stop=stop)

    def control(self) -> None:
        """A round of the control."""
        if not self._wait(self._judged.is_set):
            return
        self.starting.begins(CONTROL, "reads all arrivals")
        legacy(self._round(), self.lake, self.settings, answers=controlled(self.lake, self.results))
        self._controlled.set()
        self.starting.ready(CONTROL, "has answered")

    def batch(self) -> None:
        """A round of the batch layer, and what it says of the stream and, as soon as that has answered, of the control."""
        if not self._wait(lambda: self._reached() is not None):
            return
        spark = self._round()
        for place, result in enumerate(self.results):
            self.starting.begins(BATCH, f"computes {result.name}")
            with suppress(GoesBack):  # somebody computed it meanwhile, at a later version of the log
                recompute(spark, self.lake, result, self.settings)
            if place == 0 < len(self.results) - 1 and "kappa" not in self.said:
                self.starting.begins(BATCH, f"has computed {result.name}")
                self._judge(spark, [result], "kappa")  # nobody waits for the first verdict until all are computed
        self.starting.ready(BATCH, "has computed all")
        self._judge(spark, self.results, "kappa")
        self._judged.set()
        if self._wait(self._controlled.is_set):
            self._judge(spark, controlled(self.lake, self.results), "legacy")

    def end_rounds(self) -> None:
        """Cancel what the control and the batch layer are doing."""
        if self._spark is not None:
            self._spark.sparkContext.cancelJobsWithTag(ROUND)

    def look(self) -> None:
        """See what has come up without telling of it itself."""
        if not self.starting.is_ready(INGESTION) and self._begun():
            self.starting.ready(INGESTION, f"the log has {position(self.lake).seq:,} events")
        for each in self.results:
            if not self.starting.is_ready(stream_of(each.name)):
                with suppress(NothingToCompare):
                    boundary(self.lake, each)
                    self.starting.ready(stream_of(each.name), "has its first rows")

    def status(self) -> str:
        """Where everything stands, in one line."""
        if not self._begun():
            return "Waiting for the first events"
        said = [f"{position(self.lake).seq:,} events"]
        reached = self._reached()
        if reached is not None:
            behind = (datetime.now(UTC) - reached).total_seconds()
            said.append(f"the stream is {max(behind, 0):.1f} s behind the events")
        return " · ".join(said)

    def _judge(self, spark: SparkSession, results: Sequence[Result], candidate: Candidate) -> None:
        self.starting.begins(VERDICTS[candidate], "compares with batch")
        verdict = reconcile(spark, self.lake, results, self.settings, candidate=candidate)
        keep(spark, self.lake, verdict, self.settings)
        self.said[candidate] = judged(verdict)
        self.starting.ready(VERDICTS[candidate], self.said[candidate])

    def _session(self) -> SparkSession | None:
        """A session, as soon as Spark has started."""
        return self._spark.newSession() if self._wait(self._started.is_set) and self._spark else None

    def _round(self) -> SparkSession:
        """The session of a round, in which everything is tagged as one."""
        assert self._spark is not None  # a round waits for what Spark has made
        self._spark.sparkContext.addJobTag(ROUND)
        return self._spark.newSession()

    def _begun(self) -> bool:
        """Whether the log has an event."""
        return self.lake.has(ARRIVALS) and position(self.lake).seq > 0

    def _wait(self, ready: Callable[[], bool]) -> bool:
        while not self.stop.is_set():
            if ready():
                return True
            self.stop.wait(SOON)
        return False

    def _reached(self) -> datetime | None:
        """The newest event time that all streams have seen, if each has written something."""
        try:
            versions = [boundary(self.lake, result).log_version for result in self.results]
        except NothingToCompare:
            return None
        return position(self.lake, min(versions)).high_water


def judged(verdict: Verdict) -> str:
    """What a verdict on a layer says of it against batch."""
    compared, differing = (sum(getattr(each, name) for each in verdict.results) for name in ("compared", "differing"))
    names = [each.result for each in verdict.results]
    of = names[0] if len(names) == 1 else f"{len(names)} results"
    if verdict.alike:
        said = f"agrees in all {compared:,} settled keys of {of}"
    elif verdict.not_judged and not differing:
        said = f"has too few settled keys to compare: {not_judged(verdict)}"
    else:
        said = f"differs in {differing:,} of {compared:,} settled keys of {of}"
    fault = audit_fault(verdict.audit)
    return f"{said}; {fault}" if fault else said
