"""The table `arrivals`: one row for each landed line, in the order of arrival, with what became of it.

The rows whose fate is `event` are the log. A `duplicate` is a copy of an event that the log has. A `quarantined` line is no
event, and its row says why. A micro-batch of ingestion is one commit, so a line is in the table once or not at all. The only
line with a second row is one that was quarantined and accepted later: that row is marked as `requeued`.
"""

from typing import Literal

import pyarrow as pa

from transformations.kinds import fields
from transformations.lines.schema import arrow_type

ARRIVALS = "arrivals"

Fate = Literal["event", "duplicate", "quarantined"]
EVENT, DUPLICATE, QUARANTINED = "event", "duplicate", "quarantined"

TIME = pa.timestamp("us", "UTC")

ORIGIN = ("file", "line", "batch", "ingested_at", "fingerprint")
"""Where a row came from: the landing file, the line in it, the micro-batch with its clock, and the code that judged it."""
HASHES = ("id_high", "id_low", "content_hash")
EVENT_COLUMNS = ("event_time", "occurred_at", "event_id", "kind", *fields(), "sent_at", "received_at", *HASHES)
"""What a row has only if its line is an event or a copy of one. Of a quarantined line nothing is known but its bytes."""

SCHEMA = pa.schema(
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
        *((field.name, arrow_type(field.type)) for field in fields().values()),
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
STATISTICS = ("arrival", "seq", "event_time", "high_water", "occurred_at", "batch")
"""The columns by which Delta skips files."""
COUNTED = ("arrival", "line", "seq")
"""The columns that rise by one from row to row."""

LOG_COLUMNS = tuple(name for name in SCHEMA.names if name not in ("fate", "reason", "requeued"))
DUPLICATE_COLUMNS = tuple(name for name in LOG_COLUMNS if name not in ("seq", "high_water"))
QUARANTINE_COLUMNS = ("arrival", "reason", *ORIGIN, "raw")

EVENTS, DUPLICATES, QUARANTINE = "events", "duplicates", "quarantine"
READS: dict[str, tuple[Fate, tuple[str, ...]]] = {
    EVENTS: ("event", LOG_COLUMNS),
    DUPLICATES: ("duplicate", DUPLICATE_COLUMNS),
    QUARANTINE: ("quarantined", QUARANTINE_COLUMNS),
}
"""What the rows of each fate are called where they are read, and the columns that they have."""
