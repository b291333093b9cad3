"""The control's answer for a result that it has not written down: Spark computes it from the control's arrivals.

Finding out which answer it is takes no Spark, so that whatever is wrong is said before a JVM starts.
"""

from dataclasses import replace
from typing import TYPE_CHECKING

import pyarrow as pa

from lakehouse.control import CONTROL, control_boundary, legacy_name, read_legacy
from lakehouse.log import known_version
from serving.earlier import control_at
from serving.pins import pinned
from serving.subjects import Computed, Subject

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


def is_written_down(computed: Computed) -> bool:
    """Whether readers without Spark find the control's answer in a table."""
    return computed.lake.has(legacy_name(computed.result))


def control_subject(computed: Computed, log_version: int | None = None) -> Subject:
    """What the control answers by its arrivals, now or when it stood at a version of the log."""
    lake, result = computed.lake, computed.result
    if log_version is not None:
        control_boundary(lake)
        known_version(lake, log_version, option="--log-version")
        lake = replace(lake, pins=((CONTROL, control_at(lake, result, CONTROL, log_version)),))
    return Subject(result, lake, pinned(lake, result, computed.settings, layer="legacy", computes=True))


def control_rows(spark: "SparkSession", subject: Subject) -> pa.Table:
    """The rows of it, before a reader is shown any."""
    lake, result = subject.lake, subject.result
    return read_legacy(spark, lake, result, control_boundary(lake)).select(*result.columns).toArrow()
