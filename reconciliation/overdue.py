"""How overdue the rows of the log came, for all allowed latenesses at once, as small plain counts.

A placed row is late for an allowed lateness D iff D is at most `high_water - deadline`: so far is it *overdue*. A result
needs a repair iff the most overdue of the rows that bear upon it is late. So each row is looked at once, for every D.

What counts as a result is a row of it, present or not:

- windows of one size: each combination of the columns that an event is grouped by, and window, that has an event;
- sessions: each of the whole log;
- joins, windows over a join: each row that batch computes from the whole log, with the events that bear upon it. Those
  rows are broadcast: with some 100 bytes each, a few million of them are the limit of a driver with its default memory.
"""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import timedelta
from functools import reduce
from typing import NamedTuple

from pyspark.sql import Column, DataFrame, SparkSession
from pyspark.sql import functions as F

from lakehouse.arrivals import HASHES
from lakehouse.lake import Lake
from lakehouse.log import log_at, position
from reconciliation.marks import Marks, marks
from transformations.durations import milliseconds
from transformations.result import Result
from transformations.sessions import Session
from transformations.windows import Aligned

MANY = 1_000_000  # events of a log whose ends and marks are kept to the minute rather than to the second
SECOND, MINUTE = 1000, 60_000
NOT_NEEDED = ("raw", "file", "line", "batch", "fingerprint", *HASHES)


class Group(NamedTuple):
    """So many rows of a result end at `end`, settle `after` milliseconds later, and are late for so many latenesses."""

    end: int
    after: int
    late_for: int
    rows: int


@dataclass(frozen=True)
class Overdue:
    """The events by how many of the latenesses they are late for, the rows of each result, and the mark over the clock."""

    events: Counter[int]
    rows: dict[str, list[Group]]
    marks: Marks


def overdue(
    spark: SparkSession, lake: Lake, results: Sequence[Result], log_version: int, latenesses: Sequence[timedelta]
) -> Overdue:
    """The counts for these allowed latenesses, in ascending order. Three jobs, however many results."""
    edges = [milliseconds(each) for each in latenesses]
    step = SECOND if position(lake, log_version).seq <= MANY else MINUTE
    log = (
        log_at(spark, lake, log_version, whole=True).drop(*NOT_NEEDED).persist()
    )  # a scan costs more than what is done
    try:
        return Overdue(_events(log, results, edges), _rows(log, results, edges, step), marks(log, step))
    finally:
        log.unpersist()


def _events(log: DataFrame, results: Sequence[Result], edges: Sequence[int]) -> Counter[int]:
    """The events that a result reads. One is as late as it is for the window for which it is most overdue.

    No window ends before its events. So where an event's own time decides for one result, windows do not matter.
    """
    own = {kind for result in results if not isinstance(result.window, Aligned) for kind in result.kinds}
    matter = [each for each in results if not isinstance(each.window, Aligned) or not own.issuperset(each.kinds)]
    distinct = {(result.kinds, result.window): result for result in matter}.values()
    each = [result.placed(log).select("seq", _behind(result).alias("behind")) for result in distinct]
    most = reduce(DataFrame.unionByName, each).groupBy("seq").agg(F.max("behind").alias("behind"))
    counted = most.groupBy(_late_for(edges).alias("late_for")).count().collect()
    return Counter({row.late_for: row["count"] for row in counted})


def _rows(log: DataFrame, results: Sequence[Result], edges: Sequence[int], step: int) -> dict[str, list[Group]]:
    """Results with the same windows over the same events are counted once, e.g. everything per door and minute."""
    alike: dict[object, list[Result]] = {}
    for result in results:
        aligned = isinstance(result.window, Aligned)
        alike.setdefault((result.kinds, result.grouping, result.window) if aligned else result.name, []).append(result)
    groups = list(alike.values())
    each = [_each(log, group[0], step).withColumn("group", F.lit(n)) for n, group in enumerate(groups)]
    alike_rows = reduce(DataFrame.unionByName, each).groupBy(
        "group", "end", "after", _late_for(edges).alias("late_for")
    )
    found: dict[str, list[Group]] = {result.name: [] for result in results}
    for row in alike_rows.count().collect():
        for result in groups[row["group"]]:
            found[result.name].append(Group(row["end"], row.after, row.late_for, row["count"]))
    return found


def _each(log: DataFrame, result: Result, step: int) -> DataFrame:
    """Every row of a result: where it ends, rounded up to the step, how much later it settles, how overdue it became."""
    most = F.max(_behind(result)).alias("behind")
    placed, window = result.placed(log), result.window
    if isinstance(window, Aligned):
        rows = window.finished(placed.groupBy(*result.grouping, "window").agg(most))
    elif isinstance(window, Session):
        reach = (F.min("event_time").alias("first_at"), F.max("event_time").alias("last_at"))
        rows = window.finished(placed.groupBy(*result.grouping, window.window()).agg(most, *reach))
    else:
        whole = F.struct(*result.identity, "window_end").alias("about")
        keys = result.computed(placed).select(whole, *result.grouping, "window_start", "window_end")
        rows = (
            window.bearing(placed, keys, result.grouping)
            .groupBy("about")
            .agg(most)
            .select("about.window_end", "behind")
        )
    end = F.unix_millis("window_end")
    return rows.select(
        (F.ceil(end / step) * step).alias("end"), (F.unix_millis(window.settles()) - end).alias("after"), "behind"
    )


def _behind(result: Result) -> Column:
    """How far a placed row is overdue, in milliseconds; one that came before its deadline is below zero."""
    return F.unix_millis("high_water") - F.unix_millis(result.window.deadline())


def _late_for(edges: Sequence[int]) -> Column:
    return F.size(F.filter(F.array(*map(F.lit, edges)), lambda edge: edge <= F.col("behind")))
