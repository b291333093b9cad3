"""Every result can be asked for in every way and every format, whatever types its values have."""

from datetime import UTC, datetime
from typing import Any

import duckdb
import orjson
import pyarrow as pa
import pytest
from datasketches import hll_sketch
from deliveries import START
from game import catalogue
from pyspark.sql.pandas.types import to_arrow_schema

from lakehouse.changelogs import Boundary
from serving.dialect import speak_spark
from serving.formats import as_arrow, as_csv, as_json
from serving.pins import LAYERS, Layer, Pinned
from serving.queries import Asked, Query, history_query, view_query
from serving.stretches import Stretch
from transformations.changelog import changelog_schema

CATALOGUE = catalogue()
UNTIL = datetime(2026, 3, 2, tzinfo=UTC)


@pytest.fixture(scope="module")
def database() -> duckdb.DuckDBPyConnection:
    opened = duckdb.connect()
    opened.execute("set global timezone = 'UTC'")
    speak_spark(opened)
    return opened


def some(kind: pa.DataType) -> Any:
    """A value of a type; bytes are those of a sketch, which is what results have."""
    if pa.types.is_binary(kind):
        return bytes(hll_sketch(12).serialize_updatable())
    if pa.types.is_timestamp(kind):
        return START
    return {"string": "one", "bool": False}.get(str(kind), 1)


def pinned(layer: Layer) -> Pinned:
    if layer in ("batch", "legacy"):
        return Pinned(layer, 1, UNTIL, stretches=(Stretch(None, None, 1, UNTIL),))
    cut_off = START if layer == "lambda" else None
    return Pinned(layer, 1, UNTIL, Boundary(1, 1, 1, 0), (), cut_off, (Stretch(None, None, 1, START),))


@pytest.mark.parametrize("name", CATALOGUE)
def test_every_layer_and_the_history_can_be_told_in_every_format(
    name: str, database: duckdb.DuckDBPyConnection
) -> None:
    result = CATALOGUE[name]
    schema = to_arrow_schema(changelog_schema(result), timezone="UTC")
    database.register("incoming", pa.Table.from_pylist([{each.name: some(each.type) for each in schema}], schema))
    database.execute("create or replace table revisions as select * from incoming")
    relations: dict[Layer, str] = dict.fromkeys(LAYERS, "revisions")
    asked = {layer: view_query(result, pinned(layer), relations, Asked()) for layer in LAYERS}
    key = [some(schema.field(each).type) for each in result.key]
    told: dict[str, Query] = {**asked, "history": history_query(
        result, "revisions", key=key, window_start=START, at=pinned("kappa")
    )}  # fmt: skip
    for question, query in told.items():
        rows = database.sql(query.text, params=query.values).to_arrow_table()
        assert len(rows) == 1, question
        assert not any(pa.types.is_binary(each.type) for each in rows.schema), question
        assert len(orjson.loads(as_json({}, rows))["rows"]) == 1, question
        assert as_csv(rows).count(b"\n") == 2, question
        assert pa.ipc.open_stream(as_arrow(rows)).read_all().equals(rows), question
