"""Why a cell of the control is another than batch's: what it did otherwise, each thing switched on or off by itself.

The log and the duplicates say what arrived; the control's own table says only how often it appended each arrival, and is
believed in nothing else. Four things can have happened to the arrivals, in any combination:

- `moved`: those that it appended count at the time of their processing (cause: processing time);
- `copied`: the copies count too (duplicate);
- `rewritten`: an arrival that it appended more than once counts as often (duplicate);
- `missing`: an arrival that it never appended does not count (lost). What is not there has no time of processing, so it
  is never called moved.

Each combination gives a cell. The smallest that gives exactly the control's cell names its causes: with any part of it
undone, the cell would be another. If none does, the cell stays unexplained: something was invented or changed.
"""

from functools import reduce
from operator import and_

from pyspark.sql import Column, DataFrame, SparkSession, Window
from pyspark.sql import functions as F

from lakehouse.control import ControlBoundary, control_schema, processing_time, read_arrivals
from lakehouse.lake import Lake
from lakehouse.log import duplicates_at
from reconciliation.comparison import alike
from reconciliation.hypotheses import DUPLICATE, LOST, PROCESSING_TIME
from transformations.result import Result

FACTORS = ("moved", "copied", "rewritten", "missing")
CAUSES = {"moved": PROCESSING_TIME, "copied": DUPLICATE, "rewritten": DUPLICATE, "missing": LOST}
TOLD = {
    "moved": "moved by processing time",
    "copied": "delivered again",
    "rewritten": "appended again",
    "missing": "never appended",
}
_ARRIVAL = ("event_id", "file", "line", "place")


def arrivals(spark: SparkSession, lake: Lake, result: Result, at: ControlBoundary, log: DataFrame) -> DataFrame:
    """All that arrived for a result until the pin, with `copy`, `times` that the control appended it, `processing_time`.

    A file that changed after it was read is read again, so a file and a line can have several arrivals (`place`): those
    that were appended are then shared out among them.
    """
    names = control_schema(lake.pipeline.kinds).names
    own = [name for name in names if name not in ("processing_time", "written_at")]
    delivered = (log, F.lit(False)), (duplicates_at(spark, lake, at.log_version), F.lit(True))
    originals, copies = (
        rows.where(result.concerns()).select(
            "event_time", *own, processing_time().alias("processing_time"), copy.alias("copy")
        )
        for rows, copy in delivered
    )
    origin = ["file", "line", "event_id"]
    appended = read_arrivals(spark, lake, at).groupBy(*origin).agg(F.count(F.lit(1)).alias("appended"))
    same = Window.partitionBy(*origin)
    place = F.row_number().over(same.orderBy("copy", "batch"))
    known = originals.unionByName(copies).withColumns({"place": place, "alike": F.count(F.lit(1)).over(same)})
    each = F.floor(F.col("appended") / F.col("alike")) + (F.col("place") <= F.col("appended") % F.col("alike")).cast(
        "long"
    )
    times = F.coalesce(each, F.lit(0)).cast("int")
    return known.join(appended, origin, "left").withColumn("times", times).drop("appended", "alike")


def each_once(log: DataFrame) -> DataFrame:
    """The same for a reader of the log alone: every event, once, and no copies."""
    stamps = {"copy": F.lit(False), "place": F.lit(1), "times": F.lit(1), "processing_time": processing_time()}
    return log.withColumns(stamps)


def explained(result: Result, differing: DataFrame, arrived: DataFrame) -> DataFrame:
    """Those of `differing` that a combination explains, with `causes`, `event_ids`, `evidence` and `fitting`."""
    placed = _placed(result, differing, arrived).localCheckpoint()
    chosen = _smallest(result, differing, placed).localCheckpoint()
    return chosen.join(_named(placed, chosen), "about").select("about.*", "causes", "event_ids", "evidence", "fitting")


def _placed(result: Result, differing: DataFrame, arrived: DataFrame) -> DataFrame:
    """The arrivals that bear upon a key, by the time of the event (`processed` false) and by that of the processing."""
    within = F.col("event_time") != F.col("processing_time")
    both = arrived.withColumn("shifted", within).withColumn("processed", F.explode(F.array(F.lit(False), F.lit(True))))
    time = F.when(F.col("processed"), F.col("processing_time")).otherwise(F.col("event_time"))
    return result.bearing(both.where("not processed or times > 0").withColumn("event_time", time), differing)


def _on(combination: Column, factor: str) -> Column:
    return combination.bitwiseAND(F.lit(1 << FACTORS.index(factor))) != 0


def _counts(combination: Column) -> Column:
    """Whether a placed arrival counts under a combination."""
    there = F.col("times") > 0
    moved = F.col("processed") == _on(combination, "moved")
    kept = F.when(there, moved).otherwise(~_on(combination, "missing"))
    return kept & (~F.col("copy") | _on(combination, "copied"))


def _smallest(result: Result, differing: DataFrame, placed: DataFrame) -> DataFrame:
    """For each key the smallest combination that gives the control's cell, where none of it (0) gives batch's."""
    seen = placed.groupBy("about").agg(
        F.bool_or(F.col("shifted") | F.col("processed")).alias("moved"),
        F.bool_or("copy").alias("copied"),
        F.bool_or(F.col("times") > 1).alias("rewritten"),
        F.bool_or(F.col("times") == 0).alias("missing"),
    )
    every = F.array(*(F.lit(number) for number in range(1 << len(FACTORS))))
    possible = F.filter(every, lambda number: reduce(and_, (F.col(f) | ~_on(number, f) for f in FACTORS)))
    tried = seen.select("about", F.explode(possible).alias("combination"))
    combination = F.col("combination")
    times = F.when(_on(combination, "rewritten"), F.greatest("times", F.lit(1))).otherwise(F.lit(1))
    rows = (
        placed.join(tried, "about")
        .where(_counts(combination))
        .withColumn("again", F.explode(F.sequence(F.lit(1), times)))
        .drop("again", "copy", "times", "place", "processed", "shifted", "processing_time")
    )
    computed = result.of(rows, alongside=("about", "combination")).where(result.about() == F.col("about"))
    cells = computed.select("about", "combination", F.struct(*result.errors).alias("computed"))
    keys = differing.select(result.about(), "batch", "candidate")
    tried = tried.join(keys, "about").join(cells, ["about", "combination"], "left")
    of_batch, of_control = (alike(result, "computed", side) for side in ("batch", "candidate"))
    fitting = tried.where(F.when(combination == 0, of_batch).otherwise(of_control))
    fitting = fitting.withColumn("size", F.bit_count("combination"))
    order = Window.partitionBy("about").orderBy("size", "combination")
    equals = F.count(F.lit(1)).over(Window.partitionBy("about", "size"))
    first = F.first("combination").over(order)
    ranked = fitting.withColumns({"fitting": equals, "rank": F.row_number().over(order), "first": first})
    return ranked.where("first = 0 and rank = 2").select("about", "combination", "fitting")


def _named(placed: DataFrame, chosen: DataFrame) -> DataFrame:
    """The causes of each chosen combination, the ids of the events that it concerns, and how many of each."""
    combination = F.col("combination")
    mine = placed.join(chosen, "about").where(~F.col("copy") | _on(combination, "copied"))
    per_arrival = mine.groupBy("about", "combination", *_ARRIVAL, "copy", "times", "shifted").agg(
        F.bool_or(~F.col("processed")).alias("belongs"),
        F.bool_or("processed").alias("came"),
        F.bool_or(_counts(combination)).alias("counts"),
    )
    there = F.col("times") > 0
    concerned = {
        "moved": there & (F.col("belongs") != F.col("came")),
        "within": there & F.col("shifted"),
        "copied": F.col("copy") & F.col("counts"),
        "rewritten": (F.col("times") > 1) & F.col("counts"),
        "missing": ~there & F.col("belongs"),
    }
    ids = per_arrival.groupBy("about", "combination").agg(
        *(F.collect_set(F.when(which, F.col("event_id"))).alias(name) for name, which in concerned.items())
    )
    # Where nothing came or went, the events moved within the cell, and it is their times that made it another.
    ids = ids.withColumn("moved", F.when(F.size("moved") > 0, F.col("moved")).otherwise(F.col("within")))
    nobody = F.array().cast("array<string>")
    on = {name: F.when(_on(combination, name), F.col(name)).otherwise(nobody) for name in FACTORS}
    causes = F.array_compact(F.array(*(F.when(_on(combination, name), F.lit(CAUSES[name])) for name in FACTORS)))
    told = [
        F.when(_on(combination, name), F.concat(F.size(name).cast("string"), F.lit(f" {TOLD[name]}")))
        for name in FACTORS
    ]
    return ids.select(
        "about",
        F.array_distinct(causes).alias("causes"),
        F.array_distinct(F.flatten(F.array(*on.values()))).alias("event_ids"),
        F.concat_ws(", ", *told).alias("evidence"),
    )
