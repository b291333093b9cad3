"""The lake's notes: small JSON files that are replaced as a whole, each edited by one process at a time.

    LAKE/results/door_counts@2.json   what version 2 is computed with, and its epoch
    LAKE/results/door_counts.json     which version is live

A stream, a recompute and a swap may want to change the same note at once. Python writes these files, so Python holds the
lock; the operating system frees it when the process dies.
"""

import fcntl
import json
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from lakehouse.lake import Lake, write_json


def note(lake: Lake, name: str) -> dict[str, Any]:
    """What the note says; nothing if there is none."""
    file = lake.result_file(name)
    return dict(json.loads(file.read_text())) if file.exists() else {}


@contextmanager
def edited(lake: Lake, name: str) -> Iterator[dict[str, Any]]:
    """The note, to be changed in place; written at the end, if it has changed and nothing went wrong."""
    lock_file = lake.lock_file(f"note-{name}")
    lock_file.parent.mkdir(parents=True, exist_ok=True)
    with lock_file.open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        before, content = note(lake, name), note(lake, name)
        yield content
        if content != before:
            write_json(lake.result_file(name), content)
