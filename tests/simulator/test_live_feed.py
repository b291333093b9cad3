"""The game as it goes on: a backlog, then files in step with a clock that the test turns, at a steady rate."""

import gc
import random
import tracemalloc
from collections import Counter
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from itertools import islice, pairwise
from pathlib import Path
from statistics import mean

import pytest
from simulated import Simulated, read

from simulator.game import feed
from simulator.game.feed import Game
from simulator.game.rhythm import SERVER
from simulator.game.tempo import steady
from simulator.landing import LandingNotEmpty

MINUTES = timedelta(minutes=1)
BEGUN = datetime(2026, 3, 1, 3, 0, 20, tzinfo=UTC)
"""Three in the morning, when a day of the game is at its quietest."""
Fed = Callable[..., Simulated]


class Turned:
    """A clock that goes on while somebody waits, and says stop after `seconds`."""

    def __init__(self, seconds: float) -> None:
        self.now = BEGUN
        self._end = BEGUN + timedelta(seconds=seconds)

    def clock(self) -> datetime:
        return self.now

    def wait(self, seconds: float) -> bool:
        self.now += timedelta(seconds=seconds)
        return self.now > self._end


@pytest.fixture
def fed(tmp_path: Path) -> Fed:
    def in_directory(name: str, *, seconds: float, **options: object) -> Simulated:
        turned, landing = Turned(seconds), tmp_path / name
        said = feed(landing, clock=turned.clock, wait=turned.wait, **options)  # type: ignore[arg-type]
        return read(landing, said)

    return in_directory


@pytest.fixture(scope="module")
def an_hour(tmp_path_factory: pytest.TempPathFactory) -> Simulated:
    """The backlog of an hour and five minutes more, at the default rate of `parity live`."""
    turned, landing = Turned(300), tmp_path_factory.mktemp("fed")
    return read(landing, feed(landing, rate=8, clock=turned.clock, wait=turned.wait))


def modified(path: Path) -> datetime:
    return datetime.fromtimestamp(path.stat().st_mtime_ns // 1_000_000 / 1000, UTC)


def test_what_it_says_that_it_delivered_is_what_a_second_parser_finds(an_hour: Simulated) -> None:
    said = an_hour.delivered
    assert (said.files, said.lines) == (len(list(an_hour.directory.iterdir())), len(an_hour.lines))
    assert (said.events, said.duplicates) == (len(an_hour.events), len(an_hour.copies))
    assert (said.conflicting_copies, said.malformed) == (
        len(an_hour.contradictions),
        sum(map(len, an_hour.rejected.values())),
    )
    assert min(said.duplicates, said.conflicting_copies, said.malformed, said.skewed, said.late) > 0


def test_the_backlog_lands_first_and_is_dated_when_it_arrived(an_hour: Simulated) -> None:
    paths = sorted(an_hour.directory.iterdir())
    times = [modified(path) for path in paths]
    assert times == sorted(times)
    assert [time for time in times if time <= BEGUN] == [BEGUN - timedelta(minutes=60 - n) for n in range(1, 61)]
    halves = [BEGUN + timedelta(milliseconds=500 * n) for n in range(1, 601)]
    assert set(times[60:]) <= set(halves) and len(times[60:]) > 0.9 * len(halves)  # nothing arrives in some of them
    said = [(line, times[line.file]) for line in an_hour.well_formed if line.received_at is not None]
    wrong = [
        line for line, time in said if line.received_at and not line.received_at < time <= line.received_at + MINUTES
    ]
    assert 0 < len(wrong) < 0.001 * len(said), "few servers are wrong about the time"


def test_the_rate_is_steady_at_any_hour(an_hour: Simulated) -> None:
    """All but what is still underground."""
    minutes = Counter(event.event_time.replace(second=0, microsecond=0) for event in an_hour.events.values())
    hour = (BEGUN - timedelta(minutes=59), BEGUN + timedelta(minutes=4))  # some phones are wrong about the time
    whole = [count for minute, count in sorted(minutes.items()) if hour[0] <= minute < hour[1]][1:-1]
    assert 0.85 * 480 < mean(whole) < 1.01 * 481
    assert min(whole) > 0.75 * 480


def test_some_minutes_of_a_team_come_to_500_bubbles_and_others_do_not(an_hour: Simulated) -> None:
    bubbles: Counter[tuple[str, datetime]] = Counter()
    for pop in an_hour.of_kind("bubbles_popped"):
        bubbles[str(pop.record["team_id"]), pop.event_time.replace(second=0, microsecond=0)] += pop.bubbles
    reached = sum(count >= 500 for count in bubbles.values())
    assert 0.3 < reached / len(bubbles) < 0.8


def test_every_kind_of_event_and_players_of_every_team_are_there(an_hour: Simulated) -> None:
    kinds = {"bubbles_popped", "offer_shown", "offer_clicked", "league_changed", "heartbeat"}
    assert {event.kind for event in an_hour.events.values()} == kinds
    assert len({pop.record["team_id"] for pop in an_hour.of_kind("bubbles_popped")}) == 5


def test_late_deliveries_cross_from_one_file_to_much_later_ones(an_hour: Simulated) -> None:
    late = [event for event in an_hour.events.values() if event.delay > timedelta(minutes=5)]
    assert len(late) > 100
    assert max(event.delay for event in late) > timedelta(minutes=20)


def test_the_same_seed_and_clock_give_the_same_files(fed: Fed) -> None:
    one, two = (fed(name, seconds=20, rate=30, back=timedelta(minutes=2)) for name in ("one", "two"))
    contents = [
        [(path.name, modified(path), path.read_bytes()) for path in sorted(run.directory.iterdir())]
        for run in (one, two)
    ]
    assert contents[0] == contents[1]
    assert fed("three", seconds=20, rate=30, back=timedelta(minutes=2), seed=8).lines != one.lines


def test_how_the_waiting_is_cut_changes_no_line(fed: Fed) -> None:
    often, seldom = (
        fed(str(millis), seconds=30, rate=50, back=timedelta(0), every=timedelta(milliseconds=millis))
        for millis in (200, 3_000)
    )
    assert often.lines == seldom.lines
    assert often.delivered.files > 3 * seldom.delivered.files


def test_a_machine_that_slept_lands_what_it_missed_in_one_file(tmp_path: Path) -> None:
    class Slept(Turned):
        def wait(self, seconds: float) -> bool:
            nap = 600.0 if BEGUN + timedelta(seconds=5) <= self.now < BEGUN + timedelta(seconds=6) else 0.0
            return super().wait(seconds + nap)

    turned = Slept(620)
    feed(tmp_path, rate=20, clock=turned.clock, wait=turned.wait, back=timedelta(0))
    times = [modified(path) for path in sorted(tmp_path.iterdir())]
    gaps = [(later - earlier).total_seconds() for earlier, later in pairwise(times)]
    assert max(gaps) > 590
    assert sorted(gaps)[-2] <= 0.5


def test_the_slots_are_in_the_order_of_time_and_so_many_a_second() -> None:
    slots = list(islice(steady(random.Random(1), start=90_000, rate=2.5, shares=[3, 2]), 2_000))
    assert [slot.at for slot in slots] == sorted(slot.at for slot in slots)
    seconds = Counter((slot.at - 90_000) // 1000 for slot in slots if slot.team != SERVER)
    assert set(list(seconds.values())[:-1]) == {2, 3}
    beats = [slot.at for slot in slots if slot.team == SERVER]
    assert beats == [90_000, *range(120_000, beats[-1] + 1, 60_000)]


def test_its_memory_is_what_is_on_its_way_and_not_what_was_delivered() -> None:
    game = Game(seed=7, rate=30, players=200, start=BEGUN)
    moments = iter(range(30, 100_000, 30))

    def hold_after(calls: int) -> int:
        for moment in islice(moments, calls):
            game.arrived(BEGUN + timedelta(seconds=moment))
        gc.collect()
        return tracemalloc.get_traced_memory()[0]

    tracemalloc.start()
    try:
        before = hold_after(4)
        grown = hold_after(20) - before
    finally:
        tracemalloc.stop()
    # 18,000 events were delivered meanwhile, 6 MB of lines; 6 % of them are underground or wait to be sent again.
    assert grown < 2_000_000


def test_a_landing_directory_with_files_is_refused(tmp_path: Path) -> None:
    (tmp_path / "mine.jsonl").write_text("{}\n")
    turned = Turned(1)
    with pytest.raises(LandingNotEmpty, match="mine"):
        feed(tmp_path, rate=8, clock=turned.clock, wait=turned.wait)


@pytest.mark.parametrize(
    "wrong", [{"rate": 0}, {"back": timedelta(minutes=-1)}, {"every": timedelta(0)}, {"senders": 0}]
)
def test_a_setting_of_the_feed_that_makes_no_sense_is_named(tmp_path: Path, wrong: dict[str, object]) -> None:
    turned = Turned(1)
    with pytest.raises(ValueError, match=next(iter(wrong))):
        feed(tmp_path, clock=turned.clock, wait=turned.wait, **{"rate": 8, **wrong})  # type: ignore[arg-type]
