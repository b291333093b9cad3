"""Clocks: the event time that a line means, and the times that no event can have.

A device's clock may be wrong by years; what it says is corrected. The clock of ingestion is the one that no line can set, so
every time that an event ends up with lies before it.
"""

from dataclasses import dataclass
from datetime import UTC, datetime, timedelta

from pyspark.sql import Column
from pyspark.sql import functions as F

from .durations import milliseconds, written


@dataclass(frozen=True, kw_only=True)
class Clock:
    """The tolerances, as exclusive bounds. The clock of ingestion is a column, `ingested_at`, like the other times."""

    device_tolerance: timedelta = timedelta(seconds=30)
    future_tolerance: timedelta = timedelta(minutes=10)
    floor: datetime = datetime(2000, 1, 1, tzinfo=UTC)

    def event_time(self) -> Column:
        """`occurred_at`, corrected by the device clock's error where that exceeds the tolerance.

        The error is `received_at - sent_at`, which contains the delay of the network. An ordinary delay must not move
        the event, hence the tolerance.
        """
        error = F.unix_millis("received_at") - F.unix_millis("sent_at")
        correction = F.when(F.abs(error) > milliseconds(self.device_tolerance), error).otherwise(F.lit(0))
        corrected = F.unix_millis("occurred_at") + F.coalesce(correction, F.lit(0))
        return F.timestamp_millis(corrected)

    def implausible(self) -> Column:
        """Why its times cannot be those of an event, or null. One phone from the year 2099 must not move the high-water mark.

        What was received at the latest was received when ingestion saw it: a line does not vouch for its own clock.
        """
        much = written(self.future_tolerance)
        unreceived = F.lit(f"time in the future: received more than {much} after the clock of ingestion")
        future = F.lit(f"time in the future: more than {much} after it was received")
        past = F.lit(f"time before the floor of {self.floor.isoformat()}")
        return (
            F.when(self._ahead("received_at", of="ingested_at"), unreceived)
            .when(self._ahead("event_time", of=F.least("received_at", "ingested_at")), future)
            .when(F.col("event_time") < F.lit(self.floor), past)
        )

    def _ahead(self, moment: str, *, of: Column | str) -> Column:
        """Whether a moment is later than another by more than the tolerance. In numbers, which do not overflow as times do."""
        return F.unix_millis(moment) > F.unix_millis(of) + F.lit(milliseconds(self.future_tolerance))
