"""The sums of the live page, computed by its own functions in node: for any window, and for a stream that is behind."""

import json
import random
import subprocess
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

from deliveries import START

MODEL = Path(__file__).parents[2] / "serving" / "page" / "model.js"
MINUTE, HOUR = 60_000, 3_600_000
CASES = 300
ASK = """
import { hourOf, leaderboard, sums, within } from "%s";
import { readFileSync } from "node:fs";
const said = JSON.parse(readFileSync(0, "utf8")).map(({ highWater, size, rows }) => {
  const hour = hourOf(highWater, size);
  const answered = { rows: rows.filter((row) => Date.parse(row.window_start) >= hour.asked) };
  return { hour, sums: sums(within(answered, hour), hour, false), board: leaderboard(answered.rows, [], hour) };
});
console.log(JSON.stringify(said));
"""


def case(seed: int) -> dict[str, Any]:
    """Windows of a few hours, of some length that need not divide an hour, from a stream that may be behind the mark."""
    rng = random.Random(seed)
    size = rng.choice(
        [MINUTE, 7 * MINUTE, 25 * MINUTE, 90 * MINUTE, rng.randrange(1, 100) * MINUTE, rng.randrange(30, 5000) * 1000]
    )
    high_water = int(START.timestamp() * 1000) + rng.randrange(24 * HOUR)
    reached = high_water - rng.choice([0, 0, rng.randrange(HOUR)])
    newest = reached // size * size
    starts = [newest - step * size for step in range(-(-3 * HOUR // size)) if step == 0 or rng.random() < 0.9]
    rows = [
        {"team_id": team, "window_start": iso(start), "window_end": iso(start + size), "bubbles": rng.randrange(1, 50)}
        for start in starts
        for team in ("blue", "red")
    ]
    return {"highWater": high_water, "size": size, "rows": rows}


def iso(millis: int) -> str:
    return (datetime(1970, 1, 1, tzinfo=UTC) + timedelta(milliseconds=millis)).isoformat(timespec="milliseconds")


def start_of(row: dict[str, Any]) -> int:
    return round(datetime.fromisoformat(row["window_start"]).timestamp() * 1000)


def test_the_sums_of_the_page_are_those_of_its_rows() -> None:
    cases = [case(seed) for seed in range(CASES)]
    node = ["node", "--input-type=module", "--eval", ASK % MODEL.as_uri()]
    done = subprocess.run(node, input=json.dumps(cases), capture_output=True, text=True, check=False, timeout=60)
    assert done.returncode == 0, done.stderr
    for seed, (given, told) in enumerate(zip(cases, json.loads(done.stdout), strict=True)):
        size, rows, hour = given["size"], given["rows"], told["hour"]
        newest = given["highWater"] // size * size
        windows = range(hour["first"], newest + 1, size)
        assert hour["first"] % size == 0 and HOUR <= len(windows) * size < HOUR + size, f"seed {seed}: {hour}"
        expected = [sum(row["bubbles"] for row in rows if start_of(row) == start) for start in windows]
        assert told["sums"] == expected, f"seed {seed}"
        last = max(map(start_of, rows))
        if last < hour["first"]:
            assert told["board"] is None, f"seed {seed}"
            continue
        for team in told["board"]["teams"]:
            mine = [row for row in rows if row["team_id"] == team["team"]]
            assert team["minute"] == sum(row["bubbles"] for row in mine if start_of(row) == last), f"seed {seed}"
            in_hour = [row for row in mine if start_of(row) >= last // HOUR * HOUR]
            assert team["hour"] == sum(row["bubbles"] for row in in_hour), f"seed {seed}: {team}"
