"""Rows of a result for people: a table that fits a terminal of 80 columns.

What all rows share is said once above them: the date, and how long a window is. What is not a value is left out: the window of
a result that has none. Machines get every column in full: rows.py.
"""

from collections.abc import Mapping, Sequence
from datetime import date, datetime, timedelta
from decimal import Decimal
from typing import TYPE_CHECKING, Any

import pyarrow as pa
from rich.console import Console
from rich.measure import Measurement
from rich.table import Table

from cli.console import answers
from cli.terminal import plain
from transformations.durations import from_millis, written

if TYPE_CHECKING:
    from serving.subjects import Subject
    from transformations.result import Result

Columns = dict[str, list[Any]]
WIDE, NARROW = 2, 1
"""The gap between two columns; narrow where the table would else be wider than the terminal."""


def print_table(subject: "Subject", rows: pa.Table, *, of: int) -> None:
    """The rows, with what they are of above them and how many there are `of` them below."""
    columns: Columns = {name: _values(rows[name]) for name in rows.column_names}
    length = _length(subject.result, columns)
    if length is not None or subject.result.window.endless:
        del columns["window_end"]
    if subject.result.window.endless:
        del columns["window_start"]
    dates = {value.date() for values in columns.values() for value in values if isinstance(value, datetime)}
    for line in (_heading(subject), *([_legend(length, sorted(dates))] if dates else [])):
        answers.print(line, highlight=False, markup=False)
    day = "" if len(dates) <= 1 else "%m-%d " if len({each.year for each in dates}) == 1 else "%Y-%m-%d "
    table = _table(columns, day, WIDE)
    if _width(table) > answers.width:
        table = _table(columns, day, NARROW)
    # What is not read on a terminal has no width to keep to.
    (answers if answers.is_terminal else Console(width=max(answers.width, _width(table)))).print(table)
    shown = len(rows)
    answers.print(f"{shown:,} of {of:,} rows; --limit 0 shows all" if shown < of else f"{of:,} rows", highlight=False)


def _values(column: pa.ChunkedArray) -> list[Any]:
    """The values of a column. PyArrow would load pandas, for a third of a second, to make times of timestamps."""
    if not pa.types.is_timestamp(column.type):
        found: list[Any] = column.to_pylist()
        return found
    millis = column.cast(pa.timestamp("ms", "UTC"), safe=False).cast(pa.int64()).to_pylist()
    return [None if value is None else from_millis(value) for value in millis]


def _heading(subject: "Subject") -> str:
    at = subject.at
    heading = f"{at.layer} {subject.result.id} at log version {at.log_version}"
    return heading if at.cut_off is None else f"{heading}; batch until {at.cut_off:%Y-%m-%dT%H:%M:%SZ}"


def _legend(length: timedelta | None, dates: Sequence[date]) -> str:
    """What is left out of every row."""
    first, last = dates[0], dates[-1]
    shared = f" on {first}" if first == last else f" of {first.year}" if first.year == last.year else ""
    when = f"times in UTC{shared}"
    return when if length is None else f"{when}; window_end is {written(length)} after window_start"


def _length(result: "Result", columns: Mapping[str, list[Any]]) -> timedelta | None:
    """How long a window is, if it is the same for all that are shown."""
    if result.window.endless or not result.window.ends_by_itself:
        return None
    pairs = zip(columns["window_start"], columns["window_end"], strict=True)
    lengths = {end - start for start, end in pairs}
    return lengths.pop() if len(lengths) == 1 else None


def _table(columns: Columns, day: str, gap: int) -> Table:
    table = Table(header_style="bold", box=None, padding=(0, gap, 0, 0), pad_edge=False)
    for name, values in columns.items():
        number = any(
            isinstance(value, int | float | Decimal) and value is not True and value is not False for value in values
        )
        table.add_column(name, justify="right" if number else "left", overflow="fold")
    for row in zip(*(_texts(values, day) for values in columns.values()), strict=True):
        table.add_row(*row)
    return table


def _texts(values: Sequence[Any], day: str) -> list[str]:
    """The values of a column; its times as exact as the most exact of them has to be."""
    moments = [value for value in values if isinstance(value, datetime)]
    millis = any(value.microsecond for value in moments)
    form = day + ("%H:%M:%S" if millis or any(value.second for value in moments) else "%H:%M")

    def text(value: Any) -> str:
        if isinstance(value, datetime):
            return value.strftime(form) + (f".{value.microsecond // 1000:03}" if millis else "")
        if isinstance(value, list):
            return plain(", ".join(map(str, value)))
        return "" if value is None else plain(_number(value) if isinstance(value, float | Decimal) else value)

    return [text(value) for value in values]


def _number(value: float | Decimal) -> str:
    return f"{value:.10g}" if isinstance(value, float) else f"{value:f}"


def _width(table: Table) -> int:
    return Measurement.get(answers, answers.options.update(max_width=10_000), table).maximum
