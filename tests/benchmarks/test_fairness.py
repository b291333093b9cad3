"""What makes a benchmark fair: who comes first changes, and a queue that grows is not called sustained."""

import pytest

from benchmarks.backlog import Sample, sustained
from benchmarks.run import turns

RATE = 100.0


def samples(waiting: list[float], delivered: float = RATE) -> list[Sample]:
    """Ten seconds apart, at the rate, with so much waiting at each."""
    found = []
    for number, each in enumerate(waiting):
        landed = int(number * 10 * delivered)
        found.append(Sample(number * 10, landed, int(landed - each), int(landed - each), int(landed - each), {}))
    return found


def test_every_way_comes_first_as_often_as_the_others() -> None:
    orders = turns(["engine", "steps", "batch"], 6)
    for place in range(3):
        assert sorted(order[place] for order in orders) == sorted(["engine", "steps", "batch"] * 2)


def test_a_steady_backlog_is_sustained_however_long_it_is() -> None:
    assert sustained(samples([5000.0] * 12), RATE)
    assert sustained(samples([0, 900, 0, 900, 0, 900, 0, 900, 0, 900, 0, 900]), RATE)


@pytest.mark.parametrize("growth", [30.0, 100.0, 1000.0])
def test_a_backlog_that_grows_is_not(growth: float) -> None:
    assert not sustained(samples([number * growth for number in range(12)]), RATE)


def test_a_lander_that_is_too_slow_shows_nothing() -> None:
    assert not sustained(samples([0.0] * 12, delivered=RATE * 0.9), RATE)
    assert not sustained(samples([0.0]), RATE)
