"""An append from this process: the same rows, counts and statistics whoever writes the file, once for each transaction."""

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from deltalake import DeltaTable
from pyspark.sql import DataFrame, SparkSession

from lakehouse.appends import Appender
from lakehouse.commits import commits, newest
from lakehouse.errors import StaleEpoch
from lakehouse.lake import Lake
from lakehouse.settings import Settings
from lakehouse.tables import Transaction, create_table, read_table

NAME = "kappa_test@1"
SCHEMA = "team string, at timestamp, bubbles int, cause string, settled boolean"
ROWS = [
    ("blue", "2026-03-01 10:00:00.125", 7, "on_time", True),
    ("red", "2026-03-01 09:59:00", -3, "late", False),
    ("<b>\n\u2028", None, None, "late", False),
]
WAYS = [pytest.param(True, id="collected"), pytest.param(False, id="staged")]


@pytest.fixture
def frame(spark: SparkSession) -> DataFrame:
    return spark.createDataFrame(ROWS, SCHEMA.replace("at timestamp", "at string")).selectExpr(
        "coalesce(team, 'none') as team", "cast(at as timestamp) as at", "bubbles", "cause", "settled"
    )


@pytest.fixture
def table(lake: Lake, settings: Settings, frame: DataFrame) -> Appender:
    create_table(lake, NAME, frame.schema, horizon=settings.retention.horizon, statistics=("at", "bubbles"))
    return Appender(lake, NAME, statistics=("at", "bubbles"), counted=("cause", "settled"))


def said(counts: Mapping[tuple[Any, ...], int]) -> dict[str, Any]:
    return {"counts": sorted(f"{cause} {settled}: {count}" for (cause, settled), count in counts.items())}


def stored(lake: Lake) -> Path:
    return Path(lake.table(NAME))


@pytest.mark.parametrize("few", WAYS)
def test_spark_reads_what_was_appended_and_the_commit_counts_it(
    spark: SparkSession, lake: Lake, table: Appender, frame: DataFrame, few: bool
) -> None:
    assert table.append(frame, few=few, transaction=Transaction("a", 0), metadata=said) == 3
    assert sorted(map(str, read_table(spark, lake, NAME).collect())) == sorted(map(str, frame.collect()))
    assert next(commits(lake, NAME))["counts"] == ["late False: 2", "on_time True: 1"]
    [written] = stored(lake).glob("part-*.parquet")
    assert not few or all(field.nullable for field in pq.read_schema(written)), "as Delta declares the columns"
    [file] = pa.table(DeltaTable(lake.table(NAME)).get_add_actions(flatten=True)).to_pylist()
    found = {name: file[name] for name in ("num_records", "min.bubbles", "max.bubbles", "null_count.bubbles")}
    assert found == {"num_records": 3, "min.bubbles": -3, "max.bubbles": 7, "null_count.bubbles": 1}
    assert (file["min.at"].isoformat(), file["max.at"].isoformat(), file["null_count.at"]) == (
        "2026-03-01T09:59:00+00:00", "2026-03-01T10:00:00.125000+00:00", 1,
    )  # fmt: skip


@pytest.mark.parametrize("few", WAYS)
def test_a_transaction_is_appended_once(
    spark: SparkSession, lake: Lake, table: Appender, frame: DataFrame, few: bool
) -> None:
    table.append(frame, few=few, transaction=Transaction("a", 4), metadata=said)
    other = Appender(lake, NAME, statistics=(), counted=("cause", "settled"))  # after a restart
    assert other.has(Transaction("a", 4)) and other.has(Transaction("a", 3)) and not other.has(Transaction("a", 5))
    assert not other.has(Transaction("b", 4)), "another epoch has other transactions"
    assert other.append(frame, few=few, transaction=Transaction("a", 4), metadata=said) == 0
    assert newest(lake, NAME) == 1 and read_table(spark, lake, NAME).count() == 3


@pytest.mark.parametrize("few", WAYS)
def test_a_micro_batch_without_rows_is_a_commit_without_a_file(
    spark: SparkSession, lake: Lake, table: Appender, frame: DataFrame, few: bool
) -> None:
    assert table.append(frame.limit(0), few=few, transaction=Transaction("a", 0), metadata=said) == 0
    assert newest(lake, NAME) == 1 and table.has(Transaction("a", 0))
    assert read_table(spark, lake, NAME).isEmpty() and not list(stored(lake).glob("*.parquet"))


@pytest.mark.parametrize("few", WAYS)
def test_what_is_refused_under_the_lock_leaves_the_table_as_it_was(
    spark: SparkSession, lake: Lake, table: Appender, frame: DataFrame, few: bool
) -> None:
    def refuse() -> None:
        raise StaleEpoch("another one")

    with pytest.raises(StaleEpoch):
        table.append(frame, few=few, transaction=Transaction("a", 0), metadata=said, check=refuse)
    assert newest(lake, NAME) == 0 and not table.has(Transaction("a", 0))
    assert table.append(frame, few=few, transaction=Transaction("a", 0), metadata=said) == 3
    assert read_table(spark, lake, NAME).count() == 3


def test_what_a_killed_writer_has_left_beside_the_table_is_removed(
    spark: SparkSession, lake: Lake, table: Appender, frame: DataFrame
) -> None:
    staging = lake.path / "cache" / "appends" / NAME
    frame.write.parquet(str(staging))
    table.append(frame, few=False, transaction=Transaction("a", 0), metadata=said)
    assert read_table(spark, lake, NAME).count() == 3


def test_commits_of_spark_in_between_are_followed(
    spark: SparkSession, lake: Lake, table: Appender, frame: DataFrame
) -> None:
    """A maintenance commits to the table too, by Spark."""
    table.append(frame, few=True, transaction=Transaction("a", 0), metadata=said)
    frame.write.format("delta").mode("append").option("userMetadata", json.dumps({"by": "spark"})).save(
        lake.table(NAME)
    )
    table.append(frame, few=True, transaction=Transaction("a", 1), metadata=said)
    assert newest(lake, NAME) == 3 and read_table(spark, lake, NAME).count() == 9
