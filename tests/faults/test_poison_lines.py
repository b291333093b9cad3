"""Poison: lines that nobody should accept

Each is in quarantine once with its reason, and the sound lines around it count as if it were not there.
"""

import json
import random
from collections import Counter
from pathlib import Path

from deliveries import heartbeat, land, pop
from judged_lines import REJECTED
from logged import reasons, rows
from observations import Observe
from one_run import SCORES, cut_into, ids, one_run
from proof import proven
from pyspark.sql import SparkSession

from lakehouse.arrivals import EVENT, QUARANTINED
from lakehouse.lake import Lake
from lakehouse.settings import Settings
from simulator.game.malformed import BREAKAGES

CONFLICT = "copy of an event with other content"
TIMES_TRIED = 4  # a breakage chooses among its ways


def test_every_kind_of_bad_line_is_in_quarantine_once_and_stops_nothing(
    spark: SparkSession, lake: Lake, landing: Path, settings: Settings, observe: Observe
) -> None:
    sound = [pop(f"sound {number}", 10 * number, bubbles=number) for number in range(30)]
    phone = random.Random(8)
    broken = [each(phone, json.loads(sound[0])) for each in BREAKAGES for _ in range(TIMES_TRIED)]
    bad: list[str | bytes] = [*(text for text, _ in REJECTED.values()), *broken, pop("sound 1", 10, bubbles=99)]
    between = [line for number, text in enumerate(bad) for line in (text, *sound[number : number + 1])]
    land(landing, "1.jsonl", [*between, heartbeat("beat", 1000)])
    one_run(spark, lake, landing, [SCORES], settings)

    found = rows(lake, QUARANTINED, "raw", "reason")
    raw = Counter(each for each, _ in found)
    assert raw == Counter(line if isinstance(line, bytes) else line.encode() for line in bad)
    said = dict(found)
    for name, (text, reason) in REJECTED.items():
        assert said[text if isinstance(text, bytes) else text.encode()] == reason, name
    assert said[pop("sound 1", 10, bubbles=99).encode()] == CONFLICT
    assert ids(lake, EVENT) == sorted(["beat", *(f"sound {number}" for number in range(30))])
    verdict = proven(spark, lake, [SCORES], settings)
    assert sum(verdict.audit.reasons.values()) == len(bad)
    observe(
        "Every kind of bad line among sound ones",
        f"{len(bad)} bad lines of {len(set(said.values()))} kinds are in quarantine, each once with its reason and its "
        f"bytes. All 31 sound events count, and the layers agree in {verdict.results[0].equal} settled keys.",
    )


def test_a_schema_that_changes_from_file_to_file_costs_only_the_lines_that_lost_or_retyped_a_field(
    spark: SparkSession, lake: Lake, landing: Path, settings: Settings, observe: Observe
) -> None:
    def changed(event_id: str, second: int, *, without: str = "", **more: object) -> str:
        event = json.loads(pop(event_id, second, reaction_ms=200)) | more
        return json.dumps({name: value for name, value in event.items() if name != without})

    files = [
        [changed("as ever", 0)],
        [changed("gains", 60, device={"os": "x", "year": 7}), changed("gains more", 61, device=["now", "a list"])],
        [changed("loses an optional field", 120, without="reaction_ms"), changed("loses", 121, without="team_id")],
        [changed("retypes", 180, bubbles="7"), changed("retypes an unknown one", 181, device=7)],
        [changed("retypes a time", 190, occurred_at=1_772_359_203), changed("renames", 191, kind="bubbles.popped")],
        [changed("as before", 240), heartbeat("beat", 1000)],
    ]
    for number, lines in enumerate(files):
        land(landing, f"{number}.jsonl", lines)
    settings = cut_into(settings, 3)
    one_run(spark, lake, landing, [SCORES], settings, files_per_batch=2)

    assert reasons(lake) == Counter(
        {
            "missing field: team_id": 1,
            "ill-typed field: bubbles (expected whole number, found string)": 1,
            "ill-typed field: occurred_at (expected time with a zone, found bigint)": 1,
            "unknown kind": 1,
        }
    )
    accepted = ["as before", "as ever", "beat", "gains", "gains more", "loses an optional field"]
    assert ids(lake, EVENT) == [*accepted, "retypes an unknown one"]
    verdict = proven(spark, lake, [SCORES], settings)
    observe(
        "A schema that gains, loses and retypes fields from file to file",
        "Of 11 lines in 6 files the 4 that lost or retyped a field that is needed are in quarantine, each with the field "
        f"named. The 7 others are events; unknown fields do not matter. {verdict.results[0].equal} settled keys agree.",
    )
