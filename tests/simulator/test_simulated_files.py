"""Landing files appear whole, in the order of arrival, in a directory that was empty."""

from bisect import bisect_right
from collections.abc import Callable
from datetime import datetime
from itertools import pairwise
from pathlib import Path

import pytest
from simulated import Simulated

from simulator.game import simulate
from simulator.landing import Landing, LandingNotEmpty

Run = Callable[..., Simulated]


def test_the_files_are_numbered_and_of_about_equal_size(a_day: Simulated) -> None:
    paths = sorted(a_day.directory.iterdir())
    sizes = [path.read_bytes().count(b"\n") for path in paths]
    assert [path.name for path in paths] == [f"{number:05d}.jsonl" for number in range(48)]
    assert max(sizes) - min(sizes) <= 1


def test_the_lines_are_in_the_order_of_reception(a_day: Simulated) -> None:
    received = [text.partition('"received_at": "')[2][:24] for text in a_day.lines]
    complete = [time for time in received if time.endswith("Z")]
    assert len(complete) > 100_000
    rising: list[str] = []  # the ends of the longest runs that rise: those that are not in one have a wrong time
    for time in complete:
        place = bisect_right(rising, time)
        rising[place : place + 1] = [time]
    assert 0 < len(complete) - len(rising) < 0.001 * len(complete)


def test_the_modification_times_rise_with_the_names_and_follow_the_arrivals(a_day: Simulated) -> None:
    paths = sorted(a_day.directory.iterdir())
    modified = [path.stat().st_mtime for path in paths]
    assert all(later - earlier >= 1 for earlier, later in pairwise(modified))
    for path, time in zip(paths, modified, strict=True):
        received = [line for line in path.read_text().splitlines() if line.endswith('Z"}')][-1][-26:-2]
        assert -0.001 <= time - datetime.fromisoformat(received).timestamp() < 600


def test_files_that_close_within_one_second_are_dated_a_second_apart(run: Run) -> None:
    simulated = run("dense", events=300, hours=0.001, files=40)
    modified = [path.stat().st_mtime_ns for path in sorted(simulated.directory.iterdir())]
    assert len(modified) == 40
    assert all(later - earlier >= 10**9 for earlier, later in pairwise(modified))


def test_a_file_is_hidden_until_it_is_complete(tmp_path: Path) -> None:
    with Landing(tmp_path, files=1, lines=2) as landing:
        landing.add("first", arrives=1_000)
        assert [path.name[0] for path in tmp_path.iterdir()] == ["."]
        landing.add("second", arrives=1_500)
        assert [path.name for path in tmp_path.iterdir()] == ["00000.jsonl"]
    assert (tmp_path / "00000.jsonl").read_text() == "first\nsecond\n"
    assert (tmp_path / "00000.jsonl").stat().st_mtime == 2


def test_every_file_that_can_be_seen_during_a_run_is_complete(tmp_path: Path) -> None:
    seen: dict[str, tuple[int, int]] = {}

    def look(_done: int, _total: int) -> None:
        for path in tmp_path.glob("[!.]*.jsonl"):
            facts = (path.stat().st_size, path.stat().st_mtime_ns)
            assert seen.setdefault(path.name, facts) == facts

    simulate(tmp_path, events=10_000, files=10, on_progress=look)
    assert len(seen) >= 8


def test_a_run_that_fails_leaves_no_part_of_a_file(tmp_path: Path) -> None:
    def stop(_done: int, _total: int) -> None:
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        simulate(tmp_path, events=5_000, on_progress=stop)
    assert all(path.name.endswith(".jsonl") and path.name[0] != "." for path in tmp_path.iterdir())


def test_a_landing_directory_with_files_is_refused_with_what_to_do(tmp_path: Path) -> None:
    (tmp_path / "mine.jsonl").write_text("{}\n")
    with pytest.raises(LandingNotEmpty, match=r"already holds 1 .*mine\.jsonl: choose an empty directory"):
        simulate(tmp_path, events=10)
    assert [path.name for path in tmp_path.iterdir()] == ["mine.jsonl"]


def test_there_are_never_more_files_than_lines(run: Run) -> None:
    assert run("tiny", events=10, files=48).delivered.files == 10


def test_progress_ends_with_all_events(tmp_path: Path) -> None:
    told: list[tuple[int, int]] = []
    simulate(tmp_path, events=2_500, on_progress=lambda done, total: told.append((done, total)))
    assert told == [(1_000, 2_500), (2_000, 2_500), (2_500, 2_500)]


@pytest.mark.parametrize(
    "wrong",
    [{"events": 0}, {"senders": 0}, {"files": 0}, {"hours": 0.0}, {"start": datetime(2026, 3, 1)}],  # noqa: DTZ001
)
def test_a_setting_that_makes_no_sense_is_named(tmp_path: Path, wrong: dict[str, object]) -> None:
    with pytest.raises(ValueError, match=next(iter(wrong))):
        simulate(tmp_path, **wrong)  # type: ignore[arg-type]
