"""A landing made by hand of what a simulated day has none of: ties, events on edges, copies that contradict their
original, clocks at the tolerance, fields of other kinds, late rows at the bound.

Each group has players, teams and offers of its own. The edges are those of the catalogue's windows; other windows find others.
"""

import json
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

from deliveries import START, at, heartbeat, land, pop

INGESTED_AT = datetime(2026, 3, 5, tzinfo=UTC)
MINUTE, HOUR = 60.0, 3600.0
MS = 0.001


def event(event_id: str, kind: str, seconds: float, player: str, **more: Any) -> str:
    return json.dumps({"event_id": event_id, "kind": kind, "player_id": player, "occurred_at": at(seconds), **more})


def ties() -> Iterator[str]:
    """Of one instant, in an order that is not that of the ids: which one reaches the goal, or is the tenth?"""
    for name, bubbles in (("tie-c", 9), ("tie-b", 300), ("tie-a", 200)):
        yield pop(name, 65, bubbles=bubbles, team="tied", player="tina")
    yield pop("tie-z", 70, bubbles=-100, team="sunk", player="sid")
    yield pop("tie-y", 70, bubbles=550, team="sunk", player="sid")  # by id first: the goal is reached, then left
    for n in range(9):
        yield pop(f"streak-{n}", 120 + n, bubbles=1, team="tens", player="ten")
    yield pop("streak-y", 129, bubbles=7, team="tens", player="ten")
    yield pop("streak-x", 129, bubbles=5, team="tens", player="ten")  # by id the tenth
    yield event("change-b", "league_changed", 300, "lea", league="silver")
    yield event("change-a", "league_changed", 300, "lea", league="gold")  # the greater id is the later
    yield pop("in-league", 300, bubbles=3, team="lea", player="lea")
    yield pop("before-league", 300 - MS, bubbles=4, team="lea", player="lea")


def edges() -> Iterator[str]:
    for n, seconds in enumerate((600 - MS, 600, 600 + MS, 659.999, 660, 3600 - MS, 3600)):
        yield pop(f"edge-{n}", seconds, bubbles=n + 1, team="edge", player=f"ed-{n % 2}", reaction_ms=100 * n)
    yield pop("sixty-0", 1000, bubbles=400, team="sixty", player="six")
    yield pop("sixty-1", 1060, bubbles=100, team="sixty", player="six")  # a whole minute later: 400 is gone
    yield pop("sixty-2", 2000 + MS, bubbles=400, team="sixty", player="six")
    yield pop("sixty-3", 2060, bubbles=100, team="sixty", player="six")
    yield pop("below", 2500, bubbles=499, team="goal", player="gil")
    yield pop("at-goal", 2501, bubbles=1, team="goal", player="gil")
    yield pop("again", 2502, bubbles=50, team="goal", player="gil")
    for n, seconds in enumerate((0, 15 * MINUTE, 30 * MINUTE + MS)):
        yield pop(f"gap-{n}", seconds, team="gap", player="gap")
    for n, (shown, clicked) in enumerate(((10, 0), (20, HOUR), (30, HOUR + MS), (40, -MS), (50, HOUR - MS))):
        yield event(f"shown-{n}", "offer_shown", shown, "ola", offer_id=f"offer-{n}")
        yield event(f"click-{n}", "offer_clicked", shown + clicked, "ola", offer_id=f"offer-{n}")
    yield event("shown-twice", "offer_shown", 20, "ola", offer_id="offer-1")
    yield event("second-click", "offer_clicked", 1000, "ola", offer_id="offer-4")
    yield event("other-player", "offer_clicked", 35, "olaf", offer_id="offer-2")
    yield event("other-offer", "offer_clicked", 45, "ola", offer_id="offer-9")
    yield event("never-clicked", "offer_shown", HOUR - MS, "ola", offer_id="offer-6")
    yield event("next-hour", "offer_shown", HOUR, "ola", offer_id="offer-7")


def numbers() -> Iterator[str]:
    for n, bubbles in enumerate((2**31 - 1, -(2**31), 2**31, -(2**31) - 1, 0)):
        yield pop(f"number-{n}", 700 + n, bubbles=bubbles, team="large", player="lars")
    for n, reaction in enumerate((0, 1, 2, 1000, None, 2**31, "7", 1.5)):
        yield pop(f"reaction-{n}", 800 + n, team="fast", player="fay", reaction_ms=reaction)
    yield pop("half", 810, team="fast", player="fay").replace('"bubbles": 1', '"bubbles": 1.5')


def clocks() -> Iterator[str]:
    """The error of a clock at the tolerance of 30 seconds, and times at the two limits."""
    for n, error in enumerate((30, 30 + MS, -30, -30 - MS)):
        yield pop(
            f"clock-{n}",
            1200,
            bubbles=n,
            team="clock",
            player=f"cli-{n}",
            sent_at=at(1300),
            received_at=at(1300 + error),
        )
    yield pop("only-sent", 1200, bubbles=9, team="clock", player="cli-4", sent_at=at(9000))
    for n, ahead in enumerate((600, 600 + MS)):
        yield pop(f"future-{n}", 1500 + ahead, bubbles=n + 1, team="future", player="fu", received_at=at(1500))
    for n, moment in enumerate(("2000-01-01T00:00:00.000Z", "1999-12-31T23:59:59.999Z")):
        changed = {"event_id": f"floor-{n}", "kind": "league_changed", "player_id": "six", "league": f"old-{n}"}
        yield json.dumps({**changed, "occurred_at": moment})
    for name, moment in (("zone", "2026-03-01T13:21:00+03:00"), ("fine", "2026-03-01T10:21:59.999999999Z")):
        yield pop(name, 0, bubbles=5, team="zone", player="zoe").replace(at(0), moment)
    yield pop("no-zone", 0, team="zone", player="zoe").replace(at(0), "2026-03-01T10:21:00")


def foreign() -> Iterator[str]:
    """Fields that another kind declares, or none: no result uses them, and a copy may have others."""
    yield pop("foreign-0", 1800, bubbles=7, team="foreign", player="fred", league="gold", offer_id="offer-0")
    yield pop("foreign-1", 1810, bubbles=5, team="foreign", player="fred")
    yield event(
        "foreign-2", "offer_shown", 1820, "fred", offer_id="offer-f", bubbles=600, team_id="foreign", league="gold"
    )
    yield event(
        "foreign-3", "league_changed", 1830, "frida", league="gold", team_id="foreign", bubbles=600, offer_id="offer-f"
    )
    yield pop("foreign-0", 1800, bubbles=7, team="foreign", player="fred", league="silver", colour="red")


def copies() -> Iterator[str]:
    yield pop("copied", 1900, bubbles=7, team="copies", player="cora", reaction_ms=5)
    yield pop(
        "copied", 1900, bubbles=7, team="copies", player="cora", reaction_ms=5, sent_at=at(1905), received_at=at(1906)
    )
    yield pop("copied", 1900, bubbles=8, team="copies", player="cora", reaction_ms=5)
    yield pop("copied", 1900, bubbles=7, team="copies", player="cora", reaction_ms=6)
    yield pop("copied", 1900, bubbles=7, team="copies", player="cora")
    yield pop("copied", 1900 + MS, bubbles=7, team="copies", player="cora", reaction_ms=5)
    yield pop("copied", 1900, bubbles=7, team="others", player="cora", reaction_ms=5)
    yield pop("copied", 1900, bubbles=7, team="copies", player="carl", reaction_ms=5)
    yield event("copied", "offer_shown", 1900, "cora", offer_id="offer-c")
    yield event("offered", "offer_shown", 1901, "cora", offer_id="offer-c")
    yield event("offered", "offer_shown", 1901, "cora", offer_id="offer-d")
    yield event("leagued", "league_changed", 1902, "cora", league="gold")
    yield event("leagued", "league_changed", 1902, "cora", league="silver")


def late() -> Iterator[str]:
    """Behind a mark of two hours: with five minutes allowed, rows are late at 1:55:00.000 and not a millisecond after."""
    yield heartbeat("two-hours", 2 * HOUR)
    bound = 2 * HOUR - 5 * MINUTE
    for n, seconds in enumerate((bound - MS, bound, bound + MS, bound - MINUTE, bound - MINUTE - MS, bound - 10)):
        yield pop(f"late-{n}", seconds, bubbles=600, team="late", player=f"lou-{n}", reaction_ms=n)
        yield event(f"late-shown-{n}", "offer_shown", seconds, "lou", offer_id=f"late-{n}")
    yield event("late-click", "offer_clicked", bound, "lou", offer_id="late-0")
    yield event("late-league", "league_changed", bound, "lou-2", league="gold")
    yield event("league-in-time", "league_changed", bound + MS, "lou-2", league="silver")
    yield pop("far-behind", 65.5, bubbles=50, team="tied", player="tina")  # of a minute that is long over
    yield pop("bridge", 15 * MINUTE + 1, bubbles=50, team="gap", player="gap")  # makes one session of two


def not_received() -> Iterator[str]:
    """What does not say when it was received is judged by the clock of ingestion. The last line is the mark of the log.

    With 5 or 10 minutes allowed, windows end, sessions end and bounds of offers lie exactly where results settle.
    """
    ahead = (INGESTED_AT - START) / timedelta(seconds=1) + 10 * MINUTE
    settled = ahead - 5 * MINUTE
    for n, seconds in enumerate((settled - 1, settled, settled - 15 * MINUTE, settled - 15 * MINUTE + MS)):
        yield pop(f"settling-{n}", seconds, bubbles=600, team="settling", player=f"sue-{n}", reaction_ms=n)
    yield event("settling-shown", "offer_shown", settled - HOUR, "sue", offer_id="settling")
    yield event("settling-hour", "offer_shown", settled - HOUR - 10 * MINUTE, "sue", offer_id="settling")
    yield pop("beyond", ahead + MS, bubbles=999, team="ahead", player="ada")
    yield pop("just", ahead, bubbles=999, team="ahead", player="ada")


def land_edges(landing: Path) -> None:
    """Let it land, in four files. The last one moves the mark by days, so all before it is settled."""
    land(landing, "1.jsonl", [*ties(), *edges(), *numbers()])
    land(landing, "2.jsonl", [*clocks(), *foreign(), *copies(), "", '{"half', pop("copied", 1900, bubbles=9)])
    land(landing, "3.jsonl", late())
    land(landing, "4.jsonl", not_received())
