"""Reads landing files back with a parser of its own, to check what the simulator says of its output."""

import json
from collections import defaultdict
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path

from simulator.delivered import Delivered

FIELDS: dict[str, dict[str, type]] = {
    "bubbles_popped": {"player_id": str, "team_id": str, "bubbles": int},
    "offer_shown": {"player_id": str, "offer_id": str},
    "offer_clicked": {"player_id": str, "offer_id": str},
    "league_changed": {"player_id": str, "league": str},
    "heartbeat": {},
}
FLOOR = datetime(2000, 1, 1, tzinfo=UTC)
AHEAD = timedelta(minutes=10)
TIMES = ("occurred_at", "sent_at", "received_at")


@dataclass(frozen=True)
class Line:
    """A line that is an event or a copy of one."""

    file: int
    record: dict[str, object]
    occurred_at: datetime
    sent_at: datetime | None
    received_at: datetime | None

    @property
    def id(self) -> str:
        return str(self.record["event_id"])

    @property
    def kind(self) -> str:
        return str(self.record["kind"])

    @property
    def bubbles(self) -> int:
        bubbles = self.record["bubbles"]
        assert isinstance(bubbles, int)
        return bubbles

    @property
    def content(self) -> dict[str, object]:
        """All but the times that a retry has anew. When it happened a retry may write otherwise."""
        retried = ("sent_at", "received_at")
        said = {field: value for field, value in self.record.items() if field not in retried}
        return {**said, "occurred_at": self.occurred_at}

    @property
    def clock_error(self) -> timedelta:
        if self.sent_at is None or self.received_at is None:
            return timedelta(0)
        error = self.received_at - self.sent_at
        return error if abs(error) > timedelta(seconds=30) else timedelta(0)

    @property
    def event_time(self) -> datetime:
        return self.occurred_at + self.clock_error

    @property
    def delay(self) -> timedelta:
        """From happening to reception; none for a line that does not say when it was received."""
        return timedelta(0) if self.received_at is None else self.received_at - self.event_time


@dataclass(frozen=True)
class Simulated:
    """A run's landing directory, sorted: first arrivals, honest copies, contradictions and rejected lines."""

    directory: Path
    delivered: Delivered
    lines: list[str]
    events: dict[str, Line]
    copies: list[Line]
    contradictions: list[Line]
    rejected: dict[str, list[str]]

    @property
    def well_formed(self) -> list[Line]:
        return [*self.events.values(), *self.copies, *self.contradictions]

    def of_kind(self, kind: str) -> list[Line]:
        return [event for event in self.events.values() if event.kind == kind]


def read(directory: Path, delivered: Delivered) -> Simulated:
    run = Simulated(directory, delivered, [], {}, [], [], defaultdict(list))
    for number, path in enumerate(sorted(directory.glob("*.jsonl"))):
        *lines, rest = path.read_bytes().decode("utf-8").split("\n")
        assert rest == "", f"{path.name} does not end with a line break"
        run.lines.extend(lines)
        for text in lines:
            line = parse(text, number)
            if isinstance(line, str):
                run.rejected[line].append(text)
            elif line.id not in run.events:
                run.events[line.id] = line
            elif line.content == run.events[line.id].content:
                run.copies.append(line)
            else:
                run.contradictions.append(line)
    return run


def parse(text: str, file: int) -> Line | str:
    """The line, or the reason to reject it."""
    if not text:
        return "empty line"
    try:
        record = json.loads(text)
    except ValueError:
        return "not JSON"
    if not {"event_id", "kind", "occurred_at"} <= record.keys():
        return "missing field"
    if record["kind"] not in FIELDS:
        return "unknown kind"
    for field, wanted in FIELDS[record["kind"]].items():
        if field not in record:
            return "missing field"
        if type(record[field]) is not wanted:
            return "fraction" if isinstance(record[field], float) else "wrong type"
        if wanted is int and not -(2**31) <= record[field] < 2**31:
            return "outside 32 bits"
    times = {name: moment(record[name]) if name in record else None for name in TIMES}
    if any(time is not None and time.tzinfo is None for time in times.values()):
        return "no zone"
    occurred_at = times["occurred_at"]
    assert occurred_at is not None
    line = Line(file, record, occurred_at, times["sent_at"], times["received_at"])
    if line.received_at is not None and line.event_time > line.received_at + AHEAD:
        return "future"
    return "before 2000" if line.event_time < FLOOR else line


def moment(text: str) -> datetime:
    """Finer digits than milliseconds are cut off."""
    found = datetime.fromisoformat(text)
    return found.replace(microsecond=found.microsecond // 1000 * 1000)
