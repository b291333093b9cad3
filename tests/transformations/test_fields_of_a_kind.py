"""An event has the fields of its kind and no others, whatever its line says. The lines follow from the declarations."""

import json
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import timedelta
from functools import reduce
from types import SimpleNamespace
from typing import Any

import pytest
from deliveries import START, at
from game import KINDS, catalogue
from judged import in_order, judged_table, rows_of
from made_log import log_frame
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F

from transformations.kind import Field, FieldType, Kind
from transformations.kinds import fields
from transformations.lines import without_names

SAID: dict[FieldType, Any] = {"text": "own", "whole number": 7}
FOREIGN: dict[FieldType, list[Any]] = {
    "text": ["gold", "", "alice", 42, None, ["gold"], {"league": "gold"}],
    "whole number": [3, -(2**31), 2**31, 1.5, "3", None, [3]],
}
"""Also what would be ill-typed or too large, if the kind had the field."""


@dataclass(frozen=True)
class Line:
    """A line of a kind, which may say something under the names of fields that only other kinds have."""

    kind: Kind
    foreign: dict[str, Any]

    @property
    def own(self) -> dict[str, Any]:
        return {field.name: SAID[field.type] for field in self.kind.fields}

    @property
    def text(self) -> str:
        given = {"event_id": self.kind.name, "kind": self.kind.name, "occurred_at": at(0), **self.own, **self.foreign}
        return json.dumps(given)


def foreign_to(kind: Kind) -> list[Field]:
    return [field for name, field in fields(KINDS).items() if name not in {own.name for own in kind.fields}]


def lines() -> Iterator[Line]:
    """Of each kind one line as it should be, then the same event with foreign fields: one by one, and all together."""
    for kind in KINDS:
        others = foreign_to(kind)
        yield Line(kind, {})
        yield from (Line(kind, {field.name: value}) for field in others for value in FOREIGN[field.type])
        yield Line(kind, {field.name: FOREIGN[field.type][0] for field in others})


LINES = list(lines())
KEY = "0123456789abcdef" * 4


@pytest.fixture(scope="module")
def judged() -> list[SimpleNamespace]:
    """Every line, in the order of `LINES`, with its `fate` and with `nameless`, its bytes in a lake without names."""
    table = judged_table([line.text for line in LINES], ingested_at=START + timedelta(hours=1))
    renamed = without_names(table.drop_columns(["id_high", "id_low", "content_hash"]), KEY, KINDS)["raw"].to_pylist()
    found = rows_of(in_order(table).rows)
    return [SimpleNamespace(**vars(row), nameless=bytes_) for row, bytes_ in zip(found, renamed, strict=True)]


def test_there_are_lines_of_every_kind_with_every_foreign_field() -> None:
    """Else the others would prove nothing: each kind lacks a field that another has."""
    assert all(foreign_to(kind) for kind in KINDS)
    assert {field.type for kind in KINDS for field in foreign_to(kind)} == set(FOREIGN)


def test_a_foreign_field_leaves_its_column_null_and_the_event_as_it_is(judged: list[SimpleNamespace]) -> None:
    nothing = dict.fromkeys(fields(KINDS))
    for line, row in zip(LINES, judged, strict=True):
        assert (row.reason, row.kind) == (None, line.kind.name), line
        assert {name: getattr(row, name) for name in fields(KINDS)} == {**nothing, **line.own}, line


def test_a_copy_that_differs_in_a_foreign_field_only_is_an_honest_one(judged: list[SimpleNamespace]) -> None:
    for line, row in zip(LINES, judged, strict=True):
        assert row.fate == ("duplicate" if line.foreign else "event"), line


def test_a_lake_without_names_has_no_foreign_field_of_a_line(judged: list[SimpleNamespace]) -> None:
    for line, row in zip(LINES, judged, strict=True):
        kept = json.loads(row.nameless)
        assert set(kept) == {"event_id", "kind", "occurred_at", *line.own}, line
        assert b"alice" not in row.nameless


def log_of(spark: SparkSession, case: str, said: dict[str, Any]) -> DataFrame:
    """Two rows of each kind every five minutes, with what is `said` in every column that the kind does not declare."""
    rows = []
    for place, kind in enumerate(kind for _ in range(24) for kind in KINDS * 2):
        moment = START + timedelta(minutes=5 * (place // (2 * len(KINDS))), seconds=place)
        row: dict[str, Any] = {
            "event_id": f"{place:03d}",
            "kind": kind.name,
            "event_time": moment,
            "high_water": moment,
        }
        row |= {name: said.get(name) for name in fields(KINDS)}
        row |= {field.name: 600 if field.type == "whole number" else f"own {place % 2}" for field in kind.fields}
        rows.append(row)
    return log_frame(spark, rows).withColumn("case", F.lit(case))


def test_no_result_reads_a_field_from_an_event_whose_kind_does_not_have_it(spark: SparkSession) -> None:
    """Also from a log that has such values: one of before, or of other code."""
    cases: dict[str, dict[str, Any]] = {
        "clean": {},
        "foreign": {name: 7 if field.type == "whole number" else "foreign" for name, field in fields(KINDS).items()},
        "like the others": {
            name: 600 if field.type == "whole number" else "own 0" for name, field in fields(KINDS).items()
        },
    }
    log = reduce(DataFrame.unionByName, (log_of(spark, case, said) for case, said in cases.items())).persist()
    for name, result in catalogue().items():
        columns = [*result.key, "window_start", *result.errors]
        found: dict[str, list[str]] = {case: [] for case in cases}
        for case, *row in result.of(log, alongside=("case",)).select("case", *columns).collect():
            found[case].append(str(row))
        assert found["clean"], f"{name} has nothing to compare"
        assert len({tuple(sorted(rows)) for rows in found.values()}) == 1, name
