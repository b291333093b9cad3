"""How many events are late for each result: for one of the windows that they belong to."""

from collections.abc import Sequence
from datetime import timedelta
from functools import reduce

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F

from lakehouse.lake import Lake
from lakehouse.log import log_at
from lakehouse.log_summary import log_summary
from reconciliation.pins import Pin
from transformations.durations import milliseconds
from transformations.result import Result


def late_events(
    spark: SparkSession, lakes: Sequence[Lake], results: Sequence[Result], pins: Sequence[Pin], allowed: timedelta
) -> list[int]:
    """For each result, in its lake and at its pin. One job for all that are judged over the same rows, and none where the
    commits say that no row can be late."""
    found: dict[tuple[Lake, int], dict[object, int]] = {}
    counts = []
    for lake, result, at in zip(lakes, results, pins, strict=True):
        log = lake, at.log_version
        if log not in found:
            same = [each for each, own, pin in zip(results, lakes, pins, strict=True) if (own, pin.log_version) == log]
            found[log] = _counted(spark, lake, at.log_version, same, allowed)
        counts.append(found[log].get(_alike(result), 0))
    return counts


def _alike(result: Result) -> object:
    """Results with the same windows over the same events have the same late ones."""
    return result.kinds, result.window


def _counted(
    spark: SparkSession, lake: Lake, log_version: int, results: Sequence[Result], allowed: timedelta
) -> dict[object, int]:
    said = log_summary(lake, -1, log_version)
    if said is not None and not said.may_have_late(allowed):
        return {}
    distinct = {_alike(result): result for result in results}
    log = log_at(spark, lake, log_version, whole=True)
    # No window ends before its events, so these are all that can be late for one.
    behind = log.where(F.unix_millis("high_water") - F.unix_millis("event_time") >= milliseconds(allowed))
    behind = behind.select("seq", "kind", "event_time", "high_water").localCheckpoint()  # one scan, and few rows
    late = [
        result.placed(behind).where(result.late(allowed)).select(F.lit(place).alias("place"), "seq")
        for place, result in enumerate(distinct.values())
    ]
    counted = reduce(DataFrame.unionByName, late).distinct().groupBy("place").count().collect()
    names = list(distinct)
    return {names[row.place]: row["count"] for row in counted}
