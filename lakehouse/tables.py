"""Delta tables: made before the first writer starts, read at a pinned version, appended to exactly once."""

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import timedelta
from typing import Any

from deltalake import CommitProperties, DeltaTable, Schema
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F
from pyspark.sql.types import StructType

from lakehouse.carrying import carried_on
from lakehouse.commits import refuse_torn
from lakehouse.delta_table import delta_table
from lakehouse.lake import Lake
from lakehouse.locks import exclusive, exclusive_here
from transformations.durations import milliseconds


@dataclass(frozen=True)
class Transaction:
    """What makes an append idempotent: the writer's app id, and a number that a retry has again."""

    app_id: str
    number: int


def create_table(
    lake: Lake,
    name: str,
    schema: StructType,
    *,
    horizon: timedelta,
    append_only: bool = True,
    statistics: tuple[str, ...] = (),
    grows: bool = False,
) -> None:
    """Make the table unless it is there. Two writers on an empty path would end in a ProtocolChangedException.

    One that `grows` gets the columns that it lacks.
    """
    with exclusive_here(lake.lock_file(name), wait=True):
        if not lake.has(name):
            told = properties(horizon, append_only=append_only, statistics=statistics)
            DeltaTable.create(lake.table(name), Schema.from_json(schema.json()), configuration=told)
        elif grows:
            add_columns(lake, name, Schema.from_json(schema.json()))


def add_columns(lake: Lake, name: str, schema: Schema) -> None:
    """Give the table those of the columns that it lacks; its rows have null in them. The caller holds the table's lock."""
    table = delta_table(lake, name)
    known = {field.name for field in table.schema().fields}
    missing = [field for field in schema.fields if field.name not in known]
    if missing:
        # It may be the commit with which Delta removes older ones.
        said = CommitProperties({"userMetadata": json.dumps(carried_on(lake, name))}, max_commit_retries=0)
        table.alter.add_columns(missing, commit_properties=said)


def with_columns(rows: DataFrame, schema: StructType) -> DataFrame:
    """Rows of a table that has not got all of these columns yet, or had not at its version, with null in the others."""
    known = set(rows.columns)
    missing = {each.name: F.lit(None).cast(each.dataType) for each in schema if each.name not in known}
    return rows.withColumns(missing) if missing else rows


def properties(horizon: timedelta, *, append_only: bool, statistics: tuple[str, ...]) -> dict[str, str]:
    """What Delta is told of a table, whoever makes it.

    Deletion vectors, v2 checkpoints and type widening stay off: readers without a JVM do not know them.
    """
    hours = f"interval {max(milliseconds(horizon) // 3_600_000, 1)} hours"
    told = {
        "delta.appendOnly": str(append_only).lower(),
        "delta.logRetentionDuration": hours,
        "delta.deletedFileRetentionDuration": hours,
        "delta.enableDeletionVectors": "false",
        "delta.checkpointPolicy": "classic",
        "delta.checkpointInterval": "50",
    }
    return {**told, "delta.dataSkippingStatsColumns": ",".join(statistics)} if statistics else told


def no_rows(spark: SparkSession, schema: StructType) -> DataFrame:
    """A frame without rows, made in the JVM: `createDataFrame` would start Python workers for it."""
    return spark.range(0).select(*(F.lit(None).cast(field.dataType).alias(field.name) for field in schema))


def read_table(spark: SparkSession, lake: Lake, name: str, *, version: int | None = None) -> DataFrame:
    """The table as of `version`, or as it is now."""
    reader = spark.read.format("delta")
    if version is not None:
        reader = reader.option("versionAsOf", version)
    return reader.load(lake.table(name))


def append(
    spark: SparkSession,
    lake: Lake,
    name: str,
    rows: DataFrame,
    *,
    transaction: Transaction | None,
    metadata: Mapping[str, Any] | None = None,
    check: Callable[[], None] = lambda: None,
) -> None:
    """Append `rows` in one commit; a second append of the same transaction changes nothing.

    One file a commit: a reader's micro-batch never splits a commit then. `check` is called under the table's lock.
    """
    writer = rows.coalesce(1).write.format("delta").mode("append")
    if transaction is not None:
        writer = writer.option("txnAppId", transaction.app_id).option("txnVersion", transaction.number)
    if metadata is not None:
        writer = writer.option("userMetadata", json.dumps(metadata))
    with exclusive(spark, lake.lock_file(name), wait=True):
        refuse_torn(lake, name)
        check()
        writer.save(lake.table(name))


def replace(
    spark: SparkSession,
    lake: Lake,
    name: str,
    rows: DataFrame,
    *,
    where: str,
    metadata: Callable[[], Mapping[str, Any]],
) -> None:
    """Replace the rows of the table that satisfy `where` by `rows`, in one commit.

    `metadata` is asked under the table's lock, so that it can go on from what the commit before said; it may refuse.
    """
    writer = rows.coalesce(1).write.format("delta").mode("overwrite").option("replaceWhere", where)
    with exclusive(spark, lake.lock_file(name), wait=True):
        refuse_torn(lake, name)
        writer.option("userMetadata", json.dumps(metadata())).save(lake.table(name))
