"""What a streaming checkpoint on disk says: the log version that a micro-batch covers, and the engine's watermark in it.

Spark writes `offsets/<batch>` before the batch runs and reads it again when it retries, so both are the same for every
attempt. After a crash they are right where `commits/` and the last progress are behind.
"""

import json
from datetime import datetime
from pathlib import Path
from typing import Any

from transformations.durations import from_millis


def consumed_versions(checkpoint: Path, batch: int) -> list[int]:
    """For each Delta source of the query, the version through which micro-batch `batch` has consumed it.

    Before the first batch, and for a source that has given nothing yet, that is -1.
    """
    if batch < 0:
        return [-1]
    return [-1 if offset is None else _consumed(offset) for offset in _lines(checkpoint, batch)[1:]]


def consumed_version(checkpoint: Path, batch: int) -> int:
    """The version through which micro-batch `batch` has consumed the log, for a query that reads nothing else.

    A join of the log with itself has it twice: one source, named once for each side.
    """
    [version] = set(consumed_versions(checkpoint, batch))
    return version


def watermark(checkpoint: Path, batch: int) -> datetime:
    """The engine's own watermark in micro-batch `batch`: up to it an engine that tells results once has told them."""
    metadata = _lines(checkpoint, batch)[0]
    assert metadata is not None
    return from_millis(metadata["batchWatermarkMs"])


def dropped_until(checkpoint: Path, batch: int) -> datetime:
    """The bound of what the engine drops in micro-batch `batch`: rows of windows that ended at or before it.

    It is the watermark of the micro-batch before, not its own: a window's state is removed at the end of the micro-batch
    whose watermark has passed it, and until then the window takes rows.
    """
    return watermark(checkpoint, batch - 1) if batch > 0 else from_millis(0)


def _consumed(offset: dict[str, Any]) -> int:
    # (V + 1, a negative index): before the first file of V + 1. One file a commit: any other index is all of V.
    return int(offset["reservoirVersion"]) - (1 if int(offset["index"]) < 0 else 0)


def _lines(checkpoint: Path, batch: int) -> list[dict[str, Any] | None]:
    content = (checkpoint / "offsets" / str(batch)).read_text().splitlines()[1:]
    return [None if line == "-" else json.loads(line) for line in content if line]
