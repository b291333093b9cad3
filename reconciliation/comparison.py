"""The comparison itself: a full outer join over all keys, cell by cell, with a state for each key.

An inner join would hide what one side does not have. Every key is in one of these states:

- `beyond`: it ended before the retention horizon; the log may no longer have what it was made of.
- `open`: not settled at the pin; either side may still change without anything being wrong.
- `behind`: the log has rows for it between the version of its batch row and the pin; the two answer other questions.
- `equal` or `differs`: settled, and computed from the same rows.
"""

from collections.abc import Mapping
from datetime import datetime
from functools import reduce

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F

from transformations.result import Result


def compared(batch: DataFrame, candidate: DataFrame, result: Result, *, tolerance: Mapping[str, float]) -> DataFrame:
    """Every key of either side with `batch` and `candidate` (structs of the cells, null where a side has no row) and
    `differing`, the names of the cells that differ beyond their tolerance."""
    left, right = _side(batch, result, "batch"), _side(candidate, result, "candidate")
    joined = left.join(right, list(result.identity), "full_outer")
    one_sided = F.col("batch").isNull() | F.col("candidate").isNull()
    every = F.array(*(F.lit(name) for name in result.errors))
    cells = _apart(result, "batch", "candidate", tolerance)
    differing = F.when(one_sided, every).otherwise(F.array_compact(F.array(*cells)))
    end = F.greatest("batch_end", "candidate_end").alias("window_end")
    sides = ("batch", "candidate", "batch_code", "candidate_code")
    return joined.select(*result.identity, end, *sides, differing.alias("differing"))


def _side(rows: DataFrame, result: Result, name: str) -> DataFrame:
    """One side of the join; `…_code` is the fingerprint of the code that made the row, where it carries one."""
    code = F.col("fingerprint") if "fingerprint" in rows.columns else F.lit(None).cast("string")
    values = F.struct(*result.errors).alias(name)
    return rows.select(*result.identity, F.col("window_end").alias(f"{name}_end"), values, code.alias(f"{name}_code"))


def alike(result: Result, one: str, other: str) -> Column:
    """Whether two structs of cells say the same: both nothing, or each cell within the error that it is declared with."""
    apart = F.array_compact(F.array(*_apart(result, one, other, {})))
    both = F.col(one).isNotNull() & F.col(other).isNotNull()
    return F.when(both, F.size(apart) == 0).otherwise(F.col(one).isNull() & F.col(other).isNull())


def _apart(result: Result, one: str, other: str, tolerance: Mapping[str, float]) -> list[Column]:
    """The names of the cells that differ, null for those that do not."""
    measured = {value.name for value in result.values if value.is_measured} | {"window_end"}
    allowed = {name: tolerance.get(name, 0.0) for name in measured}
    return [
        F.when(~_same(F.col(f"{one}.{name}"), F.col(f"{other}.{name}"), error, allowed.get(name, 0.0)), F.lit(name))
        for name, error in result.errors.items()
    ]


def _same(left: Column, right: Column, error: float, tolerance: float) -> Column:
    exact = left.eqNullSafe(right)
    if not tolerance and not error:
        return exact
    one, other = left.cast("double"), right.cast("double")
    allowed = F.greatest(F.lit(tolerance), F.lit(error) * F.greatest(F.abs(one), F.abs(other)))
    return exact | F.coalesce(F.abs(one - other) <= allowed, F.lit(False))


def with_state(
    keys: DataFrame, result: Result, moved: DataFrame | None, *, settled_before: datetime, horizon_at: datetime
) -> DataFrame:
    """`keys` with their `state`. `moved` names the keys that the log touched between the two versions, with the events; none
    where there was nothing in between."""
    state = (
        F.when(F.col("window_end") <= F.lit(horizon_at), "beyond")
        .when(~result.settled(F.lit(settled_before)), "open")
        .when(F.col("moved_by").isNotNull(), "behind")
        .when(F.size("differing") == 0, "equal")
        .otherwise("differs")
    )
    if moved is None:
        moved_by = F.lit(None).cast("array<string>")
        return keys.withColumn("moved_by", moved_by).withColumn("state", state)
    return keys.join(moved, list(result.identity), "left").withColumn("state", state)


def moved_between(
    log: DataFrame, result: Result, keys: DataFrame, spans: Mapping[int, tuple[int, int]], computed_at: Column
) -> DataFrame | None:
    """Those of `keys` that rows of the log touched between the batch version of the key and the pin, with the ids of the rows.

    `spans` gives, for each version that the batch layer has computed at, the `seq` of the log there and at the pin. A
    window that it never computed has been touched by all its events. None where no span has a row.
    """
    parts = [
        result.bearing(
            log.where((F.col("seq") > low) & (F.col("seq") <= high)), keys.where(computed_at == version)
        ).select("about", "event_id")
        for version, (low, high) in spans.items()
        if low < high
    ]
    if not parts:
        return None
    touched = reduce(DataFrame.unionByName, parts)
    return touched.groupBy("about").agg(F.collect_set("event_id").alias("moved_by")).select("about.*", "moved_by")
