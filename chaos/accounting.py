"""The account of what landed: each line of each landing file has one fate, and the one that it deserves.

Read without the product's code: the landing files as they lie on disk, and the table `arrivals` by delta-rs. The product's own
audit adds up totals, and totals balance as well where de-duplication is off, or where everything is quarantined.
"""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import accumulate
from pathlib import Path
from typing import Any

import pyarrow as pa
from deltalake import DeltaTable

from chaos.lines import Event, event_of
from chaos.violation import Violation
from transformations.kind import Kind

Place = tuple[str, int]
"""A landing file, and the number of a line in it."""
NAMED = 3


@dataclass(frozen=True)
class Arrived:
    """An event of the log: the row's place in the order of arrival, and what its line says."""

    arrival: int
    event: Event


@dataclass(frozen=True)
class Account:
    """What landed, and what it deserved to become; the table says the same."""

    events: Sequence[Arrived]
    duplicates: int
    quarantined: int

    @property
    def landed(self) -> int:
        return len(self.events) + self.duplicates + self.quarantined


def accounted(landing: Path, table: Path, kinds: Mapping[str, Kind], *, now: int) -> Account:
    """The account of a landing directory and the table of arrivals. Whatever is lost, doubled or misjudged is a violation."""
    lines, rows = landed_lines(landing), _rows(table)
    found = [*_places(lines, rows), *_order(rows)]
    if found:  # what a line deserves depends on the order of all
        raise Violation("; ".join(found))
    account, wrong = _judged(lines, rows, kinds, now)
    if wrong := [*wrong, *_ids(rows)]:
        raise Violation("; ".join(wrong))
    return account


def landed_lines(landing: Path) -> dict[Place, bytes]:
    """Every line that lies in the landing directory. What stands behind the last line feed is one only if it says something."""
    found = {}
    for file in sorted(landing.glob("*.jsonl")):
        if not file.name.startswith((".", "_")):
            lines = file.read_bytes().split(b"\n")
            found.update({(file.name, number): line for number, line in enumerate(lines, start=1)})
            if not lines[-1]:
                del found[file.name, len(lines)]
    return found


def _rows(table: Path) -> list[dict[str, Any]]:
    columns = ["arrival", "fate", "event_id", "event_time", "high_water", "file", "line", "raw"]
    read = DeltaTable(table).to_pyarrow_table(columns=columns).sort_by("arrival")
    for name in ("event_time", "high_water"):
        at = read.column_names.index(name)
        read = read.set_column(at, name, read[name].cast(pa.int64()))
    rows: list[dict[str, Any]] = read.to_pylist()
    return rows


def _places(lines: Mapping[Place, bytes], rows: Sequence[Mapping[str, Any]]) -> list[str]:
    """Each landed line has one row, and each row is a landed line."""
    of_rows = Counter((row["file"], row["line"]) for row in rows)
    missing = [place for place in lines if place not in of_rows]
    foreign = [place for place in of_rows if place not in lines]
    twice = [place for place, count in of_rows.items() if count > 1]
    other = [place for row in rows if lines.get(place := (row["file"], row["line"])) not in (None, row["raw"])]
    said = {
        "landed lines have no fate": missing,
        "landed lines have more than one fate": twice,
        "rows are of lines that never landed": foreign,
        "rows have other bytes than their line": other,
    }
    return [f"{len(places)} {what}, e.g. {_named(places)}" for what, places in said.items() if places]


def _order(rows: Sequence[Mapping[str, Any]]) -> list[str]:
    """Rows are numbered without a gap, and a file's lines come one after the other."""
    found = []
    if [row["arrival"] for row in rows] != list(range(1, len(rows) + 1)):
        found.append(f"the {len(rows)} rows are not numbered from 1 without a gap")
    last: dict[str, int] = {}
    for row in rows:
        if row["line"] != last.get(row["file"], 0) + 1:
            found.append(f"line {row['line']} of {row['file']} comes after line {last.get(row['file'], 0)}")
            break
        last[row["file"]] = row["line"]
    return found


def _ids(rows: Sequence[Mapping[str, Any]]) -> list[str]:
    ids = Counter(row["event_id"] for row in rows if row["fate"] == "event")
    twice = [each for each, count in ids.items() if count > 1]
    return [f"{len(twice)} event ids are in the log more than once, e.g. {_named(twice)}"] if twice else []


def _judged(
    lines: Mapping[Place, bytes], rows: Sequence[Mapping[str, Any]], kinds: Mapping[str, Kind], now: int
) -> tuple[Account, list[str]]:
    """Each line judged here, in the order in which the rows say that it arrived, beside what the rows say of it."""
    first: dict[str, Event] = {}
    events, fates, misjudged, mistimed = [], Counter[str](), list[Place](), list[Place]()
    for row in rows:
        place = (row["file"], row["line"])
        event = event_of(lines[place], kinds, now=now)
        if event is None:
            fate = "quarantined"
        elif event.event_id not in first:
            fate, first[event.event_id] = "event", event
            events.append(Arrived(row["arrival"], event))
            if row["event_time"] != event.event_time * 1000:
                mistimed.append(place)
        else:
            fate = "duplicate" if first[event.event_id].content == event.content else "quarantined"
        fates[fate] += 1
        if row["fate"] != fate:
            misjudged.append(place)
    found = []
    if misjudged:
        have = Counter(row["fate"] for row in rows)
        found.append(
            f"{len(misjudged)} lines have another fate than they deserve, e.g. {_named(misjudged)}: there are "
            f"{_counted(have)}, and there should be {_counted(fates)}"
        )
    if mistimed:
        found.append(f"{len(mistimed)} events have another event time than their line says, e.g. {_named(mistimed)}")
    marks = list(accumulate((each.event.event_time * 1000 for each in events), max))
    if not found and [row["high_water"] for row in rows if row["fate"] == "event"] != marks:
        found.append("the high-water mark is not the greatest event time that had arrived")
    return Account(events, fates["duplicate"], fates["quarantined"]), found


def _counted(fates: Mapping[str, int]) -> str:
    return ", ".join(f"{fates[fate]} {fate}" for fate in ("event", "duplicate", "quarantined"))


def _named(places: Iterable[Any]) -> str:
    return ", ".join(
        ":".join(map(str, each)) if isinstance(each, tuple) else str(each) for each in list(places)[:NAMED]
    )
