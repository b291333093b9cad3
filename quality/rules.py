"""What a table must satisfy, as plain data. `expectations` makes expectations of Great Expectations of it.

A rule has a short name and a sentence that a person reads. Its condition is SQL over the columns of the checked frame;
columns whose names begin with `_` were computed for the check and are no part of the table.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from decimal import Decimal
from typing import Any, Literal

from pyspark.sql import Column, Window
from pyspark.sql import functions as F
from pyspark.sql.types import StructType

from transformations.durations import iso, to_millis, written

Unit = Literal["number", "share", "seconds"]
HELPER = "_"
COPIES = "_copies"


@dataclass(frozen=True)
class Columns:
    """The table has these columns with these types, and no others."""

    schema: StructType
    name: str = "columns and types"

    @property
    def says(self) -> str:
        return f"The table has the {len(self.schema)} columns that are declared, with their types, and no others."


@dataclass(frozen=True)
class NoRow:
    """No row satisfies `where`. Of those that do, the columns `shows` are shown."""

    name: str
    says: str
    where: str
    shows: tuple[str, ...]


@dataclass(frozen=True)
class Figure:
    """A figure over all rows, an SQL aggregate, lies between `least` and `most`, both included."""

    name: str
    says: str
    measure: str
    least: float | None = None
    most: float | None = None
    unit: Unit = "number"
    exact: int | Decimal | None = None
    """What it has to be, to the last digit."""


@dataclass(frozen=True)
class Nothing:
    """Nothing was found of what must not be: `found` is known already, e.g. intervals whose sums are wrong."""

    name: str
    says: str
    found: tuple[Mapping[str, Any], ...]


Rule = Columns | NoRow | Figure | Nothing


def given(columns: Sequence[str], shows: Sequence[str], *, name: str = "nothing is missing") -> NoRow:
    """Nothing is null in these columns."""
    missing = " or ".join(f"{quoted(column)} is null" for column in columns)
    return NoRow(name, f"{_listed(columns)} {_are(columns)} never null.", missing, _shown(shows, columns))


def known(column: str, values: Iterable[str], shows: Sequence[str]) -> NoRow:
    """A column has only these values."""
    texts = sorted(values)
    allowed = ", ".join(text(value) for value in texts)
    return NoRow(
        f"{column} is known",
        f"{column} is one of {', '.join(texts)}.",
        f"{quoted(column)} is null or {quoted(column)} not in ({allowed})",
        _shown(shows, [column]),
    )


def unique(columns: Sequence[str]) -> NoRow:
    """No two rows share these columns; the frame has to have `copies` of them."""
    return NoRow(
        "keys are unique", f"No two rows have the same {_listed(columns)}.", f"{COPIES} > 1", (*columns, COPIES)
    )


def copies(columns: Sequence[str]) -> dict[str, Column]:
    """The column that `unique` looks at: how many rows share the columns."""
    return {COPIES: F.count(F.lit(1)).over(Window.partitionBy(*columns))}


def not_after(column: str, moment: datetime, shows: Sequence[str]) -> NoRow:
    """A time is not after the moment of validation."""
    return NoRow(
        f"{column} is not in the future",
        f"{column} is not after the validation at {iso(moment)}.",
        f"{quoted(column)} > {at(moment)}",
        _shown(shows, [column]),
    )


def equals(name: str, says: str, measure: str, value: int | Decimal) -> Figure:
    return Figure(name, says, measure, exact=value)


def behind(lag: timedelta, most: timedelta) -> Figure:
    """How far a result is behind the log. It does not depend on the rows."""
    return Figure(
        "freshness",
        f"The result is at most {written(most)} of event time behind the log, by the high-water marks of both.",
        f"{lag.total_seconds()}D",
        most=most.total_seconds(),
        unit="seconds",
    )


def at(moment: datetime) -> str:
    """A moment as SQL."""
    return f"timestamp_millis({to_millis(moment)})"


def quoted(column: str) -> str:
    return f"`{column}`"


def text(value: str) -> str:
    """A text as an SQL literal."""
    return "'" + value.replace("\\", "\\\\").replace("'", "\\'") + "'"


def _listed(columns: Sequence[str]) -> str:
    *others, last = columns
    return f"{', '.join(others)} and {last}" if others else last


def _are(columns: Sequence[str]) -> str:
    return "is" if len(columns) == 1 else "are"


def _shown(*columns: Sequence[str]) -> tuple[str, ...]:
    return tuple(dict.fromkeys(name for some in columns for name in some))
