"""What a kill adds to the control's differences. At least once means that the micro-batch it died in is written again.

Told apart by the arrivals themselves: an honest copy comes on a line of its own, so a line that stands there twice was
written twice. A differing key that agrees with batch once every line is taken once differs by the kill alone.
"""

from collections.abc import Sequence
from dataclasses import dataclass

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F

from lakehouse.batches import computed, read_batch
from lakehouse.control import answered, control_boundary, read_arrivals
from lakehouse.lake import Lake
from reconciliation.comparison import compared
from reconciliation.verdict import ResultVerdict, Verdict
from transformations.durations import iso
from transformations.result import Result

LINE = ("file", "line")


@dataclass(frozen=True)
class Rewritten:
    """`arrivals` of `all_arrivals` are there once more; `keys` of the `differing` ones agree with batch without them."""

    arrivals: int
    all_arrivals: int
    keys: int
    differing: int


def rewritten(spark: SparkSession, lake: Lake, results: Sequence[Result], control: Verdict) -> Rewritten:
    """What was written again, and how many of the keys that differ in the control's verdict differ by it alone."""
    arrivals = read_arrivals(spark, lake, control_boundary(lake))
    [[rows, lines]] = arrivals.agg(F.count(F.lit(1)), F.count_distinct(*LINE)).collect()
    differing = sum(each.differing for each in control.results)
    if rows == lines or not differing:
        return Rewritten(rows - lines, lines, 0, differing)
    once = arrivals.dropDuplicates(list(LINE))
    by_name = {result.name: result for result in results}
    keys = sum(_mended(spark, lake, by_name[each.result], each, once) for each in control.results if each.differing)
    return Rewritten(rows - lines, lines, keys, differing)


def _mended(spark: SparkSession, lake: Lake, result: Result, found: ResultVerdict, once: DataFrame) -> int:
    """How many of the differing keys do not differ where every arrival is taken once."""
    batch = read_batch(spark, lake, result, computed(lake, result))
    both = compared(batch, answered(result, once), result, tolerance={})
    still = {
        (*(row[name] for name in result.key), iso(row.window_start))
        for row in both.where(F.size("differing") > 0).select(*result.identity).collect()
    }
    return sum((*one.key.values(), one.window_start) not in still for one in found.differences)
