"""The outside cases as landing events: another engine's own test inputs, in the words of the game.

They are those of ArroyoSystems/arroyo, `crates/arroyo-sql-testing` (Apache-2.0 or MIT); see outside/cases/README.md.
"""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

CASES = Path(__file__).parent / "outside" / "cases"
Row = dict[str, Any]


def case(name: str) -> list[Row]:
    return [json.loads(line) for line in (CASES / name).read_text().splitlines()]


CARS = 2000  # of 7,932: by the minute, each counts in sixty windows. All of them agree too; that took nine minutes


def cars() -> Iterator[Row]:
    """Drivers are players, the two kinds of events teams."""
    for number, row in enumerate(case("input_cars.jsonl")[:CARS]):
        yield {
            "event_id": f"car-{number}",
            "kind": "bubbles_popped",
            "player_id": f"{row['driver_id']:04d}",
            "team_id": row["event_type"],
            "bubbles": 1,
            "occurred_at": row["timestamp"],
        }


def impulse() -> Iterator[Row]:
    for row in case("input_impulse.jsonl"):
        counter = row["counter"]
        yield {
            "event_id": f"impulse-{counter}",
            "kind": "bubbles_popped",
            "player_id": str(0 if counter % 10 == 0 else counter),
            "team_id": "all",
            "bubbles": 1,
            "occurred_at": row["timestamp"],
        }
    yield {"event_id": "end", "kind": "heartbeat", "occurred_at": "2023-10-09T18:00:00Z"}
