"""However one delivery is cut into files and micro-batches, the log says the same; and it says what plain Python says.

The lines are drawn: copies near and far, honest or not, that overtake nothing but come in any micro-batch; clocks at the
tolerance and beside it; times at the limits; several events at one instant; lines that are no events.
"""

import json
import random
from collections.abc import Callable, Sequence
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
from deliveries import START, at, land
from logged import rows
from seeds import chance, choose_seed, rounds

from ingestion.ingest import ingest
from lakehouse.arrivals import DUPLICATE, EVENT, QUARANTINED
from lakehouse.lake import Lake, create_lake
from lakehouse.settings import load_settings
from transformations.durations import to_millis

INGESTED_AT = datetime(2026, 3, 5, tzinfo=UTC)
LINES, FILES, EXAMPLES = 240, 6, 20
ERRORS = [0, 1, 29.999, 30, 30.001, 3600, -1, -29.999, -30, -30.001, -3600]
Line = dict[str, Any]
Fates = dict[str, list[tuple[object, ...]]]


def delivered(rng: random.Random) -> list[str]:
    """Lines in the order of arrival."""
    events: list[Line] = []
    lines: list[str] = []
    now = 0.0
    while len(lines) < LINES:
        now += rng.choice([0, 0, 0.001, 1, 7])
        what = rng.random()
        if what < 0.1:
            lines.append(
                rng.choice(["", "{", '{"event_id": "x", "kind": "bubbles_popped"}', "[]", '{"kind": "heartbeat"}'])
            )
        elif what < 0.3 and events:
            lines.append(json.dumps(copied(rng, rng.choice(events))))
        else:
            events.append(event(rng, f"{rng.randrange(16**4):04x}.{len(lines)}", now))
            lines.append(json.dumps(events[-1]))
    return lines


def event(rng: random.Random, event_id: str, now: float) -> Line:
    late = rng.choice([0, 0, 0, 0.001, 10, 600, 7200])
    found: Line = {"event_id": event_id, "kind": "bubbles_popped", "player_id": "alice", "team_id": "blue"}
    found |= {"bubbles": rng.choice([-1, 0, 7]), "occurred_at": at(now - late)}
    if rng.random() < 0.5:
        found |= clocked(rng, now)
    return found


def clocked(rng: random.Random, now: float) -> Line:
    sent = now + 100
    return {"sent_at": at(sent), "received_at": at(sent + rng.choice(ERRORS))}


def copied(rng: random.Random, original: Line) -> Line:
    """A retry as it was, or of other content. (A copy with another clock is the matter of tests/ingestion.)"""
    return {
        **original,
        **rng.choice([{}, {}, {"colour": "red"}, {"bubbles": 8}, {"reaction_ms": 5}, {"player_id": "bob"}]),
    }


def judged_by_hand(lines: Sequence[str]) -> Fates:
    """What becomes of the lines: events as (id, event time, mark, number), the others by their line's number."""
    found: Fates = {EVENT: [], DUPLICATE: [], QUARANTINED: []}
    first: dict[str, Line] = {}
    mark = 0
    for number, text in enumerate(lines):
        line = json.loads(text) if text.startswith('{"event_id"') else {}
        moment = None if "occurred_at" not in line else event_time(line)
        if moment is None or moment > latest(line):
            found[QUARANTINED].append((number,))
        elif (known := first.get(line["event_id"])) is not None:
            content = ("player_id", "bubbles", "reaction_ms", "occurred_at")
            same = all(line.get(name) == known.get(name) for name in content)
            found[DUPLICATE if same else QUARANTINED].append((number,))
        else:
            first[line["event_id"]] = line
            mark = max(mark, moment)
            found[EVENT].append((number, line["event_id"], moment, mark, len(first)))
    return found


def millis(text: str) -> int:
    return to_millis(datetime.fromisoformat(text))


def event_time(line: Line) -> int:
    error = millis(line["received_at"]) - millis(line["sent_at"]) if "sent_at" in line else 0
    return millis(line["occurred_at"]) + (error if abs(error) > 30_000 else 0)


def latest(line: Line) -> int:
    return millis(line["received_at"] if "received_at" in line else INGESTED_AT.isoformat()) + 600_000


def cut(rng: random.Random, lines: Sequence[str], landing: Path) -> dict[tuple[str, int], int]:
    """Let the lines land in files that are cut at drawn places; says which line of which file is which."""
    landing.mkdir(parents=True)
    places = [0, *sorted(rng.sample(range(1, len(lines)), FILES - 1)), len(lines)]
    found = {}
    for number in range(FILES):
        first, last = places[number], places[number + 1]
        land(landing, f"{number}.jsonl", lines[first:last])
        found |= {(f"{number}.jsonl", line - first + 1): line for line in range(first, last)}
    return found


@pytest.mark.parametrize("round", rounds())
def test_however_a_delivery_is_cut_the_log_says_the_same(
    tmp_path: Path, round: int, judged: Callable[[int], None]
) -> None:
    for example in range(EXAMPLES):
        rng = chance("cut", round * EXAMPLES + example)
        lines = delivered(rng)
        expected = judged_by_hand(lines)
        assert len(expected[EVENT]) > 100 and len(expected[DUPLICATE]) > 10
        assert timedelta(0) < datetime.fromtimestamp(max(e[3] for e in expected[EVENT]) / 1000, UTC) - START  # type: ignore[operator, type-var]
        for files_per_batch in (FILES, 2, 1):
            landing = tmp_path / str(example) / str(files_per_batch) / "landing"
            numbers = cut(rng, lines, landing)
            lake = create_lake(landing.parent / "lake")
            ingest(None, lake, landing, load_settings(), files_per_batch=files_per_batch, clock=lambda: INGESTED_AT)
            for fate, fates in expected.items():
                found = sorted(found_in(lake, fate, numbers))
                differing = sorted(set(found) ^ set(fates), key=str)[:5]
                lines_of = [lines[int(str(each[0]))] for each in differing]
                assert found == fates, (
                    f"LAWS_SEED={choose_seed()}: {fate}, {files_per_batch} files: {differing}, {lines_of}"
                )
                judged(len(fates))


def found_in(lake: Lake, fate: str, numbers: dict[tuple[str, int], int]) -> list[tuple[object, ...]]:
    """The rows of a fate as `judged_by_hand` tells them."""
    found = rows(lake, fate, "file", "line", "event_id", "event_time", "high_water", "seq")
    return [
        (numbers[file, line], *((event_id, to_millis(time), to_millis(mark), seq) if fate == EVENT else ()))
        for file, line, event_id, time, mark, seq in found
    ]
