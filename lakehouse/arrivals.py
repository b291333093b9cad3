"""The table `arrivals`: one row for each landed line, in the order of arrival, with what became of it.

The rows whose fate is `event` are the log. A `duplicate` is a copy of an event that the log has. A `quarantined` line is no
event, and its row says why. A micro-batch of ingestion is one commit, so a line is in the table once or not at all. The only
line with a second row is one that was quarantined and accepted later: that row is marked as `requeued`.
"""

from functools import lru_cache
from typing import Literal

import pyarrow as pa

from transformations.kind import Kind
from transformations.kinds import fields
from transformations.lines.schema import arrow_type

ARRIVALS = "arrivals"

Fate = Literal["event", "duplicate", "quarantined"]
EVENT, DUPLICATE, QUARANTINED = "event", "duplicate", "quarantined"

TIME = pa.timestamp("us", "UTC")

ORIGIN = ("file", "line", "batch", "ingested_at", "fingerprint")
"""Where a row came from: the landing file, the line in it, the micro-batch with its clock, and the code that judged it."""
HASHES = ("id_high", "id_low", "content_hash")
STATISTICS = ("arrival", "seq", "event_time", "high_water", "occurred_at", "batch")
"""The columns by which Delta skips files."""
COUNTED = ("arrival", "line", "seq")
"""The columns that rise by one from row to row."""

OF_NO_EVENT = ("fate", "reason", "requeued")
"""The columns that the log and its copies do not have."""
OF_NO_COPY = ("seq", "high_water")
"""The columns that copies do not have beside those."""
QUARANTINE_COLUMNS = ("arrival", "reason", *ORIGIN, "raw")

EVENTS, DUPLICATES, QUARANTINE = "events", "duplicates", "quarantine"
FATES: dict[str, Fate] = {EVENTS: "event", DUPLICATES: "duplicate", QUARANTINE: "quarantined"}
"""What the rows of each fate are called where they are read."""


@lru_cache
def schema(kinds: tuple[Kind, ...]) -> pa.Schema:
    """The table has a column for each field of the kinds."""
    return pa.schema(
        [
            ("arrival", pa.int64()),
            ("fate", pa.string()),
            ("reason", pa.string()),
            ("requeued", pa.bool_()),
            ("seq", pa.int64()),
            ("event_time", TIME),
            ("high_water", TIME),
            ("occurred_at", TIME),
            ("event_id", pa.string()),
            ("kind", pa.string()),
            *((field.name, arrow_type(field.type)) for field in fields(kinds).values()),
            ("sent_at", TIME),
            ("received_at", TIME),
            *((name, pa.int64()) for name in HASHES),
            ("file", pa.string()),
            ("line", pa.int64()),
            ("batch", pa.int64()),
            ("ingested_at", TIME),
            ("fingerprint", pa.string()),
            ("raw", pa.binary()),
        ]
    )


def event_columns(kinds: tuple[Kind, ...]) -> tuple[str, ...]:
    """What a row has only if its line is an event or a copy of one. Of a quarantined line nothing is known but its bytes."""
    return ("event_time", "occurred_at", "event_id", "kind", *fields(kinds), "sent_at", "received_at", *HASHES)


def columns_of(name: str, kinds: tuple[Kind, ...]) -> tuple[str, ...]:
    """The columns of the events, the duplicates or the quarantine."""
    if name == QUARANTINE:
        return QUARANTINE_COLUMNS
    others = OF_NO_EVENT if name == EVENTS else (*OF_NO_EVENT, *OF_NO_COPY)
    return tuple(each for each in schema(kinds).names if each not in others)
