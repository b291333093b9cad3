"""The sums of the live page, computed by its own functions in node: of any column, for any window and a stream behind."""

import json
import random
import subprocess
from collections import defaultdict
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

from deliveries import START

PAGE = Path(__file__).parents[2] / "serving" / "page"
SECOND, MINUTE, HOUR, DAY = 1000, 60_000, 3_600_000, 86_400_000
FEWEST, MOST = 24, 180
STRETCHES = (DAY, HOUR, 15 * MINUTE, 5 * MINUTE, MINUTE)
CASES = 300
IMPORTS = """
import { amount, plain, scaleOf, signedAmount, units } from "%(page)s/amounts.js";
import { board, charted, compared, offsets, ranked, shownTime, sums, tally, within } from "%(page)s/model.js";
import { clock, length, noun, period } from "%(page)s/words.js";
import { readFileSync } from "node:fs";
const given = JSON.parse(readFileSync(0, "utf8"));
const told = (%(function)s)(given);
console.log(JSON.stringify(told, (_, value) => (typeof value === "bigint" ? String(value) : value)));
"""
ASK = """
(cases) => cases.map(({ highWater, size, scale, rows, begun }) => {
  const what = { key: "door", columns: ["door"], column: "amount", scale };
  const time = shownTime(highWater, size);
  const asked = (all) => all.filter((row) => Date.parse(row.window_start) >= time.asked);
  const answered = { rows: asked(rows) };
  const found = board(what, answered.rows, [asked(begun)], time);
  const added = sums(what, within(answered, time), time, false);
  return { time, sums: added, board: found, ranked: found && ranked(found.lines, "window") };
})
"""


def computed(function: str, given: Any) -> Any:
    """What a function of the page's own says of `given`. Exact amounts come as texts."""
    script = IMPORTS % {"page": PAGE.as_uri(), "function": function}
    node = ["node", "--input-type=module", "--eval", script]
    done = subprocess.run(node, input=json.dumps(given), capture_output=True, text=True, check=False, timeout=60)
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


def case(seed: int) -> dict[str, Any]:
    """Windows of a while, of some length that need not divide an hour, from a stream that may be behind the mark.

    Amounts are whole numbers, or decimals as the API sends them: as texts, too large for a number of JavaScript.
    """
    rng = random.Random(seed)
    size = rng.choice(
        [
            *(MINUTE, 7 * MINUTE, 25 * MINUTE, 90 * MINUTE, rng.randrange(1, 100) * MINUTE),
            *(rng.randrange(30, 5000) * SECOND, SECOND, 5 * SECOND, HOUR, DAY, rng.randrange(1, 4000)),
        ]
    )
    scale = rng.choice([0, 0, 1, 2])
    high_water = int(START.timestamp() * 1000) + rng.randrange(24 * HOUR)
    reached = high_water - rng.choice([0, 0, rng.randrange(HOUR), rng.randrange(60 * size)])
    newest = reached // size * size
    steps = max(2 * shown(size) + 1, min(-(-3 * HOUR // size), 3 * MOST))
    starts = [newest - step * size for step in range(steps) if step == 0 or rng.random() < 0.9]
    most = 50 if scale == 0 else 2**60

    def row(start: int, door: str) -> dict[str, Any]:
        units = rng.randrange(-most if scale else 1, most)
        window = {"window_start": iso(start), "window_end": iso(start + size)}
        return {"door": door, **window, "amount": written(units, scale) if scale else units, "units": units}

    begun = [{"door": rng.choice(["blue", "red"]), "window_start": iso(newest - rng.randrange(-1, 3 * HOUR))}] * 3
    rows = [row(start, door) for start in starts for door in ("blue", "red")]
    return {"highWater": high_water, "size": size, "scale": scale, "rows": rows, "begun": begun}


def shown(size: int) -> int:
    """How many windows the page shows: an hour of them, but neither too few nor too many."""
    return min(MOST, max(FEWEST, -(-HOUR // size)))


def written(units: int, scale: int) -> str:
    """A decimal as the API sends it."""
    digits = str(abs(units)).rjust(scale + 1, "0")
    return f"{'-' if units < 0 else ''}{digits[:-scale]}.{digits[-scale:]}"


def iso(millis: int) -> str:
    return (datetime(1970, 1, 1, tzinfo=UTC) + timedelta(milliseconds=millis)).isoformat(timespec="milliseconds")


def start_of(row: dict[str, Any]) -> int:
    return round(datetime.fromisoformat(row["window_start"]).timestamp() * 1000)


def test_the_sums_of_the_page_are_those_of_its_rows() -> None:
    cases = [case(seed) for seed in range(CASES)]
    for seed, (given, told) in enumerate(zip(cases, computed(ASK, cases), strict=True)):
        size, rows, time = given["size"], given["rows"], told["time"]
        newest = given["highWater"] // size * size
        windows = range(time["first"], newest + 1, size)
        assert time["first"] % size == 0 and len(windows) == time["count"] == shown(size), f"seed {seed}: {time}"
        if FEWEST <= -(-HOUR // size) <= MOST:
            assert HOUR <= len(windows) * size < HOUR + size, f"seed {seed}: {time}"
        by_start: dict[int, int] = defaultdict(int)
        for row in rows:
            by_start[start_of(row)] += row["units"]
        assert list(map(int, told["sums"])) == [by_start[start] for start in windows], f"seed {seed}"
        stretch = next((each for each in STRETCHES if size < each <= len(windows) * size), None)
        assert time["stretch"] == stretch, f"seed {seed}: {time}"
        last = max(map(start_of, rows))
        if last < time["first"]:
            assert told["board"] is None, f"seed {seed}"
            continue
        since = last // stretch * stretch if stretch else last
        in_stretch = [row for row in rows if start_of(row) // size * size >= since]
        begun = [row for row in given["begun"] if start_of(row) // size * size >= since]
        lines = told["board"]["lines"]
        assert {line["name"] for line in lines} == {row["door"] for row in (*in_stretch, *begun)}, f"seed {seed}"
        for line in lines:
            mine = [row for row in in_stretch if row["door"] == line["name"]]
            of_window = [row["units"] for row in mine if start_of(row) == last]
            assert int(line["window"]) == sum(of_window), f"seed {seed}"
            assert int(line["stretch"]) == sum(row["units"] for row in mine), f"seed {seed}: {line}"
            begun_here = [row for row in begun if row["door"] == line["name"]]
            now = any(start_of(row) // size * size == last for row in begun_here)
            assert line["others"] == [{"rows": len(begun_here), "now": now}], f"seed {seed}: {line}"
        order = [int(line["window"]) for line in told["ranked"]]
        assert order == sorted(order, reverse=True), f"seed {seed}"


def test_decimals_are_added_up_exactly_and_keep_their_scale() -> None:
    ask = """({ values, type }) => {
      const scale = scaleOf(type);
      const sum = values.reduce((so_far, value) => so_far + units(value, scale), 0n);
      return [amount(sum, scale), signedAmount(sum, scale), plain(sum, scale)];
    }"""

    def added(type_: str, *values: str | int | None) -> Any:
        return computed(ask, {"type": type_, "values": values})

    assert added("decimal(38,2)", "12.50", "0.75") == ["13.25", "+13.25", 13.25]
    assert added("decimal(38,2)", "12.50", None, "-12.50") == ["0.00", "0.00", 0]
    assert added("decimal(38,2)", "-0.05") == ["-0.05", "\N{MINUS SIGN}0.05", -0.05]
    assert added("decimal(18,3)", "0.1", "0.2") == ["0.300", "+0.300", 0.3]
    assert added("decimal(38,2)", "12345678901234567890.12", "0.01")[0] == "12,345,678,901,234,567,890.13"
    assert added("decimal(38,0)", "9223372036854775807", "1")[0] == "9,223,372,036,854,775,808"
    assert added("bigint", 1200, -34) == ["1,166", "+1,166", 1166]


def test_a_decimal_that_differs_by_its_last_place_is_found_and_told_exactly() -> None:
    ask = """({ mine, theirs }) => {
      const judged = [{ name: "weight", error: 0 }];
      const what = { columns: ["room", "shelf"], column: "weight", scale: 2, compared: judged };
      const cells = compared(what, { rows: mine }, { rows: theirs }, Date.parse("2026-03-01T10:00:10Z"));
      const { moved, equal, differs } = tally(cells, (each) => (each.equal ? "equal" : "differs"));
      const time = shownTime(Date.parse("2026-03-01T10:00:09Z"), 5000);
      return { moved: amount(moved, 2), equal, differs, offsets: offsets(cells, () => true, time).slice(-2) };
    }"""

    def row(room: str, shelf: int, second: int, weight: str) -> dict[str, Any]:
        window = {"window_start": f"2026-03-01T10:00:0{second}.000Z", "window_end": f"2026-03-01T10:00:0{second}.000Z"}
        return {"room": room, "shelf": shelf, **window, "weight": weight, "settled": True}

    theirs = [row("a", 1, 0, "12.50"), row("a", 2, 0, "12.50"), row("a", 1, 5, "12.50"), row("b", 1, 5, "1.00")]
    mine = [{**row("a", 1, 0, "12.50"), "settled": False}, row("a", 2, 0, "12.51"), row("a", 1, 5, "12.48")]
    assert computed(ask, {"mine": mine, "theirs": theirs}) == {
        "moved": "1.03",
        "equal": 1,
        "differs": 3,
        "offsets": ["1", "-102"],
    }


def test_without_a_key_there_is_one_line_and_a_key_without_a_value_is_one_too() -> None:
    ask = """({ rows }) => {
      const time = shownTime(Date.parse("2026-03-01T10:00:30Z"), 60000);
      return [null, "door"].map((key) => board({ key, column: "times", scale: 0 }, rows, [[]], time).lines);
    }"""
    window = {"window_start": "2026-03-01T10:00:00.000Z"}
    rows = [{"door": door, **window, "times": 2} for door in ("front", None, "null")]
    alone, by_door = computed(ask, {"rows": rows})
    assert [(line["name"], line["window"]) for line in alone] == [(None, "6")]
    assert [(line["name"], line["window"]) for line in by_door] == [("front", "2"), (None, "2"), ("null", "2")]


WEIGHT = {
    "name": "weight",
    "type": "decimal(20,3)",
    "meaning": "sum of what was put there",
    "compared": True,
    "error": 0,
}


def test_lists_are_compared_by_what_is_in_them_and_estimates_within_their_error() -> None:
    ask = """({ columns, pairs }) => pairs.map(([mine, theirs]) => {
      const what = { columns: [], column: "times", scale: 0, compared: columns };
      const row = (more) => ({ window_start: "2026-03-01T10:00:00Z", window_end: "2026-03-01T10:01:00Z", times: 1, ...more });
      const [one] = compared(what, { rows: [row(mine)] }, { rows: [row(theirs)] }, Infinity).cells;
      return one.equal;
    })"""
    columns = [{"name": "tags", "error": 0}, {"name": "visitors", "error": 0.05}, {"name": "weight", "error": 0}]
    same: dict[str, Any] = {"tags": ["a", "b"], "visitors": 100, "sketch": "x", "weight": "9007199254740993.01"}
    others = [
        {"sketch": "y"},
        {"visitors": 104},
        {"visitors": 106},
        {"tags": ["a"]},
        {"visitors": None},
        {"tags": None},
        {"weight": "9007199254740993.02"},  # the same as a number of JavaScript
    ]
    pairs = [(same, {**same, **other}) for other in others]
    assert computed(ask, {"columns": columns, "pairs": pairs}) == [True, True, *[False] * 5]


def test_what_is_shown_follows_from_the_declaration() -> None:
    told = {"charted": {"result": "loads", "column": "weight", "key": "shelf_id"}, "live": ["loads", "stops", "rooms"]}

    def result(name: str, *key: str) -> dict[str, Any]:
        values = [
            {"name": "sketch", "type": "binary", "meaning": "what was put there", "compared": False, "error": 0},
            WEIGHT,
        ]
        window = {"size": "5 seconds"}
        return {"name": name, "key": key, "pseudonyms": ["room_id"], "values": values, "window": window, "layers": {}}

    results = [
        *(result("loads", "shelf_id", "room_id"), result("stops", "room_id", "shelf_id")),
        *(result("rooms", "room_id"), result("counts", "shelf_id")),
    ]
    found = computed("({ told, results }) => charted(told, results)", {"told": told, "results": results})
    assert [each["name"] for each in found.pop("others")] == ["stops"]
    assert found == {
        **told["charted"],  # type: ignore[dict-item]
        "columns": ["shelf_id", "room_id"],
        "compared": [WEIGHT],
        "personal": False,
        "meaning": "sum of what was put there",
        "scale": 3,
        "size": 5000,
        "layers": {},
    }


def test_names_lengths_and_moments_are_worded_from_what_they_are() -> None:
    ask = """(at) => [
      ["team_id", "room", "id", "shelf_in_room_id"].map(noun),
      [1, 5000, 60000, 90000, 3600000, 172800000].map((each) => [length(each), period(each)]),
      [[250], [5000], [60000], [3600000], [3600000, 90000000], [86400000]].map((each) => clock(...each)(at)),
    ]"""
    assert computed(ask, START.timestamp() * 1000) == [
        ["team", "room", "id", "shelf in room"],
        [
            *(["1 millisecond", "millisecond"], ["5 seconds", "5 seconds"], ["1 minute", "minute"]),
            *(["90 seconds", "90 seconds"], ["1 hour", "hour"], ["2 days", "2 days"]),
        ],
        ["10:00:00.000", "10:00:00", "10:00", "10:00", "1 Mar 10:00", "1 Mar"],
    ]
