"""What is judged of a load: memory and state against what they were before the burst, and whether anything landed at all."""

import time
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

import pytest
from pytest import MonkeyPatch

import chaos.load
from chaos.load import FEWEST, LIMIT, MEGABYTE, PACE, SAMPLE, Sample, burst_of, files_for, paced
from chaos.violation import Violation

HOUR = 60.0


def hour(minutes: float = HOUR) -> list[Sample]:
    """A run as it should be: its memory stays, files land at their pace, half-way as many at once."""
    seconds = minutes * 60
    times = [SAMPLE * n for n in range(1, int(seconds / SAMPLE) + 1)]
    return [
        Sample(
            at, 400 * MEGABYTE, 900 * MEGABYTE, 5 * MEGABYTE,
            landed=30 + paced(at) + (burst_of(seconds) if at >= seconds / 2 else 0),
            waiting=300 if at == seconds / 2 else 0,
        )
        for at in times
    ]  # fmt: skip


def judged(samples: Sequence[Sample], minutes: float = HOUR) -> str:
    return chaos.load._judged(samples, minutes)


def changed(change: Callable[[Sample], dict[str, Any]]) -> list[Sample]:
    return [replace(sample, **change(sample)) for sample in hour()]


def test_a_run_that_holds_what_it_held_is_told() -> None:
    assert judged(hour()) == (
        "60 minutes of load, and as much again at once: up to 300 landing files waited on disk, 0 at the end; ingest 400 MB "
        "before the burst, 400 MB at the end, 400 MB at most, stream 900 MB before the burst, 900 MB at the end, 900 MB at "
        "most, state 5 MB before the burst, 5 MB at the end, 5 MB at most"
    )


@pytest.mark.parametrize("name", ["ingest", "stream", "state"])
def test_what_grows_with_the_run_is_a_violation(name: str) -> None:
    grows = changed(lambda each: {name: 100 * MEGABYTE + round(each.at * 0.05 * MEGABYTE)})
    with pytest.raises(Violation, match=f"{name} grew from .* MB in 60 minutes"):
        judged(grows)


def test_what_grows_a_little_or_early_does_not_matter() -> None:
    judged(changed(lambda each: {"state": round(each.at * 0.01 * MEGABYTE)}))
    judged(changed(lambda each: {"stream": 300 * MEGABYTE + round(min(each.at, 900) * 0.5 * MEGABYTE)}))


def test_more_than_a_process_may_hold_is_a_violation() -> None:
    with pytest.raises(Violation, match="ingest held 1537 MB, more than 1536"):
        judged(changed(lambda each: {"ingest": LIMIT + MEGABYTE if each.at == 1800 else 400 * MEGABYTE}))


def test_a_run_that_runs_dry_is_a_violation() -> None:
    """As it was: after the burst there was nothing left to land, and the end of the run measured idleness."""
    dry = changed(lambda each: {"landed": min(each.landed, 928)})
    with pytest.raises(Violation, match=r"nothing landed from 1800 s to 1865 s of the load, 928 files in all"):
        judged(dry)


def test_a_pause_in_which_nothing_lands_is_a_violation() -> None:
    paused = changed(
        lambda each: {"landed": each.landed - paced(each.at) + paced(min(each.at, 600 + max(each.at - 700, 0)))}
    )
    with pytest.raises(Violation, match="nothing landed from 600 s to 665 s"):
        judged(paused)


def test_a_burst_that_is_missing_or_a_pace_that_is_too_slow_is_a_violation() -> None:
    with pytest.raises(Violation, match=r"600 files landed during the load, and 1200 had to"):
        judged(changed(lambda each: {"landed": 30 + paced(each.at)}))
    with pytest.raises(Violation, match=r"files landed during the load, and 1200 had to"):
        judged(changed(lambda each: {"landed": each.landed - paced(each.at) // 3}))


def test_a_run_that_was_hardly_looked_at_is_a_violation() -> None:
    assert judged(hour(1), 1)
    with pytest.raises(Violation, match="looked at 5 times in 60 s"):
        judged(hour(1)[: FEWEST - 1], 1)


class Deliveries:
    landed = 0

    def one(self) -> None:
        self.landed += 1


class Systems:
    def __init__(self) -> None:
        self.deliveries = Deliveries()


def test_files_land_at_their_pace_however_long_a_look_takes(monkeypatch: MonkeyPatch) -> None:
    """Each look takes as long as two files need: the next ones land at once, and all that was planned has landed in the end."""
    now, system = [0.0], Systems()

    def looked(_: Any, at: float) -> Sample:
        now[0] += 2 * PACE
        return Sample(at, 0, 0, 0, landed=system.deliveries.landed, waiting=0)

    def slept(seconds: float) -> None:
        now[0] += seconds

    monkeypatch.setattr(time, "monotonic", lambda: now[0])
    monkeypatch.setattr(time, "sleep", slept)
    monkeypatch.setattr(chaos.load, "_sample", looked)
    samples = list(chaos.load._sampled(system, 600.0))  # type: ignore[arg-type]
    assert files_for(10) - 3 <= system.deliveries.landed <= files_for(10)
    assert judged(samples, 10)
