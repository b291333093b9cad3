"""What runs side by side in `parity live`: each method is one part, with a Spark session of its own in the one JVM.

A session of its own, because a query's start sets options of its session (`lakehouse.queries`), and another part's start
must not come between.
"""

import threading
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path

from pyspark.sql import SparkSession

from batch_layer.recompute import recompute
from ingestion.ingest import ingest
from lakehouse.arrivals import ARRIVALS
from lakehouse.changelogs import boundary
from lakehouse.errors import GoesBack, NothingToCompare
from lakehouse.lake import Lake
from lakehouse.log import position
from lakehouse.settings import Settings
from reconciliation.history import keep
from reconciliation.pins import controlled
from reconciliation.reconcile import reconcile
from reconciliation.sentences import not_judged
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

    spark: SparkSession
    lake: Lake
    landing: Path
    results: Sequence[Result]
    settings: Settings
    stop: threading.Event
    said: str = ""
    """The last verdicts, of the stream and of the control, in a sentence."""
    _controlled: threading.Event = field(default_factory=threading.Event)

    def ingestion(self) -> None:
        spark = self.spark.newSession()
        ingest(spark, self.lake, self.landing, self.settings, continuous=True, stop=self.stop.is_set)

    def streams(self) -> None:
        if self.wait_for_the_log():
            spark = self.spark.newSession()
            stream(spark, self.lake, self.results, self.settings, continuous=True, stop=self.stop.is_set)

    def control(self) -> None:
        """A round of the control."""
        if self.wait_for_the_log():
            self.spark.sparkContext.addJobTag(ROUND)
            legacy(self.spark.newSession(), self.lake, self.settings, answers=controlled(self.results))
            self._controlled.set()

    def batch(self) -> None:
        """A round of the batch layer, and what it says of the stream and of the control."""
        if not self._wait(lambda: self._controlled.is_set() and self._reached() is not None):
            return
        self.spark.sparkContext.addJobTag(ROUND)
        spark = self.spark.newSession()
        for result in self.results:
            with suppress(GoesBack):  # somebody computed it meanwhile, at a later version of the log
                recompute(spark, self.lake, result, self.settings)
        verdicts = [
            reconcile(spark, self.lake, self.results, self.settings),
            reconcile(spark, self.lake, controlled(self.results), self.settings, candidate="legacy"),
        ]
        for verdict in verdicts:
            keep(spark, self.lake, verdict, self.settings)
        self.said = "; ".join(map(judged, verdicts))

    def end_rounds(self) -> None:
        """Cancel what the control and the batch layer are doing."""
        self.spark.sparkContext.cancelJobsWithTag(ROUND)

    def wait_for_the_log(self) -> bool:
        """Wait until the log has an event; says whether it has, or all is to stop."""
        return self._wait(self._begun)

    def status(self) -> str:
        """Where everything stands, in one line."""
        if not self._begun():
            return "Waiting for the first events"
        said = [f"{position(self.lake).seq:,} events"]
        reached = self._reached()
        if reached is not None:
            behind = (datetime.now(UTC) - reached).total_seconds()
            said.append(f"the stream is {max(behind, 0):.1f} s behind the game")
        return " · ".join([*said, *([self.said] if self.said else [])])

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
    """A verdict in half a sentence."""
    who = "stream" if verdict.candidate == "kappa" else "control"
    compared, differing = (sum(getattr(each, name) for each in verdict.results) for name in ("compared", "differing"))
    how = {
        "agree": f"agrees with batch in all {compared:,} settled keys",
        "differ": f"differs from batch in {differing:,} of {compared:,} settled keys",
    }
    return f"{who} {how.get(verdict.status, f'has too few settled keys to compare: {not_judged(verdict)}')}"
