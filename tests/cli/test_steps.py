"""What a person sees while waiting: seconds that tick, which step of how many, and an estimate where one can be made."""

import inspect
import io
import re
import subprocess
import sys
import threading
import time
from pathlib import Path

import pytest
from rich.console import Console

from cli import demonstrate
from cli.steps import Estimate, Steps, left_of, step

WIDTH = 80


def terminal() -> tuple[Console, io.StringIO]:
    shown = io.StringIO()
    return Console(file=shown, force_terminal=True, width=WIDTH, legacy_windows=False), shown


def frames(shown: io.StringIO) -> list[str]:
    """The lines that were drawn, without what moves the cursor and colours them."""
    return [line for line in re.split(r"[\r\n]+", re.sub(r"\x1b\[[0-9;?]*[A-Za-z]", "", shown.getvalue())) if line]


def shows(shown: io.StringIO, words: str, seconds: float = 20) -> None:
    deadline = time.monotonic() + seconds
    while not any(re.search(words, frame) for frame in frames(shown)):
        assert time.monotonic() < deadline, f"{words!r} was not shown, but {frames(shown)}"
        time.sleep(0.05)


def test_a_step_that_runs_shows_seconds_that_tick_and_which_of_how_many_it_is() -> None:
    console, shown = terminal()
    steps = Steps(console, 22)
    for _ in range(4):
        with steps("Simulate"):
            pass
    with steps("Recompute level_ups in batch"):
        shows(shown, r"Recompute level_ups in batch … 0 s · step 5 of 22")
        shows(shown, r"Recompute level_ups in batch … 1 s · step 5 of 22")
    assert re.fullmatch(r"✓ Recompute level_ups in batch \d\.\d s · step 5 of 22", frames(shown)[-1])


def test_how_much_is_done_is_shown_whether_it_is_told_or_looked_for() -> None:
    console, shown = terminal()
    with step(console, "Events into team_scores@2") as told:
        told(2_500, 20_000)
        shows(shown, r"2,500 of 20,000")
    with step(console, "Stream", look=lambda: (3, 13)):
        shows(shown, r"Stream … 1 s · 3 of 13")


def test_what_cannot_be_looked_at_yet_is_no_failure_of_the_step() -> None:
    console, shown = terminal()
    asked: list[int] = []

    def look() -> tuple[int, int]:
        asked.append(1)
        if len(asked) == 1:
            raise FileNotFoundError("the table is not there yet")
        return 1, 4

    with step(console, "Stream", look=look):
        shows(shown, "1 of 4")
    assert frames(shown)[-1].startswith("✓ Stream")


def test_a_sentence_that_is_too_long_gives_way_to_the_seconds_on_80_columns() -> None:
    console, shown = terminal()
    steps = Steps(console, 22)
    with steps(f"Stream {', '.join(f'result_{number}' for number in range(13))}"):
        shows(shown, r"… 0 s · step 1 of 22$")
    assert all(len(frame) <= WIDTH for frame in frames(shown))


def test_without_a_terminal_each_step_is_one_line_without_control_codes(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("cli.steps.LOOKED_EVERY", 0.01)
    shown = io.StringIO()
    steps = Steps(Console(file=shown, width=WIDTH), 2)
    asked: list[int] = []

    def look() -> tuple[int, int]:
        asked.append(1)
        return 1, 2

    with steps("Simulate", look=look):
        threading.Event().wait(0.3)
    with steps("Ingest"):
        pass
    assert re.fullmatch(r"✓ Simulate 0\.\d s · step 1 of 2\n✓ Ingest 0\.\d s · step 2 of 2\n", shown.getvalue())
    assert not asked


def test_a_step_that_fails_leaves_no_tick_mark() -> None:
    console, shown = terminal()
    with pytest.raises(OSError, match="full"), step(console, "Ingest"):
        raise OSError("the disk is full")
    assert "✓" not in shown.getvalue()
    assert shown.getvalue().endswith("\x1b[2K"), "the line that ticked is taken away"


def test_the_rest_is_estimated_from_what_this_run_did_and_not_from_what_it_found_done() -> None:
    estimate = Estimate(begun=0.0)
    assert estimate.words(5.0) == []
    estimate.told(6_000, 10_000, at=10.0)
    assert estimate.words(12.0) == ["6,000 of 10,000"]
    estimate.told(8_000, 10_000, at=30.0)
    assert estimate.words(30.0) == ["8,000 of 10,000", "about 20 s left"]
    assert estimate.words(45.0) == ["8,000 of 10,000", "about 5 s left"]
    assert estimate.words(55.0) == ["8,000 of 10,000"], "an estimate that was exceeded is none"
    estimate.told(10_000, 10_000, at=60.0)
    assert estimate.words(60.0) == ["10,000 of 10,000"]


def test_steps_of_a_kind_are_estimated_from_the_usual_length_of_those_before() -> None:
    assert left_of(13, [9.0], passed=1.0) == ""
    assert left_of(13, [9.0, 2.0, 2.0], passed=1.0) == "about 19 s left of these 13"
    assert left_of(13, [12.0] * 3, passed=2.0) == "about 1 min 58 s left of these 13"
    assert left_of(3, [2.0, 2.0], passed=7.0) == ""


def test_what_is_said_while_spark_starts_reaches_the_terminal_and_not_sparks_log(tmp_path: Path) -> None:
    script = """
import os, sys
from pathlib import Path
from cli.console import notes
from cli.terminal import apart
from lakehouse.session import _output_to
with apart(notes), _output_to(Path(sys.argv[1])):
    notes.print("1 s")
    os.write(2, b"of the JVM")
notes.print("after it")
"""
    log = tmp_path / "spark.log"
    done = subprocess.run([sys.executable, "-c", script, str(log)], capture_output=True, text=True, check=True)
    assert done.stderr == "1 s\nafter it\n"
    assert log.read_text() == "of the JVM"


def test_the_demo_knows_how_many_steps_it_has() -> None:
    told = inspect.getsource(demonstrate.demo)
    assert told.count("with step(") + told.count("step=step") == demonstrate.BESIDE_RECOMPUTE
    assert told.count("with recomputing(") == 1
