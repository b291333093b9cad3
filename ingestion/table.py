"""The table of a log, made before its first writer."""

from datetime import timedelta

from deltalake import DeltaTable

from lakehouse.arrivals import ARRIVALS, STATISTICS, schema
from lakehouse.delta_table import delta_table
from lakehouse.errors import ParityError
from lakehouse.lake import Lake
from lakehouse.locks import exclusive_here
from lakehouse.tables import properties


def create_arrivals(lake: Lake, *, horizon: timedelta) -> None:
    """Make the table unless it is there. Not partitioned: its commits lie in time order as they are."""
    name = lake.of_log(ARRIVALS)
    with exclusive_here(lake.lock_file(name), wait=True):
        if not lake.has(name):
            told = properties(horizon, append_only=True, statistics=STATISTICS)
            DeltaTable.create(lake.table(name), schema(lake.pipeline.kinds), configuration=told)
            return
    known = {field.name for field in delta_table(lake, name).schema().fields}
    missing = sorted(set(schema(lake.pipeline.kinds).names) - known)
    if missing:
        raise ParityError(
            f"The log of {lake.path} has no column for {', '.join(missing)}: it was made before the kinds of events that have "
            "such fields were declared. Ingest into a new lake."
        )
