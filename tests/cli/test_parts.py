"""Parts that run side by side: the first that fails stops the others and is named; a directory in use is not cleared."""

import os
import signal
import threading
from pathlib import Path

import pytest
from game import GAME

from cli.fresh import at_work, fresh
from cli.parts import PartFailed, Parts, interrupted_by_signals
from lakehouse.errors import AlreadyRunning, ParityError

LONG = 20.0


def fails() -> None:
    raise ValueError("the disk is full\nand more")


def test_a_part_that_fails_stops_the_others_and_is_named() -> None:
    parts = Parts()
    parts.start("stream", lambda: parts.stop.wait(LONG))
    parts.start("ingestion", fails)
    assert parts.stop.wait(LONG)
    assert parts.running(LONG) == []
    with pytest.raises(
        PartFailed, match="The ingestion failed, so everything was stopped. ValueError: the disk is full$"
    ):
        parts.refuse_failure()


def test_what_a_part_complains_of_while_it_is_stopped_is_no_failure() -> None:
    parts = Parts()

    def complains() -> None:
        parts.stop.wait(LONG)
        fails()

    parts.start("batch layer", complains)
    parts.stop.set()
    assert parts.running(LONG) == []
    parts.refuse_failure()


def test_a_part_that_repeats_goes_on_until_it_is_stopped() -> None:
    parts, times = Parts(), []

    def again() -> None:
        times.append(len(times))
        if len(times) == 3:
            parts.stop.set()

    parts.repeat("control", again, every=0.0)
    assert parts.running(LONG) == []
    assert times == [0, 1, 2]


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_the_first_signal_interrupts_and_a_second_one_does_not(number: signal.Signals) -> None:
    before = signal.getsignal(signal.SIGTERM)
    with interrupted_by_signals():
        with pytest.raises(KeyboardInterrupt):
            os.kill(os.getpid(), number)
            threading.Event().wait(LONG)
        os.kill(os.getpid(), signal.SIGINT)
        os.kill(os.getpid(), signal.SIGTERM)
    assert signal.getsignal(signal.SIGTERM) is before


def test_a_directory_of_the_same_command_is_cleared(tmp_path: Path) -> None:
    made = fresh(tmp_path / "live", GAME, command="live")
    (made.path / "landing").mkdir()
    again = fresh(tmp_path / "live", GAME, command="live")
    assert again.path == made.path
    assert not (again.path / "landing").exists()


def test_a_directory_that_another_run_is_at_work_in_is_left_alone(tmp_path: Path) -> None:
    made = fresh(tmp_path / "live", GAME, command="live")
    refused = pytest.raises(AlreadyRunning, match="Another `parity live` is at work in .*live. Stop it")
    with at_work(made.path, command="live"), refused:
        fresh(tmp_path / "live", GAME, command="live")
    assert (made.path / "parity.json").exists()


def test_a_directory_of_another_command_is_left_alone(tmp_path: Path) -> None:
    fresh(tmp_path / "demo", GAME, command="demo")
    with pytest.raises(ParityError, match="not made by `parity live`, so it is not cleared"):
        fresh(tmp_path / "demo", GAME, command="live")
