"""The views as SQL for DuckDB: what a reader is shown of a result, layer by layer, without Spark.

The rules are those of Spark's views, told once: the versions and the cut-off by pins.py, which revision outranks which by
`transformations.changelog.precedence`, when a row is settled by its shape and stretches.py, derived columns by their
declaration. A test compares the answers of both row by row.

Values are bound, never written into the text. Names of columns come from the declarations alone.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

from lakehouse.changelog_sql import listed, outermost, quoted
from serving.pins import Layer, Pinned
from serving.stretches import settled_when_computed, taken_from_batch
from transformations.changelog import precedence
from transformations.result import Result

Values = dict[str, Any]


@dataclass(frozen=True, kw_only=True)
class Asked:
    """Which rows of a result: windows that start in `[first, end)`, of the first columns of a key, settled or not."""

    first: datetime | None = None
    end: datetime | None = None
    key: tuple[Any, ...] = ()
    named: tuple[tuple[str, Any], ...] = ()
    """Columns of a key by their names, each with its value."""
    settled: bool | None = None
    after: tuple[Any, ...] | None = None
    """Only what comes behind this identity, in the order of windows and keys."""
    limit: int | None = None
    order: tuple[tuple[str, bool], ...] = ()
    """Columns to sort by before windows and keys; those with true from the greatest down. What is missing comes last."""


@dataclass
class Query:
    """Text and bound values."""

    text: str
    values: Values = field(default_factory=dict)

    def bound(self, name: str, value: Any) -> str:
        """The place of a value in the text."""
        self.values[name] = value
        return f"${name}"


def view_query(result: Result, at: Pinned, relations: Mapping[Layer, str], asked: Asked) -> Query:
    """The answer of a layer, in the order of windows and keys unless another is asked for.

    `relations` are those of `kappa`, `batch` and `legacy`.
    """
    query = Query("")
    # A derived column may need rows that were not asked for, and so may the decision which session is the outermost.
    early = [] if result.derived else _key_conditions(result, asked, query)
    if result.window.ends_by_itself and not result.derived:
        early += _window_conditions(asked, query)
        if asked.after is not None:
            early.append(f"window_start >= {query.bound('after_0', asked.after[0])}")
    rows = _rows(result, at, relations, early, query)
    settled = _settled(result, at, query)
    conditions = [*_key_conditions(result, asked, query), *_window_conditions(asked, query)]
    if asked.settled is not None:
        conditions.append("settled" if asked.settled else "not settled")
    order = ("window_start", *result.key)
    if asked.after is not None:
        behind = ", ".join(query.bound(f"after_{place}", value) for place, value in enumerate(asked.after))
        conditions.append(f"({listed(order)}) > ({behind})")
    query.text = (
        f"select * from (select *, {settled} as settled from ({_shown(result, rows)})) "
        f"where {_all(conditions)} order by {_order(asked, order)}"
    )
    if asked.limit is not None:
        query.text += f" limit {query.bound('limit', asked.limit)}"
    return query


def shown_columns(result: Result) -> list[str]:
    """The columns that a reader sees of a result, those that only the view has at the end."""
    if result.derived is None:
        return list(result.columns)
    stored = [name for name in result.columns if name not in result.derived.hides]
    return [*stored, *(value.name for value in result.derived.values)]


def history_query(result: Result, relation: str, *, key: Sequence[Any], window_start: datetime, at: Pinned) -> Query:
    """The revisions of one result in the order in which they were written."""
    query = Query("")
    mine = [
        *_key_conditions(result, Asked(key=tuple(key)), query),
        f"window_start = {query.bound('window_start', window_start)}",
        *_known(at, query),
    ]
    hidden = result.derived.hides if result.derived else ()
    shown = [name for name in result.columns if name not in hidden]
    columns = listed((*shown, "cause", "deleted", "settled", "log_version", "written_at", "fingerprint"))
    query.text = f"select {columns} from {relation} where {_all(mine)} order by log_version, batch, cause, window_end"
    return query


def _rows(result: Result, at: Pinned, relations: Mapping[Layer, str], conditions: list[str], query: Query) -> str:
    columns = listed(result.columns)
    if at.boundary is None:
        return outermost(result, f"select {columns} from {relations[at.layer]} where {_all(conditions)}")
    speed = _kappa(result, at, relations["kappa"], conditions, query)
    if at.cut_off is None:
        return f"select {columns} from ({speed})"
    done = taken_from_batch(result, at.stretches)
    batch = f"select {columns} from {relations['batch']} where {_all([done, *conditions])}"
    return outermost(result, f"{batch} union all select {columns} from ({speed}) where not {done}")


def _kappa(result: Result, at: Pinned, relation: str, conditions: list[str], query: Query) -> str:
    """The winning revisions: `transformations.changelog.kappa_view` in SQL."""
    rank = ", ".join(f"({each}) desc nulls last" for each in precedence(result))
    winners = (
        f"select * from {relation} where {_all([*_known(at, query), *conditions])} "
        f"qualify row_number() over (partition by {listed(result.identity)} order by {rank}) = 1"
    )
    return f"select * from ({outermost(result, winners)}) where not deleted"


def _known(at: Pinned, query: Query) -> list[str]:
    """The revisions up to a boundary, of its epoch. Its micro-batch bounds them, wherever a maintenance has put them since."""
    assert at.boundary is not None
    return [
        f"epoch = {query.bound('epoch', at.boundary.epoch)}",
        f"batch <= {query.bound('batch', at.boundary.batch)}",
    ]


def _shown(result: Result, rows: str) -> str:
    """Rows as a reader sees them, with the columns that only the view has."""
    if result.derived is None:
        return rows
    hidden = f" exclude ({listed(result.derived.hides)})" if result.derived.hides else ""
    return f"select *{hidden} from ({result.derived.select.format(rows=f'({rows})')})"


def _settled(result: Result, at: Pinned, query: Query) -> str:
    """Whether only late events can still change a row that is shown."""
    if result.window.endless:
        return "true"
    if at.layer == "batch":
        return settled_when_computed(result, at.stretches)
    settled = f"window_end <= {query.bound('before', at.settled_before - result.window.settles_after)}"
    return settled if at.cut_off is None else f"({settled} or {taken_from_batch(result, at.stretches)})"


def _key_conditions(result: Result, asked: Asked, query: Query) -> list[str]:
    named = [*zip(result.key, asked.key, strict=False), *asked.named]  # the first columns of a key may be enough
    return [f"{quoted(name)} = {query.bound(f'key_{place}', value)}" for place, (name, value) in enumerate(named)]


def _order(asked: Asked, order: Sequence[str]) -> str:
    first = [f"{quoted(name)} {'desc' if down else 'asc'} nulls last" for name, down in asked.order]
    return ", ".join([*first, listed(order)])


def _window_conditions(asked: Asked, query: Query) -> list[str]:
    first = [] if asked.first is None else [f"window_start >= {query.bound('first', asked.first)}"]
    end = [] if asked.end is None else [f"window_start < {query.bound('end', asked.end)}"]
    return first + end


def _all(conditions: Sequence[str]) -> str:
    return " and ".join(conditions) or "true"
