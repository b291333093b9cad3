"""What is checked: a table at a pinned version, what its checks need beside its rows, and its rules."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

from pyspark.sql import DataFrame
from pyspark.sql.types import StructType

from quality.rules import Rule


def unchanged(rows: DataFrame) -> DataFrame:
    return rows


@dataclass(frozen=True)
class Unchecked:
    """What could not be checked of a table, and why. It is no failure, and it is told."""

    what: str
    why: str


@dataclass(frozen=True)
class Subject:
    """A table, or the view of one. `read` gives its rows, of which `prepare` makes the frame that is checked."""

    name: str
    version: int
    schema: StructType
    read: Callable[[], DataFrame]
    rules: Callable[[], Sequence[Rule]]
    prepare: Callable[[DataFrame], DataFrame] = unchanged
    objects: tuple[str, ...] = ()
    """Columns that hold an object as JSON, in which there may be names of persons."""
    unchecked: Callable[[], Sequence[Unchecked]] = tuple
    pinned: dict[str, Any] = field(default_factory=dict)
    """Where it stands: the version of the log, the epoch, whatever says what was read."""


@dataclass(frozen=True)
class Absent:
    """A table that is not there, or not at the version that is asked for. That is no failure."""

    name: str
    why: str
