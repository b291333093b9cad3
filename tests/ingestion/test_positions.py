"""The position says the truth: what each commit says of the log and of itself is what the rows say, on drawn logs.

Readers skip work by it (`of_commit`), so a number that is wrong is a result that is wrong.
"""

from collections import Counter
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from deliveries import land
from logged import Row, arrivals
from seeds import chance, choose_seed, rounds

from ingestion.ingest import ingest
from ingestion.requeue import requeue
from lakehouse.arrivals import ARRIVALS, DUPLICATE, EVENT, QUARANTINED
from lakehouse.carrying import said_at
from lakehouse.commits import newest
from lakehouse.lake import Lake
from lakehouse.log import Position, position
from lakehouse.settings import ClockTolerances, Settings
from transformations.durations import from_millis, parse_duration

from drawn import CLOCK, drawn_line  # isort: skip

COLUMNS = ("arrival", "fate", "requeued", "seq", "event_time", "high_water", "batch")


def rows_until(lake: Lake, last: int) -> list[dict[str, Any]]:
    table = arrivals(lake).select(COLUMNS)
    for name in ("event_time", "high_water"):
        place = table.column_names.index(name)
        table = table.set_column(place, name, table[name].cast(pa.int64()))
    return [row for row in table.to_pylist() if row["arrival"] <= last]


def position_of(rows: list[dict[str, Any]]) -> Row:
    """What the position has to be after these rows: counted one by one."""
    fates, requeued = Counter(row["fate"] for row in rows), sum(row["requeued"] for row in rows)
    marks = [row["event_time"] for row in rows if row["fate"] == EVENT]
    mark = from_millis(max(marks) // 1000) if marks else None
    return len(rows), fates[EVENT], fates[DUPLICATE], fates[QUARANTINED] - requeued, requeued, mark


def said_of(at: Position) -> Row:
    return at.arrivals, at.seq, at.duplicates, at.quarantined, at.requeued, at.high_water


def of_commit(rows: list[dict[str, Any]]) -> dict[str, Any]:
    events = [row for row in rows if row["fate"] == EVENT]
    times = [row["event_time"] // 1000 for row in events]
    behind = [(row["high_water"] - row["event_time"]) // 1000 for row in events]
    fates = Counter(row["fate"] for row in rows)
    said = {"events": fates[EVENT], "duplicates": fates[DUPLICATE], "quarantined": fates[QUARANTINED]}
    return {
        **said,
        "least": min(times, default=None),
        "greatest": max(times, default=None),
        "behind": max(behind, default=None),
    }


@pytest.mark.parametrize("number", range(5 * len(rounds())))
def test_each_commit_says_what_its_rows_say(lake: Lake, landing: Path, settings: Settings, number: int) -> None:
    rng = chance("positions", number)
    ids: list[str] = []
    requeues = []
    for step in range(rng.randrange(3, 8)):
        for part in range(rng.randrange(0, 4)):
            lines = [drawn_line(rng, ids) for _ in range(rng.choice((0, 1, 1, 5, 30)))]
            land(landing, f"{step}.{part}.jsonl", lines)
        ingest(None, lake, landing, settings, files_per_batch=rng.choice((1, 2, 100)), clock=lambda: CLOCK)
        if rng.random() < 0.4:
            tolerant = ClockTolerances(future=parse_duration(f"{rng.choice((1, 5, 1000))} hours"))
            before = newest(lake, ARRIVALS)
            requeue(lake, settings.model_copy(update={"clock": tolerant}))
            requeues += range(before + 1, newest(lake, ARRIVALS) + 1)
    told = f"LAWS_SEED={choose_seed()}, positions {number}"
    last, batch, token = 0, -1, {""}
    for version in range(1, newest(lake, ARRIVALS) + 1):
        at, said = position(lake, version), said_at(lake, lake.of_log(ARRIVALS), version, about="seq")
        assert said is not None and at.version == version
        rows = rows_until(lake, at.arrivals)
        assert said_of(at) == position_of(rows), (told, version)
        own = [row for row in rows if row["arrival"] > last]
        assert said["of_commit"] == of_commit(own), (told, version)
        assert all(row["requeued"] == (version in requeues) for row in own)
        # A requeue is no micro-batch, and one without lines has no row that says its number.
        assert at.batch == (batch if version in requeues else batch + 1), (told, version)
        assert all(row["batch"] == at.batch or row["requeued"] for row in own), (told, version)
        assert at.token not in token, "no two commits have one token"
        token.add(at.token)
        last, batch = at.arrivals, at.batch
    assert position(lake) == position(lake, newest(lake, ARRIVALS))
