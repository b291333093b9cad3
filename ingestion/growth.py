"""A log grows with its kinds of events: a new kind and a new optional field get a column, in which older rows are null.

What the rows that are there cannot have is refused before anything is written: a column has one type, and an event that
came without a field will never have it.
"""

from collections.abc import Iterable, Mapping
from typing import Any

import pyarrow as pa
from deltalake import DeltaTable, QueryBuilder, Schema

from lakehouse.arrivals import ARRIVALS, schema
from lakehouse.delta_table import delta_table
from lakehouse.errors import LogCannotGrow
from lakehouse.lake import Lake
from lakehouse.nameless import is_nameless
from lakehouse.notes import edited, note
from lakehouse.tables import add_columns
from transformations.kind import Field, Kind, in_words
from transformations.lines.schema import type_of

NOTED = "kinds"
"""What the note of a log says of the kinds that it was last written with."""
Declared = dict[str, dict[str, dict[str, bool]]]


def declared(kinds: Iterable[Kind]) -> Declared:
    """Of each kind its fields, with what a row of it can contradict."""
    return {
        kind.name: {field.name: {"required": field.required, "personal": field.personal} for field in kind.fields}
        for kind in kinds
    }


def grow(lake: Lake) -> None:
    """Let the table have a column for every field of the kinds, or refuse it. The caller holds the table's lock."""
    kinds, name = lake.pipeline.kinds, lake.of_log(ARRIVALS)
    table = delta_table(lake, name)
    _refuse_other_types(lake, table, kinds)
    noted, wanted = note(lake, name).get(NOTED, {}), declared(kinds)
    if noted != wanted:
        _refuse_what_rows_lack(lake, table, kinds, noted)
    add_columns(lake, name, Schema.from_arrow(schema(kinds)))
    with edited(lake, name) as content:
        content[NOTED] = wanted


def _refuse_other_types(lake: Lake, table: DeltaTable, kinds: tuple[Kind, ...]) -> None:
    known = {field.name: field.type for field in table.schema().fields}
    wanted = {field.name: field.type for field in Schema.from_arrow(schema(kinds)).fields}
    columns = pa.schema(table.schema())
    for kind in kinds:
        for field in kind.fields:
            if field.name in known and known[field.name] != wanted[field.name]:
                was = type_of(columns.field(field.name).type)
                raise LogCannotGrow(
                    f"The field {field.name!r} of {kind.name} is a {in_words(field.type)}, and the log of {lake.path} has it as "
                    f"a {in_words(was) if was else known[field.name]}. A column has one type. Nothing was written. Give the "
                    "field another name or its old type, or ingest the landing files into a new lake."
                )


def _refuse_what_rows_lack(lake: Lake, table: DeltaTable, kinds: Iterable[Kind], noted: Mapping[str, Any]) -> None:
    """Only what was declared otherwise before is looked for, or what nobody has noted."""
    known = {field.name for field in table.schema().fields}
    for kind in kinds:
        before = noted.get(kind.name, {})
        for field in kind.fields:
            was = before.get(field.name, {"required": False, "personal": False})
            if field.required and not was["required"]:
                without = f"{_quoted(field.name)} is null" if field.name in known else "true"
                if count := _rows(table, kind, without):
                    raise LogCannotGrow(_lacks(lake, kind, field, count))
            if field.personal and not was["personal"] and field.name in known and is_nameless(lake):
                _refuse_names(lake, table, kind, field)


def _refuse_names(lake: Lake, table: DeltaTable, kind: Kind, field: Field) -> None:
    """Refuse a name that a lake without names has in clear already."""
    if count := _rows(table, kind, f"{_quoted(field.name)} is not null"):
        raise LogCannotGrow(
            f"The field {field.name!r} of {kind.name} is personal now, and the log of {lake.path}, which is to have no names, "
            f"has it in clear in {count:,} rows. Nothing was written. Ingest the landing files into a new lake."
        )


def _lacks(lake: Lake, kind: Kind, field: Field, count: int) -> str:
    return (
        f"The kind {kind.name} requires the field {field.name!r} now, and the log of {lake.path} has {count:,} rows of that kind "
        "without it. Nothing was written. Declare it with required=False, or ingest the landing files into a new lake, where "
        "such lines are quarantined."
    )


def _rows(table: DeltaTable, kind: Kind, condition: str) -> int:
    """How many rows of a kind satisfy a condition."""
    of_kind = "'" + kind.name.replace("'", "''") + "'"
    query = f"select count(*) as n from arrivals where kind = {of_kind} and {condition}"
    found = pa.RecordBatchReader.from_stream(QueryBuilder().register("arrivals", table).execute(query))
    return int(found.read_all()["n"][0].as_py())


def _quoted(name: str) -> str:
    return '"' + name.replace('"', '""') + '"'
