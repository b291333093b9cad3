"""What plain Python makes of landing files of the sensors: what becomes of each line, and the answers. It shares no code.

Decimals are compared as texts, as `parity show` writes them.
"""

import json
from bisect import bisect_right
from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass, field
from datetime import UTC, datetime
from decimal import ROUND_HALF_UP, Context, Decimal
from pathlib import Path
from typing import Any

FIELDS = {"temperature_read": ("sensor_id", "temperature"), "sensor_moved": ("sensor_id", "room_id"), "heartbeat": ()}
SECOND, MINUTE = 1_000, 60_000
HOUR = 60 * MINUTE
WINDOW, GAP = 5 * SECOND, MINUTE
TOLERATED, AHEAD = 30 * SECOND, 10 * MINUTE
FLOOR = 946_684_800_000
"""The year 2000."""
TIMES = ("occurred_at", "sent_at", "received_at")
FINE = Context(prec=60)
Row = dict[str, Any]


@dataclass(frozen=True)
class Line:
    """A line that is an event or says to be one; times in milliseconds."""

    file: int
    said: Row
    times: dict[str, int | None]

    @property
    def id(self) -> str:
        return str(self.said["event_id"])

    @property
    def kind(self) -> str:
        return str(self.said["kind"])

    @property
    def content(self) -> Row:
        return {name: self.said[name] for name in ("kind", "occurred_at", *FIELDS[self.kind])}

    @property
    def clock_error(self) -> int:
        sent, received = self.times["sent_at"], self.times["received_at"]
        error = 0 if sent is None or received is None else received - sent
        return error if abs(error) > TOLERATED else 0

    @property
    def event_time(self) -> int:
        occurred = self.times["occurred_at"]
        assert occurred is not None
        return occurred + self.clock_error

    @property
    def delay(self) -> int:
        received = self.times["received_at"]
        return 0 if received is None else received - self.event_time


@dataclass
class Read:
    """Landing files, sorted: first arrivals, honest copies, contradictions, and why other lines are no events."""

    lines: list[bytes] = field(default_factory=list)
    events: dict[str, Line] = field(default_factory=dict)
    copies: list[Line] = field(default_factory=list)
    contradictions: list[Line] = field(default_factory=list)
    rejected: list[str] = field(default_factory=list)

    def of_kind(self, kind: str) -> list[Line]:
        return [event for event in self.events.values() if event.kind == kind]


def read(landing: Path) -> Read:
    found = Read()
    files = sorted(landing.glob("*.jsonl"), key=lambda path: (path.stat().st_mtime_ns, path.name))
    for number, path in enumerate(files):
        for text in path.read_bytes().splitlines():
            found.lines.append(text)
            line = line_of(text, number)
            if isinstance(line, str):
                found.rejected.append(line)
            elif line.id not in found.events:
                found.events[line.id] = line
            elif line.content == found.events[line.id].content:
                found.copies.append(line)
            else:
                found.contradictions.append(line)
    return found


def line_of(text: bytes, file: int) -> Line | str:
    """The line, or why it is no event."""
    if not text:
        return "empty"
    try:
        said = json.loads(text, parse_float=Decimal, parse_constant=str)
    except ValueError:
        return "not JSON"
    if not isinstance(said, dict):
        return "no object"
    if said.get("kind") not in FIELDS:
        return "unknown kind"
    for name in ("event_id", *FIELDS[said["kind"]], "occurred_at"):
        if said.get(name) is None:
            return f"no {name}"
        if not _is_right(name, said[name]):
            return f"{name} is wrong"
    times = {name: millis(said[name]) if said.get(name) is not None else None for name in TIMES}
    if any(time is not None and said[name][-1] != "Z" for name, time in times.items()):
        return "no zone"
    line = Line(file, said, times)
    received = times["received_at"]
    if received is not None and line.event_time > received + AHEAD:
        return "future"
    return "before 2000" if line.event_time < FLOOR else line


def _is_right(name: str, value: Any) -> bool:
    if name != "temperature":
        return isinstance(value, str)
    if isinstance(value, bool) or not isinstance(value, int | Decimal):
        return False
    return abs(value) < 10**16 and FINE.multiply(Decimal(value), Decimal(100)) % 1 == 0


def millis(text: str) -> int:
    moment = datetime.fromisoformat(text).replace(tzinfo=UTC)
    return round(moment.timestamp() * 1000)


def iso(at: int) -> str:
    return datetime.fromtimestamp(at / 1000, UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")


def rows(of: Read) -> dict[str, list[Row]]:
    """What every result is."""
    return {"sensor_means": [*means(of)], "sensor_sessions": [*sessions(of)], "room_hours": [*hours(of)]}


def means(of: Read) -> Iterator[Row]:
    measured = defaultdict(list)
    for line in of.of_kind("temperature_read"):
        measured[line.said["sensor_id"], line.event_time // WINDOW * WINDOW].append(Decimal(line.said["temperature"]))
    for (sensor, start), values in measured.items():
        total = sum(values, Decimal())
        mean = FINE.divide(total, Decimal(len(values))).quantize(Decimal("0.000001"), ROUND_HALF_UP)
        yield {
            "sensor_id": sensor, **_window(start, WINDOW), "total": f"{total:.2f}", "reads": len(values),
            "least": f"{min(values):.2f}", "greatest": f"{max(values):.2f}", "mean": f"{mean:f}",
        }  # fmt: skip


def sessions(of: Read) -> Iterator[Row]:
    times = defaultdict(list)
    for line in of.of_kind("temperature_read"):
        times[line.said["sensor_id"]].append(line.event_time)
    for sensor, measured in times.items():
        open_since, last, reads = None, 0, 0
        for at in [*sorted(measured), None]:
            if open_since is not None and (at is None or at - last > GAP):
                yield {"sensor_id": sensor, **_window(open_since, last - open_since + GAP), "reads": reads}
                open_since, reads = None, 0
            if at is not None:
                open_since, last, reads = at if open_since is None else open_since, at, reads + 1


def hours(of: Read) -> Iterator[Row]:
    moves = defaultdict(list)
    for line in of.of_kind("sensor_moved"):
        moves[line.said["sensor_id"]].append((line.event_time, line.id, line.said["room_id"]))
    known = {sensor: sorted(found) for sensor, found in moves.items()}
    measured = defaultdict(list)
    for line in of.of_kind("temperature_read"):
        of_sensor = known.get(line.said["sensor_id"], [])
        place = bisect_right(of_sensor, line.event_time, key=lambda move: move[0])
        room = of_sensor[place - 1][2] if place else "none"
        measured[room, line.event_time // HOUR * HOUR].append(Decimal(line.said["temperature"]))
    for (room, start), values in measured.items():
        yield {"room_id": room, **_window(start, HOUR), "reads": len(values), "total": f"{sum(values, Decimal()):.2f}"}


def _window(start: int, length: int) -> Row:
    return {"window_start": iso(start), "window_end": iso(start + length)}
