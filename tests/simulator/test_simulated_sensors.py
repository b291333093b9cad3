"""What happens to the sensors in a simulated day, found in its landing files by a reader of the tests' own."""

from collections import Counter, defaultdict
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from itertools import pairwise
from pathlib import Path

import pytest
from plain_sensors import GAP, HOUR, MINUTE, SECOND, WINDOW, Read, hours, means, read, sessions

from simulator.delivered import Delivered
from simulator.landing import LandingNotEmpty
from simulator.sensors import feed, simulate
from simulator.sensors.malformed import BREAKAGES

BEGUN = datetime(2026, 3, 1, 3, 0, 20, tzinfo=UTC)


class Day:
    def __init__(self, landing: Path, delivered: Delivered) -> None:
        self.landing = landing
        self.delivered = delivered
        self.read: Read = read(landing)


@pytest.fixture(scope="module")
def a_day(tmp_path_factory: pytest.TempPathFactory) -> Day:
    landing = tmp_path_factory.mktemp("sensors") / "landing"
    return Day(landing, simulate(landing))


def fed(landing: Path, *, seconds: float, **options: object) -> Delivered:
    """What lands by a clock that goes on while somebody waits."""
    now = BEGUN

    def wait(length: float) -> bool:
        nonlocal now
        now += timedelta(seconds=length)
        return now > BEGUN + timedelta(seconds=seconds)

    return feed(landing, clock=lambda: now, wait=wait, **options)  # type: ignore[arg-type]


@pytest.fixture(scope="module")
def an_hour(tmp_path_factory: pytest.TempPathFactory) -> Day:
    """The backlog of an hour and a minute more, as `parity live` has it."""
    landing = tmp_path_factory.mktemp("fed")
    return Day(landing, fed(landing, seconds=60, rate=8, seed=7))


@pytest.mark.parametrize("which", ["a_day", "an_hour"])
def test_what_it_says_that_it_delivered_is_what_another_reader_finds(
    which: str, request: pytest.FixtureRequest
) -> None:
    of: Day = request.getfixturevalue(which)
    said, found = of.delivered, of.read
    assert (said.files, said.lines) == (len(list(of.landing.iterdir())), len(found.lines))
    assert (said.events, said.duplicates) == (len(found.events), len(found.copies))
    assert (said.conflicting_copies, said.malformed) == (len(found.contradictions), len(found.rejected))
    assert said.future == found.rejected.count("future") > 0
    well_formed = [*found.events.values(), *found.copies, *found.contradictions]
    assert said.skewed == sum(line.clock_error != 0 for line in well_formed) > 0
    assert min(said.duplicates, said.conflicting_copies, said.late) > 0


def test_a_day_has_as_many_events_as_asked_for(a_day: Day) -> None:
    assert a_day.delivered.events == 100_000
    kinds = Counter(line.kind for line in a_day.read.events.values())
    assert kinds.keys() == {"temperature_read", "sensor_moved", "heartbeat"}
    assert kinds["temperature_read"] > 0.95 * 100_000 and kinds["sensor_moved"] > 500


def test_the_same_seed_gives_the_same_bytes_and_another_one_others(tmp_path: Path) -> None:
    contents = []
    for name, seed in (("one", 7), ("two", 7), ("three", 8)):
        simulate(tmp_path / name, events=2_000, seed=seed)
        contents.append([(path.name, path.stat().st_mtime_ns, path.read_bytes()) for path in _files(tmp_path / name)])
    assert contents[0] == contents[1] != contents[2]


def test_the_same_seed_and_clock_feed_the_same_files(tmp_path: Path) -> None:
    contents = []
    for name, seed in (("one", 7), ("two", 7), ("three", 8)):
        fed(tmp_path / name, seconds=20, rate=30, back=timedelta(minutes=2), seed=seed)
        contents.append([(path.name, path.stat().st_mtime_ns, path.read_bytes()) for path in _files(tmp_path / name)])
    assert contents[0] == contents[1] != contents[2]


def _files(landing: Path) -> list[Path]:
    return sorted(landing.iterdir())


def test_a_sensor_measures_in_stretches_so_windows_and_sessions_have_several_readings(a_day: Day) -> None:
    in_windows = Counter(row["reads"] for row in means(a_day.read))
    assert sum(count for reads, count in in_windows.items() if reads > 1) > 0.5 * in_windows.total()
    in_sessions = [row["reads"] for row in sessions(a_day.read)]
    assert 8 < sum(in_sessions) / len(in_sessions) < 30


def test_gateways_go_offline_and_deliver_together_what_they_kept(a_day: Day) -> None:
    kept: dict[int, list[int]] = defaultdict(list)
    for line in a_day.read.of_kind("temperature_read"):
        received = line.times["received_at"]
        if received is not None and line.delay > 10 * MINUTE:
            kept[int(line.said["sensor_id"][-4:]) % 20].append(received)
    assert len(kept) > 10, "few of the 20 gateways were ever offline"
    assert sum(map(len, kept.values())) > 3_000
    for gateway in kept.values():
        times = sorted(gateway)
        bursts = 1 + sum(later - earlier > MINUTE for earlier, later in pairwise(times))
        assert len(times) / bursts > 5


def test_clocks_drift_past_what_is_tolerated_and_are_set_again(a_day: Day) -> None:
    errors: dict[int, list[int]] = defaultdict(list)
    for line in a_day.read.of_kind("temperature_read"):
        sent, received = line.times["sent_at"], line.times["received_at"]
        if sent is not None and received is not None:
            errors[int(line.said["sensor_id"][-4:]) % 20].append(sent - received)
    drifting = {gateway: found for gateway, found in errors.items() if max(map(abs, found)) > 30 * SECOND}
    assert 2 <= len(drifting) <= 4
    for found in drifting.values():
        assert min(map(abs, found)) < 10 * SECOND, "never right"
        assert max(found) - min(found) > 30 * SECOND
    assert max(map(max, drifting.values())) > 5 * MINUTE and min(map(min, drifting.values())) < -5 * MINUTE
    slow = [abs(error) for gateway, found in errors.items() if gateway not in drifting for error in found]
    assert max(slow) < 30 * SECOND


def test_some_readings_say_no_sensor(a_day: Day) -> None:
    assert a_day.read.rejected.count("no sensor_id") == 200
    assert sum(b'"sensor_id": null' in line for line in a_day.read.lines) > 50


def test_lines_are_broken_in_every_way(a_day: Day) -> None:
    assert {*a_day.read.rejected} == {
        "empty", "not JSON", "unknown kind", "temperature is wrong", "no zone", "future", "before 2000", "no sensor_id",
    }  # fmt: skip
    assert a_day.read.rejected.count("temperature is wrong") > 3 * a_day.read.rejected.count("empty")
    assert len(BREAKAGES) == 11


def test_copies_come_soon_or_hours_later_and_contradictions_in_the_temperature(a_day: Day) -> None:
    times = Counter(copy.id for copy in a_day.read.copies)
    assert 0.028 < len(times) / 100_000 < 0.032 and set(times.values()) == {1, 2}
    apart = [copy.delay - a_day.read.events[copy.id].delay for copy in a_day.read.copies]
    assert min(apart) < MINUTE and max(apart) > 2 * HOUR
    assert len(a_day.read.contradictions) == 10
    for other in a_day.read.contradictions:
        first = a_day.read.events[other.id]
        assert {name for name in first.content if other.content[name] != first.content[name]} == {"temperature"}


def test_moves_are_told_at_once_or_hours_later_and_some_in_the_moment_of_a_reading(a_day: Day) -> None:
    moves = a_day.read.of_kind("sensor_moved")
    late = sum(move.delay > 5 * MINUTE for move in moves) / len(moves)
    assert 0.3 < late < 0.6 and max(move.delay for move in moves) > 4 * HOUR
    reads = {(line.said["sensor_id"], line.times["occurred_at"]) for line in a_day.read.of_kind("temperature_read")}
    tied = sum((move.said["sensor_id"], move.times["occurred_at"]) in reads for move in moves)
    assert tied > 20


def test_a_sensor_that_nobody_has_placed_yet_is_in_no_room_and_most_are_placed(a_day: Day) -> None:
    rows = [*hours(a_day.read)]
    nowhere = sum(row["reads"] for row in rows if row["room_id"] == "none")
    assert 0 < nowhere < 0.2 * sum(row["reads"] for row in rows)
    assert len({row["room_id"] for row in rows}) == 41


def test_temperatures_are_those_of_rooms_and_of_cold_stores(a_day: Day) -> None:
    values = [row["mean"] for row in means(a_day.read)]
    assert any(value.startswith("-") for value in values)
    assert max(map(float, values)) < 30 and min(map(float, values)) > -25
    assert {len(str(line.said["temperature"]).partition(".")[2]) for line in a_day.read.of_kind("temperature_read")} == {
        0, 1, 2,
    }  # fmt: skip


def test_a_landing_directory_with_files_is_refused(tmp_path: Path) -> None:
    (tmp_path / "mine.jsonl").write_text("{}\n")
    for let_land in (lambda: simulate(tmp_path), lambda: fed(tmp_path, seconds=1, rate=8)):
        with pytest.raises(LandingNotEmpty, match="mine"):
            let_land()


WRONG: list[tuple[str, Callable[[Path], Delivered]]] = [
    ("start", lambda path: simulate(path, start=datetime(2026, 3, 1))),  # noqa: DTZ001
    *((name, lambda path, name=name: simulate(path, **{name: 0})) for name in ("events", "senders", "files", "hours")),
    *((name, lambda path, name=name: fed(path, seconds=1, **{"rate": 8, name: 0})) for name in ("rate", "senders")),
]  # fmt: skip


@pytest.mark.parametrize(("name", "let_land"), WRONG)
def test_a_size_that_makes_no_sense_is_named(tmp_path: Path, name: str, let_land: Callable[[Path], Delivered]) -> None:
    with pytest.raises(ValueError, match=name):
        let_land(tmp_path)


def test_windows_and_gaps_are_those_of_the_declarations() -> None:
    assert (WINDOW, GAP) == (5 * SECOND, MINUTE)
