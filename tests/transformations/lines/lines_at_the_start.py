"""Lines as they are judged an hour after the start of the tests' deliveries."""

import pyarrow as pa
from deliveries import START
from game import KINDS

from transformations.clock import Clock
from transformations.durations import to_millis
from transformations.lines import judge

INGESTED = to_millis(START) + 3_600_000
CLOCKS = ("time in the future", "time before the floor")
"""How the reasons of the clock begin: the fields of such a line are all right."""


def as_bytes(text: str | bytes) -> bytes:
    return text if isinstance(text, bytes) else text.encode()


def judged_at_the_start(*lines: str | bytes) -> pa.Table:
    return judge([as_bytes(each) for each in lines], Clock(), ingested_at=INGESTED, kinds=KINDS)
