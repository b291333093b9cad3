"""Two versions of a result compared: what a swap would change, for whom, and by how much.

    parity compare --lake LAKE --left door_counts@1 --right door_counts@2

The same comparison as between the layers, with the left version in the place of batch.
"""

from contextlib import suppress
from dataclasses import dataclass
from datetime import datetime, timedelta

from pyspark.sql import Column, DataFrame, Row, SparkSession
from pyspark.sql import functions as F
from pyspark.sql.types import NumericType

from lakehouse.changelogs import Boundary, boundary, mark, read_kappa, settled_before
from lakehouse.errors import NothingToCompare
from lakehouse.identity import noted
from lakehouse.lake import Lake
from lakehouse.log import log_at, position
from lakehouse.settings import Settings
from lakehouse.terms import at_log
from lakehouse.versions import as_noted
from reconciliation.changes import Change, ValueChange, VersionComparison
from reconciliation.comparison import compared, moved_between, with_state
from reconciliation.differences import cells
from transformations.durations import iso
from transformations.plain import plain
from transformations.result import Result

SAMPLES = 20


@dataclass(frozen=True)
class _Side:
    """A version as it was computed: its log, what it was allowed to wait for, and how far it has come."""

    result: Result
    lake: Lake
    allowed: timedelta
    at: Boundary

    @property
    def settled_before(self) -> datetime:
        return settled_before(mark(self.lake, self.at.log_version), self.allowed, self.at)

    @property
    def begins_after(self) -> datetime | None:
        """The greatest event time that does not count for it: what starts later is made of rows that all do."""
        return position(self.lake, self.lake.since - 1).high_water if self.lake.since else None

    def rows(self, spark: SparkSession) -> DataFrame:
        return read_kappa(spark, self.lake, self.result, self.at)


def versions_compared(
    spark: SparkSession, lake: Lake, left: Result, right: Result, settings: Settings, *, samples: int = SAMPLES
) -> VersionComparison:
    """The settled rows of both versions, each as it was computed, at the newest log version that both have reached.

    Versions of different logs are compared as far as each has come in its own.
    """
    one, other = _sides(lake, left, right, settings)
    begins = [side.begins_after for side in (one, other) if side.begins_after is not None]
    after = max(begins) if begins else None
    counts = F.lit(True) if after is None else F.col("window_start") > F.lit(after)
    both = compared(one.rows(spark), other.rows(spark), other.result, tolerance={}).where(counts)
    keys = with_state(
        both,
        other.result,
        _moved(spark, one, other, both),
        settled_before=min(one.settled_before, other.settled_before),
        horizon_at=mark(other.lake, other.at.log_version) - settings.retention.horizon,
    ).persist()
    changed = keys.where("state = 'differs'")
    counted = _counted(keys)
    in_order = changed.orderBy("window_start", *right.key).limit(samples)
    comparison = VersionComparison(
        left=left.id,
        right=right.id,
        left_log_version=one.at.log_version,
        right_log_version=other.at.log_version,
        left_code=sorted(counted["left_code"]),
        right_code=sorted(counted["right_code"]),
        settings=_settings_changed(lake, left, right),
        after=None if after is None else iso(after),
        equal=counted["equal"],
        differing=counted["differing"],
        only_left=counted["only_left"],
        only_right=counted["only_right"],
        open=counted["open"],
        least_settled=settings.reconciliation.least_settled,
        values=_values(changed, other.result),
        samples=[_change(row, other.result) for row in in_order.collect()],
    )
    keys.unpersist()
    return comparison


def refuse_incomparable(lake: Lake, left: Result, right: Result, settings: Settings) -> None:
    """Refuse what a comparison would refuse, without Spark."""
    _sides(lake, left, right, settings)


def _refuse_other_result(left: Result, right: Result) -> None:
    if left.name != right.name:
        raise NothingToCompare(
            f"{left.id} and {right.id} are different results. Compare two versions of one, e.g. {left.name}@1 and "
            f"{left.name}@2."
        )


def _sides(lake: Lake, left: Result, right: Result, settings: Settings) -> tuple[_Side, _Side]:
    """Each version at its newest boundary; of one log, the one that is ahead at or before that of the other, if it can."""
    _refuse_other_result(left, right)
    newest = {result.id: boundary(lake, result) for result in (left, right)}
    own = {result.id: at_log(lake, result) for result in (left, right)}
    behind = min(at.log_version for at in newest.values())

    def side(result: Result) -> _Side:
        noted_as, given = as_noted(lake, result, settings)
        at = newest[result.id]
        if own[left.id].log == own[right.id].log:
            with suppress(NothingToCompare):  # rows that the log moved since then are not judged
                at = boundary(lake, result, behind)
        return _Side(noted_as, own[result.id], given.lateness.allowed, at)

    return side(left), side(right)


def _moved(spark: SparkSession, one: _Side, other: _Side, keys: DataFrame) -> DataFrame | None:
    """The keys that the log touched between the two versions of it; none where the logs are not the same."""
    spans = {}
    if one.lake.log == other.lake.log:
        low, high = sorted(position(side.lake, side.at.log_version).seq for side in (one, other))
        spans[0] = (low, high)
    newest = max(one.at.log_version, other.at.log_version) if spans else other.at.log_version
    log = log_at(spark, other.lake, newest, whole=True)
    return moved_between(log, other.result, keys, spans, F.lit(0))


def _settings_changed(lake: Lake, left: Result, right: Result) -> dict[str, tuple[str | None, str | None]]:
    one, other = (noted(lake, each).get("settings", {}) for each in (left, right))
    names = [*one, *(name for name in other if name not in one)]
    return {name: (one.get(name), other.get(name)) for name in names if one.get(name) != other.get(name)}


def _counted(keys: DataFrame) -> Row:
    differs = F.col("state") == "differs"

    def number(condition: Column) -> Column:
        return F.count(F.when(condition, F.lit(1)))

    row = keys.agg(
        number(F.col("state") == "equal").alias("equal"),
        number(differs & F.col("batch").isNotNull() & F.col("candidate").isNotNull()).alias("differing"),
        number(differs & F.col("candidate").isNull()).alias("only_left"),
        number(differs & F.col("batch").isNull()).alias("only_right"),
        number(F.col("state").isin("open", "behind")).alias("open"),
        F.collect_set("batch_code").alias("left_code"),
        F.collect_set("candidate_code").alias("right_code"),
    ).first()
    assert row is not None
    return row


def _values(changed: DataFrame, result: Result) -> list[ValueChange]:
    """Each value that differs in a row that both versions have; the change is right less left."""
    numeric = {value.name for value in result.values if isinstance(value.type, NumericType)}
    both = changed.where("batch is not null and candidate is not null")
    measured: list[Column] = []
    for name in result.errors:
        concerned = F.array_contains("differing", name)
        change = F.col(f"candidate.{name}") - F.col(f"batch.{name}") if name in numeric else F.lit(None)
        change = F.when(concerned, change.cast("double"))
        measured += [
            F.count(F.when(concerned, F.lit(1))).alias(f"{name} rows"),
            F.sum(change).alias(f"{name} sum"),
            F.max(F.abs(change)).alias(f"{name} greatest"),
        ]
    row = both.agg(*measured).first()
    assert row is not None
    found = [
        ValueChange(name, row[f"{name} rows"], row[f"{name} sum"], row[f"{name} greatest"]) for name in result.errors
    ]
    return [value for value in found if value.rows]


def _change(row: Row, result: Result) -> Change:
    return Change(
        key={name: plain(row[name]) for name in result.key},
        window_start=iso(row.window_start),
        window_end=None if row.window_end is None else iso(row.window_end),
        left=cells(row.batch),
        right=cells(row.candidate),
        differing=list(row.differing),
        left_code=row.batch_code,
        right_code=row.candidate_code,
    )
