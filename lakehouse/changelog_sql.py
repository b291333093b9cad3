"""The view of a changelog in SQL, for those who read it without Spark: parts of it that are the same for all of them."""

from collections.abc import Iterable

from transformations.result import Result


def outermost(result: Result, rows: str) -> str:
    """`transformations.changelog.outermost` in SQL."""
    if result.window.ends_by_itself:
        return rows
    by = f"partition by {listed(result.key)} " if result.key else ""
    order = "order by window_start, window_end desc"
    earlier = f"over ({by}{order} rows between unbounded preceding and 1 preceding)"
    return f"select * from ({rows}) qualify coalesce(max(window_end) {earlier} < window_end, true)"


def listed(names: Iterable[str]) -> str:
    return ", ".join(quoted(name) for name in names)


def quoted(name: str) -> str:
    return '"' + name.replace('"', '""') + '"'
