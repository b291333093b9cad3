"""The rules of the clock as Spark columns: over `occurred_at`, `sent_at`, `received_at`, `event_time` and `ingested_at`."""

from pyspark.sql import Column
from pyspark.sql import functions as F

from transformations.clock import Clock
from transformations.durations import milliseconds


def event_time(clock: Clock) -> Column:
    """`occurred_at`, corrected by the device clock's error where that exceeds the tolerance."""
    error = F.unix_millis("received_at") - F.unix_millis("sent_at")
    correction = F.when(F.abs(error) > milliseconds(clock.device_tolerance), error).otherwise(F.lit(0))
    corrected = F.unix_millis("occurred_at") + F.coalesce(correction, F.lit(0))
    return F.timestamp_millis(corrected)


def implausible(clock: Clock) -> Column:
    """Why its times cannot be those of an event, or null."""
    return (
        F.when(_ahead(clock, "received_at", of="ingested_at"), F.lit(clock.unreceived))
        .when(_ahead(clock, "event_time", of=F.least("received_at", "ingested_at")), F.lit(clock.future))
        .when(F.col("event_time") < F.lit(clock.floor), F.lit(clock.past))
    )


def _ahead(clock: Clock, moment: str, *, of: Column | str) -> Column:
    """Whether a moment is later than another by more than the tolerance. In numbers, which do not overflow as times do."""
    return F.unix_millis(moment) > F.unix_millis(of) + F.lit(milliseconds(clock.future_tolerance))
