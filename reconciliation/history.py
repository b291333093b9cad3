"""The history of verdicts, kept in the lake: `reconciliations`, one row a result, and `differences`, one a differing key."""

import json
from collections.abc import Sequence
from datetime import datetime
from typing import Any

from pyspark.sql import SparkSession

from lakehouse.appends import append_rows
from lakehouse.lake import Lake
from lakehouse.locks import exclusive_here
from lakehouse.settings import Settings
from lakehouse.tables import create_table
from lakehouse.verdicts import DIFFERENCES, HISTORY_LOCK, RECONCILIATIONS, SCHEMAS
from reconciliation.verdict import Verdict


def keep(spark: SparkSession, lake: Lake, verdict: Verdict, settings: Settings) -> None:
    """Append the verdict and its differences to the history."""
    at = datetime.fromisoformat(verdict.at)
    rows: Sequence[tuple[Any, ...]] = [
        (
            verdict.id, at, verdict.candidate, verdict.policy, each.result, each.version, each.log_version,
            each.status, each.keys, each.compared, each.equal, each.differing, each.open + each.behind, each.unexplained,
            verdict.audit.balanced, json.dumps({**each.as_dict(), "differences": []}),
        )
        for each in verdict.results
    ]  # fmt: skip
    differences: Sequence[tuple[Any, ...]] = [
        (
            verdict.id, each.result, each.version, json.dumps(one.key), one.window_start, one.window_end,
            json.dumps(one.batch), json.dumps(one.candidate), one.differing, one.causes, one.event_ids, one.evidence,
        )
        for each in verdict.results
        for one in each.differences
    ]  # fmt: skip
    with exclusive_here(lake.lock_file(HISTORY_LOCK), wait=True):
        # In this order: a reader without the lock who sees a verdict finds its differences.
        for name, content in ((DIFFERENCES, differences), (RECONCILIATIONS, rows)):
            schema = spark.createDataFrame([], SCHEMAS[name]).schema
            create_table(lake, name, schema, horizon=settings.retention.horizon)
            if content:
                append_rows(lake, name, content)
