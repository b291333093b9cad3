"""Where each shape begins and ends, by hand. Every case of a result is computed at once, side by side.

The laws compare whole logs with a plain answer; here a boundary has a name.
"""

from datetime import datetime, timedelta
from itertools import count
from typing import Any

import pytest
from deliveries import START
from game import catalogue
from pyspark.sql import SparkSession
from pyspark.sql.types import IntegerType, StringType, StructField, StructType, TimestampType

from transformations.durations import to_millis

HOUR, MINUTE = 3600, 60
SCHEMA = StructType(
    [
        StructField("case", StringType()),
        *(
            StructField(name, StringType())
            for name in ("event_id", "kind", "player_id", "team_id", "offer_id", "league")
        ),
        *(StructField(name, IntegerType()) for name in ("bubbles", "reaction_ms")),
        StructField("event_time", TimestampType()),
    ]
)
Event = dict[str, Any]
Rows = list[tuple[Any, ...]]
_ids = (f"id-{number:03d}" for number in count())


def event(kind: str, seconds: float, **said: Any) -> Event:
    moment = START + timedelta(milliseconds=round(seconds * 1000))
    return {"event_id": next(_ids), "kind": kind, "player_id": "alice", "event_time": moment, **said}


def pop(seconds: float, bubbles: int = 1, **said: Any) -> Event:
    return event("bubbles_popped", seconds, **{"team_id": "blue", "bubbles": bubbles, **said})


def shown(seconds: float, **said: Any) -> Event:
    return event("offer_shown", seconds, **{"offer_id": "o", **said})


def clicked(seconds: float, **said: Any) -> Event:
    return event("offer_clicked", seconds, **{"offer_id": "o", **said})


def league(seconds: float, name: str, **said: Any) -> Event:
    return event("league_changed", seconds, league=name, **said)


CASES: dict[str, dict[str, tuple[list[Event], Rows]]] = {
    "game_pulse": {
        "an event on the boundary is in the later window": (
            [pop(9.999, 2), pop(10, 3, player_id="bob", team_id="red"), pop(19.999)],
            [(0, 10, 1, 2, 1), (10, 20, 2, 4, 2)],
        ),
    },
    "player_pace": {
        "an event is in the five windows that hold it, the last of which starts with it": (
            [pop(300, 7)],
            [("alice", start, start + 300, 7, 1) for start in (60, 120, 180, 240, 300)],
        ),
    },
    "player_sessions": {
        "events exactly one gap apart belong together": (
            [pop(0, 2), pop(15 * MINUTE, 3)],
            [("alice", 0, 30 * MINUTE, 2, 5)],
        ),
        "events a millisecond further apart do not": (
            [pop(0), pop(15 * MINUTE + 0.001)],
            [("alice", 0, 15 * MINUTE, 1, 1), ("alice", 900.001, 1800.001, 1, 1)],
        ),
        "one event between two sessions makes them one": (
            [pop(0), pop(1000), pop(500)],
            [("alice", 0, 1900, 3, 3)],
        ),
        "other players and other kinds join nothing": (
            [pop(0), pop(500, player_id="bob"), shown(500), pop(1000)],
            [("alice", 0, 900, 1, 1), ("alice", 1000, 1900, 1, 1), ("bob", 500, 1400, 1, 1)],
        ),
    },
    "reaction_times": {
        "between two values the percentile is interpolated": (
            [pop(0, reaction_ms=100), pop(1, reaction_ms=201), pop(2), pop(60, reaction_ms=7)],
            [("blue", 0, 60, 150.5, 195.95, 199.99), ("blue", 60, 120, 7.0, 7.0, 7.0)],
        ),
        "a window in which nobody says how fast is not there": ([pop(0)], []),
    },
    "lifetime_totals": {
        "there is one row over everything": (
            [pop(0, 5), pop(10 * HOUR, -2), pop(5, 1)],
            [("alice", None, None, 4, 3, -2, 5, 0, 10 * HOUR)],
        ),
    },
    "hot_minutes": {
        "a pop exactly 60 seconds before does not count": ([pop(0, 400), pop(60, 100)], []),
        "one a millisecond later does": (
            [pop(0.001, 400), pop(60, 100, event_id="x")],
            [("blue", "x", 0.001, 60.001, 500, 400)],
        ),
        "only the pop that crosses the line is kept, and the next crossing again": (
            [pop(0, 500, event_id="a"), pop(1, 1), pop(2, -100), pop(3, 99, event_id="b")],
            [("blue", "a", -59.999, 0.001, 500, None), ("blue", "b", -56.999, 3.001, 500, 401)],
        ),
        "pops of one time stand in the order of their ids": (
            [pop(5, 300, event_id="b"), pop(5, 200, event_id="a"), pop(5, 9, event_id="c")],
            [("blue", "b", -54.999, 5.001, 500, 200)],
        ),
    },
    "pop_streaks": {
        "nine pops are no streak, ten are, and the eleventh waits": (
            [*(pop(n) for n in range(9)), *(pop(n, player_id="bob") for n in range(11))],
            [("bob", 1, 0, HOUR, 9000, 10)],
        ),
        "a streak does not cross the hour": ([pop(HOUR - 5 + n) for n in range(10)], []),
        "ties are broken by the id": (
            [*(pop(n) for n in range(9)), pop(9, 5, event_id="x-1"), pop(9, 7, event_id="x-2")],
            [("alice", 1, 0, HOUR, 9000, 14)],
        ),
    },
    "offer_outcomes": {
        "a click at the end of the hour counts, as does one at once": (
            [shown(0), clicked(HOUR), shown(9, offer_id="p"), clicked(9, offer_id="p")],
            [("alice", "o", 0, HOUR, HOUR), ("alice", "p", 9, HOUR + 9, 9)],
        ),
        "a click a millisecond later or before does not": (
            [shown(0), clicked(HOUR + 0.001), clicked(-0.001)],
            [("alice", "o", 0, HOUR, None)],
        ),
        "the first click is the one told": ([shown(0), clicked(20), clicked(10)], [("alice", "o", 0, HOUR, 10)]),
        "another player's click is none": (
            [shown(0), clicked(5, player_id="bob"), clicked(6, offer_id="q")],
            [("alice", "o", 0, HOUR, None)],
        ),
    },
    "click_through": {
        "an offer belongs to the hour in which it was shown, however often it was clicked": (
            [shown(HOUR - 1), clicked(HOUR), clicked(HOUR + 1), shown(HOUR, offer_id="p")],
            [(0, HOUR, 1, 1), (HOUR, 2 * HOUR, 1, 0)],
        ),
    },
    "league_scores": {
        "a change holds from its own instant on": (
            [league(60, "gold"), pop(59.999, 1), pop(60, 2)],
            [("gold", 0, 600, 2, 1), ("none", 0, 600, 1, 1)],
        ),
        "of two changes at one instant the greater id is the later": (
            [league(0, "gold", event_id="b"), league(0, "bronze", event_id="a"), pop(1)],
            [("gold", 0, 600, 1, 1)],
        ),
        "a league without pops has no row": (
            [league(0, "gold"), league(5, "bronze"), pop(9)],
            [("bronze", 0, 600, 1, 1)],
        ),
        "the league of one player is not that of another": (
            [league(0, "gold"), pop(1, player_id="bob")],
            [("none", 0, 600, 1, 1)],
        ),
    },
}


def seconds(value: Any) -> Any:
    if not isinstance(value, datetime):
        return value
    past = (to_millis(value.astimezone(START.tzinfo)) - to_millis(START)) / 1000
    return None if past < -10 * 365 * 24 * HOUR else past


@pytest.mark.parametrize("name", CASES)
def test_the_boundaries_of(spark: SparkSession, name: str) -> None:
    result = catalogue()[name]
    rows = [
        tuple({**dict.fromkeys(SCHEMA.names), **each, "case": case}.values())
        for case, (events, _) in CASES[name].items()
        for each in events
    ]
    computed = result.of(spark.createDataFrame(rows, SCHEMA), alongside=("case",))
    found: dict[str, Rows] = {case: [] for case in CASES[name]}
    for row in computed.orderBy(*result.key, "window_start").collect():
        found[row.case].append(tuple(seconds(row[column]) for column in result.columns))
    for case, (_, expected) in CASES[name].items():
        assert found[case] == [pytest.approx(row) for row in expected], case


def test_a_sketch_merges_over_the_hours(spark: SparkSession) -> None:
    """Alice comes in both hours: three players until the end of the second, not four. The first does not know of it."""
    events = [pop(0), pop(1, player_id="bob"), pop(HOUR), pop(HOUR, player_id="carol")]
    rows = [tuple({**dict.fromkeys(SCHEMA.names), **each}.values()) for each in events]
    result = catalogue()["active_players"]
    shown = result.shown(result.of(spark.createDataFrame(rows, SCHEMA))).orderBy("window_start").collect()
    assert [(hour.players, hour.estimate, hour.day_estimate) for hour in shown] == [(2, 2, 2), (2, 2, 3)]
    assert "sketch" not in shown[0]


def test_the_pace_tells_the_change_against_five_minutes_before(spark: SparkSession) -> None:
    rows = [tuple({**dict.fromkeys(SCHEMA.names), **each}.values()) for each in (pop(0, 6), pop(1, 4), pop(300, 7))]
    result = catalogue()["player_pace"]
    told = {
        seconds(row.window_start): (row.mean, row.change)
        for row in result.shown(result.of(spark.createDataFrame(rows, SCHEMA))).collect()
    }
    assert told[0] == (5.0, 10)
    assert told[300] == (7.0, -3)
