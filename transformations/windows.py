"""Windows over event time, aligned to 1970-01-01T00:00Z as Spark aligns them."""

from dataclasses import dataclass
from datetime import timedelta

from pyspark.sql import Column
from pyspark.sql import functions as F

from .durations import milliseconds, written


def earlier(moment: Column, by: timedelta) -> Column:
    """`moment - by`."""
    return F.timestamp_millis(F.unix_millis(moment) - F.lit(milliseconds(by)))


@dataclass(frozen=True)
class Tumbling:
    """Windows of one size, side by side: `[start, start + size)`, closed at the start and open at the end."""

    size: timedelta

    def __post_init__(self) -> None:
        if milliseconds(self.size) <= 0:
            raise ValueError(f"a window needs a size above zero, not {self.size}")

    @property
    def parameters(self) -> dict[str, str]:
        return {"size": written(self.size)}

    def grouping(self, event_time: str) -> Column:
        """The window as a grouping key. It has to be Spark's own: the engine's watermark works on nothing else."""
        return F.window(event_time, written(self.size)).alias("window")

    def start(self, event_time: Column) -> Column:
        """The start of the window that holds `event_time`, as plain arithmetic for rows that are not grouped."""
        size = F.lit(milliseconds(self.size))
        return F.timestamp_millis(F.unix_millis(event_time) - F.pmod(F.unix_millis(event_time), size))

    def end(self, event_time: Column) -> Column:
        """The end of the window that holds `event_time`; the window does not contain it."""
        return earlier(self.start(event_time), -self.size)
