"""What comes up is told: on the terminal as lines that tick, in the lake as a note that says nothing once its writer is gone."""

import io
import re
import subprocess
import sys
from pathlib import Path

import pytest
from rich.console import Console

from cli.starting import BATCH, SERVER, SPARK, VERDICTS, Starting, parts_of, stream_of
from lakehouse.lake import Lake, create_lake
from serving.starting import starting

RESULTS = ("team_scores", "level_ups")
NARROW = 80


@pytest.fixture
def lake(tmp_path: Path) -> Lake:
    return create_lake(tmp_path / "lake")


def coming_up(lake: Lake, shown: io.StringIO, *, stream_only: bool = False) -> Starting:
    return Starting(lake, Console(file=shown, width=NARROW), parts_of(RESULTS, stream_only=stream_only))


def told(lake: Lake) -> dict[str, tuple[str, str]]:
    return {each["name"]: (each["state"], each["said"]) for each in starting(lake)["parts"]}


def test_from_the_start_the_lake_says_what_will_come_and_what_each_waits_for(lake: Lake) -> None:
    coming_up(lake, io.StringIO())
    assert list(told(lake)) == [
        "Server", "Simulator", "Ingestion", "Spark", "Stream of team_scores", "Stream of level_ups",
        "Batch layer", "Verdict on the stream", "Control", "Verdict on the control",
    ]  # fmt: skip
    assert told(lake)[stream_of("team_scores")] == ("waiting", "waits for Spark and for events")
    assert starting(lake)["seconds"] < 60


def test_without_batch_and_control_nobody_waits_for_them(lake: Lake) -> None:
    coming_up(lake, io.StringIO(), stream_only=True)
    assert list(told(lake))[-1] == stream_of("level_ups")


def test_a_part_begins_and_is_ready_once_in_the_lake_and_on_the_terminal(lake: Lake) -> None:
    shown = io.StringIO()
    parts = coming_up(lake, shown)
    parts.begins(SPARK, "starts")
    assert told(lake)[SPARK] == ("starting", "starts")
    parts.ready(SPARK, "has started")
    parts.ready(SPARK, "has started again")
    parts.begins(SPARK, "starts again")
    assert told(lake)[SPARK] == ("ready", "has started")
    assert re.fullmatch(r"✓   \d s Spark: has started\n", shown.getvalue())
    assert not parts.over


def test_a_round_that_goes_on_tells_what_it_does_and_keeps_its_seconds(lake: Lake) -> None:
    parts = coming_up(lake, io.StringIO())
    parts.begins(BATCH, "computes team_scores")
    before = starting(lake)["parts"]
    parts.begins(BATCH, "computes level_ups")
    assert told(lake)[BATCH] == ("starting", "computes level_ups")
    seconds = [
        next(each["seconds"] for each in found if each["name"] == BATCH) for found in (before, starting(lake)["parts"])
    ]
    assert seconds[0] <= seconds[1]


def test_all_is_over_when_every_part_is_ready_and_then_the_note_can_go(lake: Lake) -> None:
    parts = coming_up(lake, io.StringIO())
    for name in parts_of(RESULTS, stream_only=False):
        parts.ready(name, "is there")
    assert parts.over
    parts.forget()
    assert starting(lake) == {"seconds": None, "parts": []}


def test_the_lines_of_a_terminal_tell_what_comes_up_and_what_waits_within_80_columns(lake: Lake) -> None:
    parts = coming_up(lake, io.StringIO())
    parts.ready(SERVER, "answers")
    parts.begins(SPARK, "starts")
    parts.begins(VERDICTS["kappa"], "compares with batch " + "and so on " * 20)
    drawn = io.StringIO()
    Console(file=drawn, width=NARROW).print(parts)
    lines = drawn.getvalue().splitlines()
    assert [line[2:7] for line in lines[:2]] == ["Spark", "Verdi"]
    assert lines[0].endswith("starts … 0 s")
    assert re.match(r"  \d s in all; then Simulator, Ingestion, Stream of team_scores", lines[2])
    assert len(lines) == 3 and all(len(line) <= NARROW for line in lines)


def test_the_note_of_a_command_that_was_killed_says_nothing(lake: Lake) -> None:
    script = """
import os, sys, signal
from pathlib import Path
from rich.console import Console
from cli.starting import Starting
from lakehouse.lake import open_lake
Starting(open_lake(Path(sys.argv[1])), Console(), {"Spark": ""})
os.kill(os.getpid(), signal.SIGKILL)
"""
    subprocess.run([sys.executable, "-c", script, str(lake.path)], check=False)
    assert (lake.path / "starting.json").exists()
    assert starting(lake) == {"seconds": None, "parts": []}
