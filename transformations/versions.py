"""Tumbling windows over events that are joined with what was true at their time: a table whose versions are events too.

A change of the table holds from its event time to the next change of its key. One that arrives late touches every window
between the two that has an event of the key, and a result needs every earlier change of its keys, however old.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import ClassVar

from pyspark.sql import Column, DataFrame, Window
from pyspark.sql import functions as F

from .shape import Part, Revisions, bearing_where
from .windows import Tumbling


@dataclass(frozen=True)
class AsOf(Tumbling):
    """`[start, start + size)` over events of one kind, with the latest change of another kind at or before each."""

    name: ClassVar[str] = "join as of the event time"
    called: ClassVar[dict[str, str]] = {
        "Spark": "none on a stream; a stream joins a table as it is now",
        "Flink": "temporal join",
        "Beam": "slowly changing side input",
    }
    bounds: ClassVar[str] = "[start, start + size), a change from its own instant on"
    looks_ahead: ClassVar[bool] = True
    whole: ClassVar[bool] = True
    events: str
    changes: str
    of: str
    """The kinds of both sides, and the column that they are joined by."""

    def deadline(self) -> Column:
        return F.col("event_time")

    @property
    def reach(self) -> None:
        """A change of an event's past reaches as far as the next one."""

    def touched(self, rows: DataFrame, log: DataFrame, by: Sequence[str]) -> DataFrame:
        """`log` has every row from the earliest of `rows` on."""
        order = Window.partitionBy(self.of).orderBy("event_time", "event_id")
        changes = log.where(F.col("kind") == self.changes).withColumn("until", F.lead("event_time").over(order))
        arrived = rows.where(F.col("kind") == self.changes).select("event_id")
        stretches = changes.join(F.broadcast(arrived), "event_id", "left_semi").select(self.of, "event_time", "until")
        stretch, event = F.broadcast(stretches.alias("stretch")), log.where(F.col("kind") == self.events).alias("event")
        at, until = F.col("event.event_time"), F.col("stretch.until")
        holds = (at >= F.col("stretch.event_time")) & (until.isNull() | (at < until))
        moved = event.join(stretch, (F.col(f"event.{self.of}") == F.col(f"stretch.{self.of}")) & holds, "left_semi")
        new = rows.where(F.col("kind") == self.events)
        return super().touched(new.select(*by, "window").unionByName(moved.select(*by, "window")), log, by)

    def reads(self, first: datetime, last: datetime) -> Column:
        change = (F.col("kind") == self.changes) & (F.col("event_time") < F.lit(last))
        return super().reads(first, last) | change

    def repaired(self, part: Part, touched: DataFrame, by: Sequence[str], revisions: Revisions) -> DataFrame:
        events, changes = (part.rows.where(F.col("kind") == kind) for kind in (self.events, self.changes))
        windows = touched.select(*by, "window_start")
        mine = self._with_start(events).join(F.broadcast(windows), [*by, "window_start"], "left_semi")
        return revisions(changes.unionByName(mine.drop("window_start")))

    def bearing(self, events: DataFrame, keys: DataFrame, by: Sequence[str]) -> DataFrame:
        at, end = F.col("event.event_time"), F.col("key.window_end")
        needed = (F.col("event.kind") == self.changes) | (at >= F.col("key.window_start"))
        return bearing_where((at < end) & needed, self.placed(events), keys, by)
