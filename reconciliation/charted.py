"""What the charts show: the column of the result that the pipeline's story names; where that is missing, what is like it."""

from collections.abc import Iterable
from decimal import Decimal

from pyspark.sql import Column
from pyspark.sql import functions as F
from pyspark.sql.types import DecimalType, IntegerType, LongType

from lakehouse.lake import Lake
from transformations.result import Result


def charted_first(lake: Lake, results: Iterable[Result]) -> list[Result]:
    """The results, the one that the charts show before the others."""
    return sorted(results, key=lambda each: each.name != lake.pipeline.story.charted.result)


def columns_to_add(lake: Lake, result: Result) -> list[str]:
    """The columns of a result that can be added up, the charted one first."""
    charted = lake.pipeline.story.charted
    names = [value.name for value in result.values if isinstance(value.type, IntegerType | LongType | DecimalType)]
    return sorted(names, key=lambda each: (result.name, each) != (charted.result, charted.column))


def added(name: str, rows: Column | None = None) -> Column:
    """The sum of a column, over those `rows` that are meant."""
    return F.sum(name if rows is None else F.when(rows, F.col(name)))


def drawn(total: int | Decimal | None) -> float:
    """A sum as a chart has it. No row adds up to nothing."""
    exact = total or 0
    return int(exact) if exact == int(exact) else float(exact)
