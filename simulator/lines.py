"""Writing one event as a line of the landing format. A sample, here broken in two:

{"event_id": "0c2d...", "kind": "door_opened", "door_id": "north", "badge": 231,
 "occurred_at": "2026-03-01T10:00:03.120Z", "sent_at": "...", "received_at": "..."}
"""

import json
import random
import uuid
from datetime import UTC, datetime, timedelta
from functools import lru_cache

EPOCH = datetime(1970, 1, 1, tzinfo=UTC)

Record = dict[str, str | int]
"""The fields of one line, in the order in which they are written."""

as_line = json.JSONEncoder().encode


def milliseconds(moment: datetime) -> int:
    """The moment in whole milliseconds since 1970, which is how the simulator counts time."""
    return (moment - EPOCH) // timedelta(milliseconds=1)


def timestamp(at: int) -> str:
    """ISO 8601 in UTC with milliseconds: `2026-03-01T10:00:03.120Z`."""
    second, rest = divmod(at, 1000)
    return f"{_to_the_second(second)}.{rest:03d}Z"


# Arrivals lie close together: formatting each second once halves the time of a run.
@lru_cache(maxsize=4096)
def _to_the_second(second: int) -> str:
    return (EPOCH + timedelta(seconds=second)).isoformat()[:19]


def event_id(rng: random.Random) -> str:
    """A UUID of version 4 from the seeded generator: the same run has the same ids."""
    return str(uuid.UUID(int=rng.getrandbits(128), version=4))
