"""The table of a log, made before its first writer, and grown before a later one."""

from datetime import timedelta

from deltalake import DeltaTable

from ingestion.growth import NOTED, declared, grow
from lakehouse.arrivals import ARRIVALS, STATISTICS, schema
from lakehouse.lake import Lake
from lakehouse.locks import exclusive_here
from lakehouse.notes import edited
from lakehouse.tables import properties


def create_arrivals(lake: Lake, *, horizon: timedelta) -> None:
    """Make the table, or let it grow to what is declared now. Not partitioned: its commits lie in time order as they are."""
    name = lake.of_log(ARRIVALS)
    with exclusive_here(lake.lock_file(name), wait=True):
        if lake.has(name):
            grow(lake)
            return
        told = properties(horizon, append_only=True, statistics=STATISTICS)
        DeltaTable.create(lake.table(name), schema(lake.pipeline.kinds), configuration=told)
        with edited(lake, name) as content:
            content[NOTED] = declared(lake.pipeline.kinds)
