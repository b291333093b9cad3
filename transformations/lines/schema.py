"""The columns of judged lines, in their order."""

from collections.abc import Iterable

import pyarrow as pa

from ..kind import MOST_DIGITS, Decimal, FieldType, Kind, Named
from ..kinds import fields

TIMES = ("occurred_at", "sent_at", "received_at")
MOMENT = pa.timestamp("us", "UTC")
_TYPES: dict[Named, pa.DataType] = {
    "text": pa.string(),
    "whole number": pa.int32(),
    "long whole number": pa.int64(),
    "true or false": pa.bool_(),
    "time": MOMENT,
    "texts": pa.list_(pa.string()),
}


def arrow_type(of: FieldType) -> pa.DataType:
    """The type of a declared field's column."""
    return pa.decimal128(MOST_DIGITS, of.scale) if isinstance(of, Decimal) else _TYPES[of]


def type_of(column: pa.DataType) -> FieldType | None:
    """The type of a field that has such a column, none if no field has."""
    if pa.types.is_decimal(column):
        return Decimal(column.scale) if column.precision == MOST_DIGITS else None
    if pa.types.is_list(column):
        return "texts" if column.value_type == pa.string() else None
    return next((each for each, type_ in _TYPES.items() if type_ == column), None)


def said_types(kinds: Iterable[Kind]) -> dict[str, FieldType]:
    """What a line itself has something to say about."""
    declared: dict[str, FieldType] = {name: field.type for name, field in fields(kinds).items()}
    return {"event_id": "text", "kind": "text", **declared, **dict.fromkeys(TIMES, "time")}


def judged_schema(kinds: Iterable[Kind]) -> pa.Schema:
    """One row a line. `reason` is null for an event; `raw` are the line's bytes without the line feed."""
    said = {name: arrow_type(each) for name, each in said_types(kinds).items()}
    return pa.schema({**said, "event_time": MOMENT, "reason": pa.string(), "raw": pa.binary()})
