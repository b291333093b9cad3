"""What a reader without a JVM is shown is what Spark's views show, row by row: one definition, two engines."""

import random
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from typing import Any

import duckdb
import pytest
from deliveries import START
from game import CONTROLLED, catalogue
from pyspark.sql import SparkSession
from pyspark.sql.types import StructType, TimestampType
from served import RESULTS, small_settings

from lakehouse.changelogs import Boundary
from lakehouse.lake import Lake
from lakehouse.settings import Serving
from lakehouse.versions import as_noted
from serving.dialect import speak_spark
from serving.pins import LAYERS, Layer, Pinned
from serving.queries import Asked, view_query
from serving.reader import Reader
from serving.views import view
from transformations.changelog import changelog_schema, kappa_view
from transformations.result import Result

CATALOGUE = catalogue()
SETTINGS = small_settings()
IN_CLEAR = SETTINGS.model_copy(update={"serving": Serving(clear_ids=True)})
ASKED = [(name, layer) for name in RESULTS for layer in LAYERS if layer != "legacy" or name in CONTROLLED]


@pytest.fixture(scope="module")
def reader(served_lake: Lake) -> Iterator[Reader]:
    with Reader(served_lake, IN_CLEAR) as opened:
        yield opened


def spark_rows(
    spark: SparkSession, lake: Lake, name: str, layer: Layer, *, settled_only: bool
) -> tuple[list[str], list[tuple[Any, ...]]]:
    own, given = as_noted(lake, CATALOGUE[name], SETTINGS)
    found = view(spark, lake, own, given, layer=layer, settled_only=settled_only)
    return found.columns, [tuple(_zoned(value) for value in row) for row in found.collect()]


def _zoned(value: Any) -> Any:
    return value.replace(tzinfo=UTC) if isinstance(value, datetime) else value


@pytest.mark.parametrize("settled_only", [False, True])
@pytest.mark.parametrize(("name", "layer"), ASKED)
def test_both_engines_show_the_same_rows_in_the_same_order(
    spark: SparkSession, served_lake: Lake, reader: Reader, name: str, layer: Layer, settled_only: bool
) -> None:
    columns, expected = spark_rows(spark, served_lake, name, layer, settled_only=settled_only)
    answer = reader.answer(name, layer, settled=True if settled_only else None).rows
    assert answer.column_names == [*columns, "settled"]
    assert list(zip(*(answer[column].to_pylist() for column in columns), strict=True)) == expected
    assert expected, "nothing was compared"


@pytest.mark.parametrize("layer", ["kappa", "lambda"])
def test_settled_and_in_flight_are_the_whole(reader: Reader, layer: Layer) -> None:
    parts = [reader.answer("team_scores", layer, settled=settled).rows.to_pylist() for settled in (True, False)]
    assert all(parts), "one of the parts is empty"
    both = sorted(parts[0] + parts[1], key=lambda row: (row["window_start"], row["team_id"]))
    assert both == reader.answer("team_scores", layer).rows.to_pylist()


def test_the_lambda_view_takes_over_from_batch_at_the_cut_off(reader: Reader) -> None:
    merged = reader.answer("team_scores", "lambda")
    until = merged.subject.at.cut_off
    assert until is not None

    def cells(layer: Layer) -> dict[tuple[Any, ...], int]:
        return {
            (row["team_id"], row["window_start"]): row["bubbles"]
            for row in reader.answer("team_scores", layer).rows.to_pylist()
        }

    batch, kappa, shown = cells("batch"), cells("kappa"), cells("lambda")
    late = ("blue", START + timedelta(minutes=20))
    assert batch[late] != kappa[late], "the late event came after batch had run"
    assert shown[late] == batch[late], "so the Lambda view does not show it yet"
    assert set(shown) == set(kappa) and set(batch) < set(shown)
    assert all(shown[cell] == kappa[cell] for cell in shown if cell[1] + timedelta(minutes=1) > until)


def test_a_session_that_a_late_event_has_joined_to_an_open_one_is_shown_once(reader: Reader) -> None:
    def sessions(layer: Layer) -> list[tuple[datetime, int]]:
        rows = reader.answer("player_sessions", layer, key=("dora",)).rows.to_pylist()
        return [(row["window_start"], row["events"]) for row in rows]

    first, unseen, long = (START + timedelta(seconds=each) for each in (65, 20 * 60 + 5, 36 * 60 + 5))
    assert sessions("batch") == [(first, 1), (long, 1)]
    assert sessions("kappa") == [(first, 1), (unseen, 1), (long, 3)]
    assert sessions("lambda") == [(first, 1), (long, 3)], "batch has settled that part of it, and speed has all of it"


REVISED = ("team_scores", "level_ups", "player_sessions", "offer_outcomes")


def revisions(result: Result, seed: int) -> list[tuple[Any, ...]]:
    """Random revisions of many keys: epochs, causes, deletions, sessions within others, offers with and without clicks."""
    rng = random.Random(seed)
    rows: dict[tuple[Any, ...], tuple[Any, ...]] = {}
    for _ in range(1500):
        key = tuple(f"{name} {rng.randrange(30)}" for name in result.key)
        start = START + timedelta(minutes=rng.randrange(6))
        longer = 0 if result.window.ends_by_itself else rng.randrange(8)
        end = start + timedelta(minutes=1 + longer)
        cause, version, epoch = rng.choice(["on_time", "late"]), rng.randrange(7), rng.choice([1, 1, 1, 2])
        moment = None if rng.random() < 0.3 else start + timedelta(seconds=rng.randrange(3600))
        values = tuple(
            moment if isinstance(value.type, TimestampType) else rng.randrange(1000) for value in result.values
        )
        # Two revisions of one rank would be a tie, which no writer makes and no engine has to break in the same way.
        rank = (
            key,
            start,
            end if longer else None,
            cause,
            version,
            epoch,
            values if result.prefer and cause == "on_time" else None,
        )
        stamps = (cause, rng.random() < 0.2, None, epoch, version, version, START, "code")
        rows[rank] = (*key, start, end, *values, *stamps)
    return list(rows.values())


@pytest.mark.parametrize("name", REVISED)
def test_both_engines_choose_the_same_revisions(spark: SparkSession, name: str) -> None:
    result = CATALOGUE[name]
    schema: StructType = changelog_schema(result)
    table = spark.createDataFrame(revisions(result, seed=7), schema).cache()
    database = duckdb.connect()
    database.execute("set global timezone = 'UTC'")
    speak_spark(database)
    database.register("changes", table.toArrow())
    database.execute("create table changelog as select * from changes")
    for epoch, version in ((1, 6), (1, 3), (2, 4)):
        at = Pinned("kappa", version, START, Boundary(epoch, version, version, 0))
        query = view_query(result, at, {"kappa": "changelog"}, Asked())
        mine = database.sql(query.text, params=query.values).to_arrow_table().select(result.columns).to_pylist()
        theirs = kappa_view(table, result, epoch=epoch, log_version=version).select(*result.columns)
        expected = [{n: _zoned(value) for n, value in row.asDict().items()} for row in theirs.collect()]
        assert len(expected) > 20

        def order(row: dict[str, Any]) -> str:
            return str([(each, str(value).replace("+00:00", "")) for each, value in row.items()])

        assert sorted(map(order, mine)) == sorted(map(order, expected))
