"""The operator: what each exit code becomes, and that nothing of a command outlives its task."""

import os
import signal
import subprocess
import sys
import textwrap
import time
from pathlib import Path
from typing import Any

import psutil
import pytest
from airflow.sdk.exceptions import AirflowException, AirflowFailException

import parity_command
from parity_command import ParityOperator, command_line, reason


class TaskInstance:
    def __init__(self) -> None:
        self.pushed: dict[str, Any] = {}

    def xcom_push(self, *, key: str, value: Any) -> None:
        self.pushed[key] = value


@pytest.fixture
def command(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Any:
    """Let `parity` be a script that prints and ends as a test says."""

    def says(*, answer: str = "", progress: str = "", code: int = 0, before: str = "") -> None:
        file = tmp_path / "parity"
        said = f"import sys\n{before}\nsys.stdout.write({answer!r})\nsys.stderr.write({progress!r})\nsys.exit({code})\n"
        file.write_text(f"#!{sys.executable}\n{said}")
        file.chmod(0o700)
        monkeypatch.setattr(parity_command, "PARITY", file)

    return says


def _ran(ti: TaskInstance | None = None, **options: Any) -> Any:
    operator = ParityOperator(task_id="task", command="reconcile", options={"lake": "lake"}, **options)
    return operator.execute({"ti": ti or TaskInstance()})


def test_an_answer_is_the_xcom(command: Any) -> None:
    command(answer="they agree\n", progress="✓ Reconcile 1.0 s\n")
    assert _ran() == "they agree"


def test_an_answer_in_json_is_taken_apart(command: Any) -> None:
    command(answer='{"log_version": 3}\n')
    assert _ran() == {"log_version": 3}


def test_a_difference_fails_at_once_with_the_verdict(command: Any) -> None:
    said = "✓ Reconcile 1.0 s\nVerdict: differ (team_scores@1, level_ups@2)\n"
    command(answer="team_scores differs\nThey differ in 3 keys.\n", progress=said, code=1)
    ti = TaskInstance()
    with pytest.raises(AirflowFailException, match="^They differ in 3 keys.\nteam_scores differs"):
        _ran(ti)
    assert ti.pushed == {"verdict": "They differ in 3 keys.", "found_in": ["team_scores@1", "level_ups@2"]}


def test_a_difference_that_was_asked_for_goes_on(command: Any) -> None:
    command(answer="3 keys differ\n", progress="Verdict: differ (team_scores@1, team_scores@2)\n", code=1)
    assert _ran(on_difference="goes on") == "3 keys differ"


def test_a_verdict_that_others_tell_goes_on_even_where_nothing_could_be_compared(command: Any) -> None:
    command(answer="too few keys\n", progress="Verdict: could not compare\n", code=2)
    goes_on: dict[str, Any] = {"on_difference": "goes on", "on_no_comparison": "goes on"}
    assert _ran(**goes_on) == "too few keys"
    with pytest.raises(AirflowException, match="exit code 2"):
        _ran(on_difference="goes on")
    command(progress="✗ NotALake: There is no lake at x.\n", code=2)
    with pytest.raises(AirflowException, match="NotALake"):
        _ran(**goes_on)


def test_a_difference_of_no_result_is_about_none(command: Any) -> None:
    command(answer="The audit does not balance.\n", progress="Verdict: differ\n", code=1)
    ti = TaskInstance()
    with pytest.raises(AirflowFailException):
        _ran(ti)
    assert ti.pushed["found_in"] == []


CRASH = "Traceback (most recent call last):\n  …\nModuleNotFoundError: No module named 'pyspark'\n"


@pytest.mark.parametrize("on_difference", ["fails", "goes on"])
@pytest.mark.parametrize("progress", ["", CRASH, f"Verdict: differ (team_scores@1)\n{CRASH}"])
def test_exit_code_1_without_a_verdict_is_a_crash(command: Any, on_difference: Any, progress: str) -> None:
    """Python ends with it when a program cannot be loaded: nothing was compared, and nobody is asked to approve it."""
    command(progress=progress, code=1)
    ti = TaskInstance()
    with pytest.raises(AirflowException, match="exit code 1") as raised:
        _ran(ti, on_difference=on_difference)
    assert not isinstance(raised.value, AirflowFailException), "a crash may be tried again"
    assert ti.pushed == {}


@pytest.mark.parametrize("code", [2, 3, 130])
def test_what_could_not_be_done_may_be_tried_again_and_says_why(command: Any, code: int) -> None:
    command(progress="✓ Spark starts\n✗ NotALake: There is no lake at x.\nSpark's log: y\n", code=code)
    with pytest.raises(AirflowException, match="NotALake: There is no lake at x.") as raised:
        _ran()
    assert not isinstance(raised.value, AirflowFailException)


def test_a_wrong_option_says_what_its_box_says() -> None:
    progress = "Usage: parity pin\n╭─ Error ─╮\n│ 'x' is not a  │\n│ time.         │\n╰─────────╯\n"
    assert reason(progress) == "'x' is not a time."


def test_more_progress_than_a_pipe_holds_does_not_block(command: Any) -> None:
    command(answer="a" * 200_000, progress="b\n" * 200_000)
    assert len(_ran()) == parity_command.LONGEST


def test_options_are_left_out_repeated_or_flags() -> None:
    options = {
        "lake": "l",
        "from": "",
        "to": None,
        "result": ["a", "b"],
        "rebuild": True,
        "force": False,
        "to-version": 0,
    }
    assert command_line("x", options) == [
        "parity", "x", "--lake", "l", "--result", "a", "--result", "b", "--rebuild", "--to-version", "0",
    ]  # fmt: skip


def test_a_task_that_is_stopped_stops_its_command(command: Any) -> None:
    command(before="import os, signal; os.kill(os.getppid(), signal.SIGUSR1); import time; time.sleep(60)")
    operator = ParityOperator(task_id="task", command="stream", options={"lake": "lake"})
    signal.signal(signal.SIGUSR1, lambda *_: operator.on_kill())
    with pytest.raises(AirflowException, match="exit code -15"):
        operator.execute({"ti": TaskInstance()})


def test_a_task_that_is_killed_takes_its_command_with_it(tmp_path: Path) -> None:
    """A retry must not meet the ghost of the try before: it would hold the lock of the stream."""
    noted = tmp_path / "pid"
    script = tmp_path / "parity"
    waiting = f"import os, time, pathlib\npathlib.Path({str(noted)!r}).write_text(str(os.getpid()))\ntime.sleep(60)\n"
    script.write_text(f"#!{sys.executable}\n{waiting}")
    script.chmod(0o700)
    task = textwrap.dedent(f"""
        import pathlib, parity_command
        parity_command.PARITY = pathlib.Path({str(script)!r})
        parity_command.ParityOperator(task_id="task", command="stream", options={{"lake": "x"}}).execute({{}})
    """)
    dags = Path(parity_command.__file__).parent
    process = subprocess.Popen([sys.executable, "-c", task], env={**os.environ, "PYTHONPATH": str(dags)})
    deadline = time.monotonic() + 60
    while not (noted.exists() and noted.read_text()):
        assert time.monotonic() < deadline and process.poll() is None
        time.sleep(0.05)
    child = psutil.Process(int(noted.read_text()))
    process.kill()
    process.wait()
    assert not psutil.wait_procs([child], timeout=10)[1]
