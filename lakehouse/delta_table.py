"""A Delta table opened without a JVM, by whoever reads it or commits to it from Python."""

from deltalake import DeltaTable

from lakehouse.commits import refuse_torn
from lakehouse.lake import Lake


def delta_table(lake: Lake, name: str) -> DeltaTable:
    """The table as it is now. A torn commit is refused with the file and the command; delta-rs would say where its parser was."""
    refuse_torn(lake, name)
    return DeltaTable(lake.table(name))
