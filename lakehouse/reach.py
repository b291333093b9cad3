"""How far a version of a result has come, in terms that hold for versions of different logs too."""

from dataclasses import dataclass

from lakehouse.changelogs import boundaries
from lakehouse.errors import NothingToCompare
from lakehouse.identity import live_epoch
from lakehouse.lake import Lake
from lakehouse.log import position
from lakehouse.terms import at_log
from transformations.result import Result


def consumed(lake: Lake, result: Result) -> int | None:
    """The log version that a version of a result has come to, none if it has written nothing yet."""
    try:
        found = boundaries(lake, result, live_epoch(lake, result))
    except NothingToCompare:
        return None
    return found[0].log_version if found else None


@dataclass(frozen=True)
class Reach:
    """How far a version has come: in its own log, and in the micro-batches of ingestion, which all logs are made of."""

    log: int
    version: int
    batch: int

    def is_behind(self, other: "Reach") -> bool:
        """Versions of different logs say nothing about each other: of a second log, one holds many micro-batches."""
        return self.version < other.version if self.log == other.log else self.batch < other.batch

    def told(self, other: "Reach") -> str:
        """In words that can be set beside the other's."""
        if self.log == other.log:
            return f"log version {self.version}"
        return f"micro-batch {self.batch} of the ingestion (version {self.version} of log {self.log})"


def reach(lake: Lake, result: Result) -> Reach | None:
    """How far a version of a result has come, none if it has written nothing yet."""
    version, own = consumed(lake, result), at_log(lake, result)
    return None if version is None else Reach(own.log, version, position(own, version).batch)
