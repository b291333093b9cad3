"""Every key of both sides, joined and judged by DuckDB, from the data files of their tables.

An inner join would hide what one side does not have. Every key is in one of these states:

- `beyond`: it ended before the retention horizon; the log may no longer have what it was made of.
- `open`: not settled at the pin; either side may still change without anything being wrong.
- `behind`: the log has rows for it between the version of its batch row and the pin; the two answer other questions.
- `equal` or `differs`: settled, and computed from the same rows.

This is a join and a count of rows that are there. For a result of a few thousand keys Spark takes a second of CPU, mostly to plan
it, and DuckDB a tenth. What does not fit into its memory it keeps on disk, so many millions of keys go the same way.
"""

from collections.abc import Mapping
from datetime import datetime

from pyspark.sql.types import (
    ArrayType,
    BooleanType,
    DataType,
    LongType,
    NumericType,
    StringType,
    StructField,
    StructType,
    TimestampType,
)

from lakehouse.changelog_sql import listed, outermost, quoted
from transformations.changelog import precedence
from transformations.result import Result

_STRINGS = ArrayType(StringType())


def known_revisions(relation: str, *, epoch: int, batch: int) -> str:
    """The revisions of a changelog when micro-batch `batch` of `epoch` had been written, wherever they lie now."""
    return f"select * from {relation} where epoch < {epoch} or (epoch = {epoch} and batch <= {batch})"


def view(result: Result, revisions: str, *, epoch: int, log_version: int) -> str:
    """The answer of the stream as of `log_version`: `transformations.changelog.kappa_view` in SQL."""
    rank = ", ".join(f"({each}) desc nulls last" for each in precedence(result))
    winners = (
        f"select * from ({revisions}) where epoch = {epoch} and log_version <= {log_version} "
        f"qualify row_number() over (partition by {listed(result.identity)} order by {rank}) = 1"
    )
    return f"select * from ({outermost(result, winners)}) where not deleted"


def revised(result: Result, revisions: str, *, epoch: int) -> str:
    """For each key that the stream has told `repaired`, and `times`: how often its most repeated revision was written, null
    if each once."""
    identity = listed(result.identity)
    written = (
        f"select {identity}, cause, count(*) as n from ({revisions}) where epoch = {epoch} "
        f"group by {identity}, log_version, cause"
    )
    return (
        f"select {identity}, bool_or(cause <> 'on_time') as repaired, "
        f"case when max(n) > 1 then max(n) end as times from ({written}) group by {identity}"
    )


def compared(result: Result, batch: str, candidate: str, *, tolerance: Mapping[str, float]) -> str:
    """Every key of either side with `batch` and `candidate` (structs of the cells, null where a side has no row) and
    `differing`, the names of the cells that differ beyond their tolerance."""
    sides = [_side(result, rows, name) for rows, name in ((batch, "batch"), (candidate, "candidate"))]
    every = "[" + ", ".join(f"'{name}'" for name in result.errors) + "]"
    cells = ", ".join(
        f"case when not ({_same(result, name, error, tolerance.get(name, 0.0))}) then '{name}' end"
        for name, error in result.errors.items()
    )
    apart = f"list_filter([{cells}], lambda name: name is not null)"
    differing = f"case when batch is null or candidate is null then {every} else {apart} end"
    identity = listed(result.identity)
    return (
        f"select {identity}, greatest(batch_end, candidate_end) as window_end, batch, candidate, batch_code, "
        f"candidate_code, {differing} as differing from ({sides[0]}) full outer join ({sides[1]}) using ({identity})"
    )


def with_state(result: Result, keys: str, *, settled_before: datetime, horizon_at: datetime) -> str:
    """`keys`, which have `moved_by` and `times`, with their `state`."""
    return (
        f"select *, case when window_end <= {moment(horizon_at)} then 'beyond' "
        f"when not {settled(result, settled_before)} then 'open' when moved_by is not null then 'behind' "
        "when len(differing) = 0 and times is null then 'equal' else 'differs' end as state "
        f"from ({keys})"
    )


def settled(result: Result, before: datetime) -> str:
    """Whether only late rows can still change a row of the result."""
    return "true" if result.window.endless else f"(window_end <= {moment(before - result.window.settles_after)})"


def moment(value: datetime) -> str:
    return f"timestamptz '{value.isoformat()}'"


def keys_schema(result: Result) -> StructType:
    """What Spark is handed of keys."""
    cells = StructType([StructField(name, _type(result, name)) for name in result.errors])
    more: dict[str, DataType] = {
        "window_end": TimestampType(), "batch": cells, "candidate": cells, "batch_code": StringType(),
        "candidate_code": StringType(), "differing": _STRINGS, "repaired": BooleanType(), "times": LongType(),
    }  # fmt: skip
    return StructType([*identity_schema(result), *(StructField(name, type_) for name, type_ in more.items())])


def identity_schema(result: Result) -> StructType:
    return StructType([StructField(name, _type(result, name)) for name in result.identity])


def _type(result: Result, name: str) -> DataType:
    return next(field.dataType for field in result.schema if field.name == name)


def _side(result: Result, rows: str, name: str) -> str:
    """One side of the join; `…_code` is the fingerprint of the code that made the row."""
    values = ", ".join(f"{quoted(each)} := {quoted(each)}" for each in result.errors)
    return (
        f"select {listed(result.identity)}, window_end as {name}_end, struct_pack({values}) as {name}, "
        f"fingerprint as {name}_code from ({rows})"
    )


def _same(result: Result, name: str, error: float, tolerance: float) -> str:
    exact, of = f"batch.{quoted(name)} is not distinct from candidate.{quoted(name)}", _type(result, name)
    if (not tolerance and not error) or not isinstance(of, NumericType | TimestampType):
        return exact
    number = "epoch({})" if isinstance(of, TimestampType) else "cast({} as double)"
    one, other = (number.format(f"{side}.{quoted(name)}") for side in ("batch", "candidate"))
    allowed = f"greatest({tolerance!r}::double, {error!r}::double * greatest(abs({one}), abs({other})))"
    return f"({exact} or coalesce(abs({one} - {other}) <= {allowed}, false))"
