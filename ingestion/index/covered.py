"""What an index claims to know: which log, and up to where."""

from dataclasses import dataclass


@dataclass(frozen=True)
class Covered:
    """The ids of all rows of this log up to `seq`, and of no later row, are in the index."""

    lake: str
    """The lake's identity: a random id that is kept in the lake."""
    log: int
    seq: int
    token: str
    """The random token of the log's commit that ends at `seq`. Another history of the same lake has another."""
