"""The columns of judged lines, in their order."""

from collections.abc import Iterable

import pyarrow as pa

from ..kind import FieldType, Kind
from ..kinds import fields

TIMES = ("occurred_at", "sent_at", "received_at")
MOMENT = pa.timestamp("us", "UTC")
_TYPES: dict[FieldType, pa.DataType] = {"text": pa.string(), "whole number": pa.int32()}


def judged_schema(kinds: Iterable[Kind]) -> pa.Schema:
    """One row a line. `reason` is null for an event; `raw` are the line's bytes without the line feed."""
    return pa.schema(
        {
            "event_id": pa.string(),
            "kind": pa.string(),
            **{name: _TYPES[field.type] for name, field in fields(kinds).items()},
            **dict.fromkeys((*TIMES, "event_time"), MOMENT),
            "reason": pa.string(),
            "raw": pa.binary(),
        }
    )


def said_columns(schema: pa.Schema) -> list[str]:
    """The columns that a line itself has something to say about."""
    return [name for name in schema.names if name not in ("event_time", "reason", "raw")]
