"""The witness: what the results have to be, from the account of the landing files alone, in SQL of its own (DuckDB).

Stream and batch share the functions of `transformations`, so they agree on a mistake in these. What stands here is written from
the definition of the results in docs/catalogue.md. Times are milliseconds. tests/witness has a witness of all results at all
settings; there the two are held against each other.
"""

from collections.abc import Sequence

import duckdb
import pyarrow as pa

from chaos.accounting import Arrived
from chaos.subject import FIELDS, QUERIES, SETTLED

ALLOWED = 5 * 60_000
COLUMNS = {
    name: pa.string() if type_ is str else pa.int64() for each in FIELDS.values() for name, type_ in each.items()
}

Row = tuple[object, ...]


class Witness:
    """What follows from events, all of them or those that had arrived at some point."""

    def __init__(self, events: Sequence[Arrived]) -> None:
        self._marks = [(each.arrival, each.event.event_time) for each in events]
        columns = {
            "arrival": pa.array([each.arrival for each in events], pa.int64()),
            "event_time": pa.array([each.event.event_time for each in events], pa.int64()),
            **{
                name: pa.array([getattr(each.event, name) for each in events], pa.string())
                for name in ("event_id", "kind")
            },
            **{
                name: pa.array([each.event.fields.get(name) for each in events], type_)
                for name, type_ in COLUMNS.items()
            },
        }
        self._database = duckdb.connect()
        self._database.register("events", pa.table(columns))

    def columns(self, result: str) -> list[str]:
        """The columns that the witness knows of a result."""
        return [each[0] for each in self._of(result, 0, "true").description or ()]

    def rows(self, result: str, *, arrivals: int, settled_before: int | None = None) -> list[Row]:
        """The rows of a result over the first arrivals; with `settled_before`, those that only late events can change then."""
        where = "true" if settled_before is None else SETTLED[result].format(before=settled_before)
        return sorted(self._of(result, arrivals, where).fetchall(), key=repr)

    def settled_before(self, arrivals: int) -> int:
        """Until when results are settled: the greatest event time that had arrived, less the allowed lateness."""
        return max((time for arrival, time in self._marks if arrival <= arrivals), default=0) - ALLOWED

    def _of(self, result: str, arrivals: int, where: str) -> duckdb.DuckDBPyConnection:
        known = f"known AS (SELECT * FROM events WHERE arrival <= {arrivals})"
        return self._database.execute(f"WITH {known} SELECT * FROM ({QUERIES[result]}) WHERE {where}")
