"""What is written while a lake is being validated is not part of what is validated."""

from datetime import UTC, datetime

import pytest
from corrupted import FATES, stored
from pyspark.sql import SparkSession

from lakehouse.lake import Lake
from lakehouse.tables import append, read_table
from quality.history_tables import history_subjects
from quality.log_tables import log_subjects
from quality.pins import pinned
from quality.subjects import Subject

from lakes import small_settings  # isort: skip


TABLES = ["arrivals", "events", "duplicates", "quarantine", "reconciliations", "differences"]


@pytest.mark.parametrize("table", TABLES)
def test_rows_that_come_during_a_validation_are_not_seen(spark: SparkSession, copy: Lake, table: str) -> None:
    at = pinned(copy, small_settings(), log_version=None, moment=datetime.now(UTC))
    subjects = [*log_subjects(spark, at, b"key"), *history_subjects(spark, at)]
    [subject] = [each for each in subjects if isinstance(each, Subject) and each.name == table]
    rows = read_table(spark, copy, stored(table))
    if table in FATES:
        rows = rows.where(rows.fate == FATES[table])
    before = rows.count()
    append(spark, copy, stored(table), rows.limit(1), transaction=None)
    assert before > 0
    assert subject.read().count() == before
