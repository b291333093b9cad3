"""What a kill adds to the control's differences. At least once means that the micro-batch it died in is written again.

Told apart by the arrivals themselves: an honest copy comes on a line of its own, so a line that stands there twice was
written twice. A differing key that agrees with batch once every line is taken once differs by the kill alone.
"""

from collections.abc import Sequence
from dataclasses import dataclass

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F

from lakehouse.batches import batch_files, computed
from lakehouse.control import answered, control_boundary, read_arrivals
from lakehouse.lake import Lake
from reconciliation.keys import compared
from reconciliation.verdict import ResultVerdict, Verdict
from reconciliation.workspace import unmarked, workspace
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
    keys = sum(_mended(lake, by_name[each.result], each, once) for each in control.results if each.differing)
    return Rewritten(rows - lines, lines, keys, differing)


def _mended(lake: Lake, result: Result, found: ResultVerdict, once: DataFrame) -> int:
    """How many of the differing keys do not differ where every arrival is taken once."""
    with workspace(lake, result) as space:
        space.table("batch_rows", batch_files(lake, result, computed(lake, result)))
        space.computed("control", unmarked(answered(result, once)))
        both = compared(result, "select * from batch_rows", "select * from control", tolerance={})
        identity = ", ".join(f'"{name}"' for name in result.identity)
        rows = space.database.sql(f"select {identity} from ({both}) where len(differing) > 0").fetchall()
    still = {(*key, iso(window_start)) for *key, window_start in rows}
    return sum((*one.key.values(), one.window_start) not in still for one in found.differences)
