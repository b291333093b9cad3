"""What the log has in all, for the results that must have as much: one pass over it for every version that is asked for."""

from collections.abc import Callable, Iterable
from decimal import Decimal

from pyspark.sql import Column, SparkSession
from pyspark.sql import functions as F

from lakehouse.lake import Lake
from lakehouse.log import log_at
from transformations.result import Result, Total

Totals = dict[Total, int | Decimal]
_ZERO = Decimal(0)
"""Added to a number it makes a decimal of it, in which 64 bits add up to more than 64."""


def totals_of(spark: SparkSession, results: Iterable[Result]) -> Callable[[Lake, int], Totals]:
    """The totals that the declarations name, of a log at a version; each is computed once."""
    wanted = sorted({value.total for result in results for value in result.values if value.total}, key=str)
    known: dict[tuple[int, int, int], Totals] = {}

    def totals(lake: Lake, version: int) -> Totals:
        place = (lake.log, lake.since, version)
        if place not in known:
            sums = [F.coalesce(added(total), F.lit(0)) for total in wanted]
            row = log_at(spark, lake, version).agg(F.lit(0), *sums).first()
            assert row is not None
            known[place] = dict(zip(wanted, row[1:], strict=True))
        return known[place]

    return totals


def added(total: Total) -> Column:
    """What rows of the log have of a total, as an aggregate; null where they have none."""
    of_kind = F.col("kind") == total.kind
    if total.distinct:
        return F.count_distinct(F.when(of_kind, F.struct(*total.distinct)))
    return F.sum(F.when(of_kind, F.lit(1) if total.field is None else F.col(total.field) + F.lit(_ZERO)))
