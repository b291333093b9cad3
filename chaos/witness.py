"""The witness: what the results have to be, from the account of the landing files alone, in SQL of the pipeline's own (DuckDB).

Stream and batch share the functions of `transformations` and of the pipeline's results, so they agree on a mistake in these.
What the witness says is written apart from them, from the definition of the results. Times are milliseconds. tests/witness has
a witness of all results of the game at all settings; there the two are held against each other.
"""

from collections.abc import Sequence

import duckdb
import pyarrow as pa

from chaos.accounting import Arrived
from chaos.subject import Answers
from transformations.kind import MOST_DIGITS, Decimal, Field, FieldType

COLUMNS: dict[FieldType, pa.DataType] = {
    "text": pa.string(),
    "whole number": pa.int64(),
    "long whole number": pa.int64(),
    "true or false": pa.bool_(),
    "time": pa.int64(),
    "texts": pa.list_(pa.string()),
}

Row = tuple[object, ...]


class Witness:
    """What follows from events, all of them or those that had arrived at some point."""

    def __init__(self, answers: Answers, fields: Sequence[Field], events: Sequence[Arrived], *, allowed: int) -> None:
        """`allowed` is the allowed lateness, in milliseconds."""
        self._answers, self._allowed = answers, allowed
        self._marks = [(each.arrival, each.event.event_time) for each in events]
        columns = {
            "arrival": pa.array([each.arrival for each in events], pa.int64()),
            "event_time": pa.array([each.event.event_time for each in events], pa.int64()),
            **{
                name: pa.array([getattr(each.event, name) for each in events], pa.string())
                for name in ("event_id", "kind")
            },
            **{
                field.name: pa.array([each.event.fields.get(field.name) for each in events], _column(field.type))
                for field in fields
            },
        }
        self._database = duckdb.connect()
        self._database.register("events", pa.table(columns))

    def columns(self, result: str) -> list[str]:
        """The columns that the witness knows of a result."""
        return [each[0] for each in self._of(result, 0, "true").description or ()]

    def rows(self, result: str, *, arrivals: int, settled_before: int | None = None) -> list[Row]:
        """The rows of a result over the first arrivals; with `settled_before`, those that only late events can change then."""
        where = "true" if settled_before is None else self._answers.SETTLED[result].format(before=settled_before)
        return sorted(self._of(result, arrivals, where).fetchall(), key=repr)

    def settled_before(self, arrivals: int) -> int:
        """Until when results are settled: the greatest event time that had arrived, less the allowed lateness."""
        return max((time for arrival, time in self._marks if arrival <= arrivals), default=0) - self._allowed

    def _of(self, result: str, arrivals: int, where: str) -> duckdb.DuckDBPyConnection:
        known = f"known AS (SELECT * FROM events WHERE arrival <= {arrivals})"
        return self._database.execute(f"WITH {known} SELECT * FROM ({self._answers.QUERIES[result]}) WHERE {where}")


def _column(type_: FieldType) -> pa.DataType:
    return pa.decimal128(MOST_DIGITS, type_.scale) if isinstance(type_, Decimal) else COLUMNS[type_]
