"""How many events of the log came late: more than the allowed lateness behind the mark, as ingestion wrote it down.

Nobody keeps that number, because each result may allow another lateness. It is counted from two columns of the log, of
each commit once.
"""

from datetime import timedelta

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
from deltalake import DeltaTable

from lakehouse.arrivals import ARRIVALS
from lakehouse.commits import files_of
from lakehouse.lake import Lake

COLUMNS = ["event_time", "high_water"]


class LateEvents:
    """The late events of a log, counted as it grows."""

    def __init__(self, lake: Lake) -> None:
        self._lake = lake
        self._version = -1
        self._allowed: timedelta | None = None
        self._events = 0

    def until(self, version: int, allowed: timedelta) -> int:
        """How many there are up to a version of the log."""
        if allowed != self._allowed or self._version < 0 or version < self._version:
            rows = (
                DeltaTable(self._lake.table(ARRIVALS), version=version).to_pyarrow_dataset().to_table(columns=COLUMNS)
            )
            self._events = _late(rows, allowed)
        else:
            for each in range(self._version + 1, version + 1):
                for addition in files_of(self._lake, ARRIVALS, each).added:
                    if addition.changes:
                        self._events += _late(pq.read_table(addition.file, columns=COLUMNS), allowed)
        self._version, self._allowed = version, allowed
        return self._events


def _late(rows: pa.Table, allowed: timedelta) -> int:
    behind = pc.subtract(rows["high_water"], rows["event_time"])
    return int(pc.sum(pc.greater_equal(behind, pa.scalar(allowed, behind.type))).as_py() or 0)
