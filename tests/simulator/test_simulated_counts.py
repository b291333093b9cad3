"""What a run says that it delivered is what a second parser finds in its files."""

from collections.abc import Callable
from datetime import timedelta

import pytest
from simulated import Simulated

Run = Callable[..., Simulated]


def check(run: Simulated) -> None:
    said = run.delivered
    assert said.files == len(list(run.directory.iterdir()))
    assert said.lines == len(run.lines)
    assert said.events == len(run.events)
    assert said.duplicates == len(run.copies)
    assert said.conflicting_copies == len(run.contradictions)
    assert said.malformed == sum(map(len, run.rejected.values()))
    assert said.future == len(run.rejected["future"])
    assert said.skewed == sum(line.clock_error != timedelta(0) for line in run.well_formed)
    assert said.lines == said.events + said.duplicates + said.quarantined


def test_the_default_run_counts_its_lines_exactly(a_day: Simulated) -> None:
    check(a_day)
    assert a_day.delivered.events == 100_000


@pytest.mark.parametrize(
    "options",
    [
        {"events": 1},
        {"events": 50, "senders": 1, "hours": 0.01},
        {"events": 999, "senders": 3, "files": 7},
        {"events": 4_321, "hours": 100.0, "seed": 3},
        {"events": 20_000, "hours": 2.0, "senders": 40, "seed": 11},
    ],
)
def test_a_run_of_another_size_makes_exactly_the_events_asked_for(run: Run, options: dict[str, int]) -> None:
    simulated = run("other", **options)
    check(simulated)
    assert simulated.delivered.events == options["events"]


def test_late_counts_the_events_that_took_more_than_five_minutes(a_day: Simulated) -> None:
    late = sum(event.delay > timedelta(minutes=5) for event in a_day.events.values())
    # Lines that do not say when they were received, about 0.7 %, cannot be counted from outside.
    assert late <= a_day.delivered.late <= late * 1.03
