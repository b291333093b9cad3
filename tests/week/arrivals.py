"""What lands in the week: a few players, hour by hour, and what a phone in the subway holds back."""

import json
from datetime import UTC, datetime, timedelta

MONDAY = datetime(2026, 3, 2, tzinfo=UTC)
HOUR, MINUTE, SECOND = timedelta(hours=1), timedelta(minutes=1), timedelta(seconds=1)
PLAYERS = ("alice", "bob", "carol")


def at(day: int, clock: str) -> datetime:
    """The moment of a day of the week, Monday is 0."""
    hours, minutes = map(int, clock.split(":"))
    return MONDAY + timedelta(days=day, hours=hours, minutes=minutes)


def played(first: datetime, until: datetime) -> list[str]:
    """What happened in `[first, until)`, and a heartbeat at its end.

    Everybody plays from ten to the hour until five past it: a session across each hour, midnight among them.
    """
    minutes = (first + number * MINUTE for number in range((until - first) // MINUTE))
    lines = [line for minute in minutes if minute.minute in (50, 0, 4) for line in _round(minute)]
    return [*lines, _line("heartbeat", until - SECOND)]


def underground(first: datetime, minutes: int, *, received: datetime) -> list[str]:
    """What a phone in the subway has played, a pop a minute, and delivers in one go."""
    return [pop(first + number * MINUTE, "dave", 3, received=received) for number in range(minutes)]


def pop(moment: datetime, player: str, bubbles: int, *, received: datetime | None = None) -> str:
    team = "blue" if player == "alice" else "red"
    return _line("bubbles_popped", moment, received, player_id=player, team_id=team, bubbles=bubbles)


def _round(moment: datetime) -> list[str]:
    bubbles = 1 + moment.hour + moment.minute % 7
    return [pop(moment + index * 7 * SECOND, name, bubbles + index) for index, name in enumerate(PLAYERS)]


def _line(kind: str, moment: datetime, received: datetime | None = None, **fields: str | int) -> str:
    name = f"{kind} {fields.get('player_id', '')} {_text(moment)}"
    times = {"occurred_at": _text(moment), "received_at": _text(received or moment + SECOND)}
    return json.dumps({"event_id": name, "kind": kind, **fields, **times})


def _text(moment: datetime) -> str:
    return moment.isoformat(timespec="milliseconds").replace("+00:00", "Z")
