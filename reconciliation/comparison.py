"""The comparison itself: a full outer join over all keys, cell by cell, with a state for each key.

An inner join would hide what one side does not have. Every key is in one of these states:

- `beyond`: it ended before the retention horizon; the log may no longer have what it was made of.
- `open`: not settled at the pin; either side may still change without anything being wrong.
- `behind`: the log has rows for it between the version of its batch row and the pin; the two answer other questions.
- `equal` or `differs`: settled, and computed from the same rows.
"""

from collections.abc import Mapping
from datetime import datetime, timedelta
from functools import reduce

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F

from transformations.lateness import settled
from transformations.result import Result


def compared(batch: DataFrame, candidate: DataFrame, result: Result, *, tolerance: Mapping[str, float]) -> DataFrame:
    """Every key of either side with `batch` and `candidate` (structs of the values, null where a side has no row) and
    `differing`, the names of the cells that differ beyond their tolerance."""
    left, right = _side(batch, result, "batch"), _side(candidate, result, "candidate")
    joined = left.join(right, list(result.identity), "full_outer")
    cells = [F.when(~_same(name, tolerance.get(name, 0.0)), F.lit(name)) for name in result.value_names]
    one_sided = F.col("batch").isNull() | F.col("candidate").isNull()
    every = F.array(*(F.lit(name) for name in result.value_names))
    differing = F.when(one_sided, every).otherwise(F.array_compact(F.array(*cells)))
    end = F.coalesce("batch_end", "candidate_end").alias("window_end")
    sides = ("batch", "candidate", "batch_code", "candidate_code")
    return joined.select(*result.identity, end, *sides, differing.alias("differing"))


def _side(rows: DataFrame, result: Result, name: str) -> DataFrame:
    """One side of the join; `…_code` is the fingerprint of the code that made the row, where it carries one."""
    code = F.col("fingerprint") if "fingerprint" in rows.columns else F.lit(None).cast("string")
    values = F.struct(*result.value_names).alias(name)
    return rows.select(*result.identity, F.col("window_end").alias(f"{name}_end"), values, code.alias(f"{name}_code"))


def _same(name: str, tolerance: float) -> Column:
    left, right = F.col(f"batch.{name}"), F.col(f"candidate.{name}")
    exact = left.eqNullSafe(right)
    if not tolerance:
        return exact
    return exact | F.coalesce(F.abs(left.cast("double") - right.cast("double")) <= tolerance, F.lit(False))


def with_state(
    keys: DataFrame, result: Result, moved: DataFrame, *, high_water: datetime, allowed: timedelta, horizon: timedelta
) -> DataFrame:
    """`keys` with their `state`. `moved` names the keys that the log touched between the two versions, with the events."""
    state = (
        F.when(F.col("window_end") <= F.lit(high_water - horizon), "beyond")
        .when(~settled(F.col("window_end"), F.lit(high_water), allowed), "open")
        .when(F.col("moved_by").isNotNull(), "behind")
        .when(F.size("differing") == 0, "equal")
        .otherwise("differs")
    )
    return keys.join(moved, list(result.identity), "left").withColumn("state", state)


def moved_between(
    log: DataFrame, result: Result, spans: Mapping[int, tuple[int, int]], computed_at: Column
) -> DataFrame:
    """The keys that rows of the log touched between the batch version of the key and the pin, with the ids of the rows.

    `spans` gives, for each version that the batch layer has computed at, the `seq` of the log there and at the pin.
    """
    empty = log.limit(0)
    parts = [
        log.where((F.col("seq") > low) & (F.col("seq") <= high))
        .where(result.concerns())
        .withColumn("at", F.lit(version))
        for version, (low, high) in spans.items()
        if low < high
    ]
    rows = reduce(DataFrame.unionByName, parts, empty.withColumn("at", F.lit(0)))
    placed = rows.withColumn("window_start", result.window.start(F.col("event_time")))
    touched = placed.where(F.col("at") == computed_at)
    return touched.groupBy(*result.identity).agg(F.collect_set("event_id").alias("moved_by"))
