"""The choice of the watermark, made visible: what each allowed lateness would cost, from the log alone.

    parity lateness --lake LAKE

A small lateness settles results early and repairs many of them; a large one repairs few and lets every result wait. For
a range of them: the events that would be late, the results that would need a repair, and how long a result waits from
the end of its window until it is settled, on the clock of arrival.
"""

from collections import Counter
from collections.abc import Sequence
from contextlib import suppress
from datetime import timedelta
from fractions import Fraction

from pyspark.sql import SparkSession

from lakehouse.changelogs import mark
from lakehouse.errors import NothingToCompare
from lakehouse.lake import Lake
from reconciliation.charted import charted_first
from reconciliation.choice import BUDGET, Choice, Option
from reconciliation.marks import Marks
from reconciliation.overdue import Overdue, overdue
from transformations.durations import milliseconds
from transformations.lifetime import Lifetime
from transformations.result import Result

LADDER = tuple(
    count * unit
    for unit, counts in (
        (timedelta(seconds=1), (0, 1, 10, 30)),
        (timedelta(minutes=1), (1, 2, 5, 10, 30)),
        (timedelta(hours=1), (1, 2, 6, 12)),
        (timedelta(days=1), (1, 2, 7, 30, 90, 365, 3650, 36_500)),
    )
    for count in counts
)

Ends = Counter[tuple[int, int]]
"""How many rows of results end at a moment and settle so much later, both in milliseconds."""


def lateness_choice(
    spark: SparkSession,
    lake: Lake,
    results: Sequence[Result],
    log_version: int,
    current: timedelta,
    *,
    budget: Fraction = BUDGET,
) -> Choice:
    """What each allowed lateness would mean at a version of the log, for those of `results` that can need a repair."""
    mark(lake, log_version)
    left_out = {result.name: why for result in results if (why := _why_not(result))}
    counted = [result for result in results if result.name not in left_out]
    if not counted:
        raise NothingToCompare(
            f"Nothing to choose: {'; '.join(f'{name}: {why}' for name, why in left_out.items())}. "
            "Name another --result, or none for all."
        )
    allowed = sorted({*LADDER, current})
    found = overdue(spark, lake, counted, log_version, allowed)
    if not found.events:
        kinds = ", ".join(sorted({kind for result in counted for kind in result.kinds}))
        raise NothingToCompare(
            f"The log of {lake.path} has no event that these results read ({kinds}). Run `parity ingest` first."
        )
    ends: Ends = Counter()
    for each in (each for rows in found.rows.values() for each in rows):
        ends[each.end, each.after] += each.rows
    options = [_option(found, ends, index, each) for index, each in enumerate(allowed)]
    nothing_late = next((n for n, each in enumerate(options) if not each.late_events), len(options))
    now = allowed.index(current)
    return Choice(
        log_version=log_version,
        events=found.events.total(),
        results={name: sum(each.rows for each in rows) for name, rows in found.rows.items()},
        left_out=left_out,
        options=[each for n, each in enumerate(options) if n <= nothing_late or n == now],
        current=options[now],
        budget=budget,
        clock=found.marks.clock,
    )


def charted_choice(
    spark: SparkSession, lake: Lake, results: Sequence[Result], log_version: int, current: timedelta
) -> Choice | None:
    """The choice for the one of `results` that the report's charts show, or none. All of them take their time."""
    counted = charted_first(lake, (each for each in results if not _why_not(each)))
    with suppress(NothingToCompare):
        return lateness_choice(spark, lake, counted[:1], log_version, current)
    return None


def _why_not(result: Result) -> str | None:
    """Why no lateness makes a difference to a result, if none does."""
    if result.way == "recompute":
        return "recomputed at every row, so nothing is a repair"
    return "no row is late for it" if isinstance(result.window, Lifetime) else None


def _option(found: Overdue, ends: Ends, index: int, allowed: timedelta) -> Option:
    not_settled, waits = _waits(ends, found.marks, milliseconds(allowed))
    return Option(
        allowed=allowed,
        late_events=sum(count for late_for, count in found.events.items() if late_for > index),
        repairs={name: sum(each.rows for each in rows if each.late_for > index) for name, rows in found.rows.items()},
        not_settled=not_settled,
        median_wait=_point(waits, Fraction(1, 2)),
        p99_wait=_point(waits, Fraction(99, 100)),
    )


def _waits(ends: Ends, marks: Marks, allowed: int) -> tuple[int, Counter[int]]:
    """The rows that the log does not settle, and the waits of those that it does, in milliseconds.

    A window that ended before the log begins was over when nobody looked: it has no wait. A phone whose clock is ahead
    can settle a window before it ends: no wait either, but zero.
    """
    not_settled, waits = 0, Counter[int]()
    for (end, after), count in ends.items():
        settled_at = marks.when(end + after + allowed)
        if settled_at is None:
            not_settled += count
        elif end > marks.marks[0]:
            waits[max(settled_at - end, 0)] += count
    return not_settled, waits


def _point(waits: Counter[int], share: Fraction) -> timedelta | None:
    """The least wait that at least such a share of them does not exceed."""
    needed, seen = share * waits.total(), 0
    for each in sorted(waits):
        seen += waits[each]
        if seen >= needed:
            return timedelta(milliseconds=each)
    return None
