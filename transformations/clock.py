"""Clocks: the event time that a line means, and the times that no event can have.

A device's clock may be wrong by years; what it says is corrected. The clock of ingestion is the one that no line can set, so
every time that an event ends up with lies before it. All moments are milliseconds since 1970 here.
"""

from dataclasses import dataclass
from datetime import UTC, datetime, timedelta

from .durations import milliseconds, written


@dataclass(frozen=True, kw_only=True)
class Clock:
    """The tolerances, as exclusive bounds."""

    device_tolerance: timedelta = timedelta(seconds=30)
    future_tolerance: timedelta = timedelta(minutes=10)
    floor: datetime = datetime(2000, 1, 1, tzinfo=UTC)

    def event_time(self, occurred_at: int, sent_at: int | None, received_at: int | None) -> int:
        """`occurred_at`, corrected by the device clock's error where that exceeds the tolerance.

        The error is `received_at - sent_at`, which contains the delay of the network. An ordinary delay must not move
        the event, hence the tolerance.
        """
        error = 0 if sent_at is None or received_at is None else received_at - sent_at
        return occurred_at + (error if abs(error) > milliseconds(self.device_tolerance) else 0)

    def implausible(self, event_time: int, received_at: int | None, *, ingested_at: int) -> str | None:
        """Why its times cannot be those of an event, or none. One phone from the year 2099 must not move the high-water mark.

        What was received at the latest was received when ingestion saw it: a line does not vouch for its own clock.
        """
        much = milliseconds(self.future_tolerance)
        received = ingested_at if received_at is None else received_at
        if received > ingested_at + much:
            return self.unreceived
        if event_time > min(received, ingested_at) + much:
            return self.future
        return self.past if event_time < self.floor_millis else None

    @property
    def floor_millis(self) -> int:
        """The first millisecond that is not before the floor."""
        return -((datetime(1970, 1, 1, tzinfo=UTC) - self.floor) // timedelta(milliseconds=1))

    @property
    def unreceived(self) -> str:
        much = written(self.future_tolerance)
        return f"time in the future: received more than {much} after the clock of ingestion"

    @property
    def future(self) -> str:
        return f"time in the future: more than {written(self.future_tolerance)} after it was received"

    @property
    def past(self) -> str:
        return f"time before the floor of {self.floor.isoformat()}"
