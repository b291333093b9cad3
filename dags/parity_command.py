"""The one operator: it runs a `parity` command of the project's environment and maps its exit code.

    0  done, or the layers agree     the task succeeds; what the command answered is its XCom
    1  they differ                   the task fails at once, its error is the verdict: a retry would differ again
    2  it could not be done          the task is retried, then fails with the command's own reason
    3  an unexpected error           the same; the lake's log file has the whole of it

Python itself ends with 1 when a program cannot be loaded. So a 1 is a difference only if the last line of the progress
says which verdict was found, and otherwise a crash like 3.

Standard output is the answer, standard error the progress; both are in the task's log as the command printed them.
"""

import ctypes
import json
import os
import re
import signal
import subprocess
import sys
import threading
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Literal

from airflow.sdk import BaseOperator
from airflow.sdk.definitions.context import Context
from airflow.sdk.exceptions import AirflowException, AirflowFailException

PROJECT = Path(__file__).resolve().parent.parent
PARITY = PROJECT / ".venv" / "bin" / "parity"
DIFFERS, NO_COMPARISON = 1, 2
VERDICT = "verdict"
"""The XCom of a task that found a difference: what the command's answer comes to."""
FOUND_IN = "found_in"
"""The XCom with what the difference is about: versions of results, e.g. my_result@1."""
LONGEST = 20_000  # characters of an answer that are kept as XCom

_VERDICT = re.compile(r"Verdict: [a-z ]+(?: \((.+)\))?")
_DIE_WITH_PARENT = 1  # PR_SET_PDEATHSIG


class ParityOperator(BaseOperator):
    """`parity COMMAND --name value ...`. An option without a value is left out, one with several is repeated.

    `on_difference="goes on"` is for a command whose difference is what somebody wants to see, not a fault, and
    `on_no_comparison="goes on"` for one whose verdict on each result is asked for by tasks that follow: it may be that
    some could not be compared. `about` is what a mapped task is about; its options have it as `task.about`.
    """

    template_fields: Sequence[str] = ("options",)
    template_fields_renderers = {"options": "json"}
    ui_color = "#e6f2ef"

    def __init__(
        self,
        *,
        command: str,
        options: Mapping[str, Any],
        on_difference: Literal["fails", "goes on"] = "fails",
        on_no_comparison: Literal["fails", "goes on"] = "fails",
        about: str = "",
        **kwargs: Any,
    ) -> None:
        super().__init__(**kwargs)
        self.about = about
        self.command = command
        self.options = options
        self.on_difference = on_difference
        self.on_no_comparison = on_no_comparison
        self._process: subprocess.Popen[str] | None = None

    def execute(self, context: Context) -> Any:
        line = command_line(self.command, self.options)
        self.log.info("$ %s", " ".join(line))
        code, answer, progress = self._run([str(PARITY), *line[1:]])
        judged = {DIFFERS, NO_COMPARISON} if self.on_no_comparison == "goes on" else {DIFFERS}
        found = verdict(progress) if code in judged else None
        if found is not None and code == DIFFERS and self.on_difference == "fails":
            context["ti"].xcom_push(key=VERDICT, value=conclusion(answer))
            context["ti"].xcom_push(key=FOUND_IN, value=found)
            raise AirflowFailException(f"{conclusion(answer)}\n{beginning(answer)}")
        if code != 0 and found is None:
            raise AirflowException(f"parity {self.command} ended with exit code {code}: {reason(progress) or answer}")
        for outlet in self.outlets:
            context["outlet_events"][outlet].extra = {"command": " ".join(line), "said": conclusion(answer)}
        return json.loads(answer) if answer.startswith("{") else answer[-LONGEST:]

    def on_kill(self) -> None:
        """The command has a process group of its own, Spark's JVM included: nothing of it is left behind."""
        if self._process is not None and self._process.poll() is None:
            os.killpg(self._process.pid, signal.SIGTERM)

    def _run(self, line: Sequence[str]) -> tuple[int, str, str]:
        """The exit code, the answer and the progress; the progress is logged when it comes, the answer after it."""
        self._process = process = subprocess.Popen(
            line,
            cwd=PROJECT,
            env={**os.environ, "COLUMNS": "140", "NO_COLOR": "1"},
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            start_new_session=True,
            preexec_fn=_end_with_this_task if sys.platform == "linux" else None,
        )
        assert process.stdout is not None and process.stderr is not None
        answer: list[str] = []
        aside = threading.Thread(target=answer.extend, args=(process.stdout,))
        aside.start()
        progress = []
        for line in process.stderr:
            progress.append(line.rstrip())
            self.log.info("%s", progress[-1])
        aside.join()
        for line in answer:
            self.log.info("%s", line.rstrip())
        return process.wait(), "".join(answer).strip(), "\n".join(progress)


def command_line(command: str, options: Mapping[str, Any]) -> list[str]:
    """The command as one would type it."""
    line = ["parity", command]
    for name, value in options.items():
        if value is True:
            line.append(f"--{name}")
        elif isinstance(value, list | tuple):
            line += [part for each in value for part in (f"--{name}", str(each))]
        elif value is not None and value is not False and str(value) != "":
            line += [f"--{name}", str(value)]
    return line


def verdict(progress: str) -> list[str] | None:
    """What the command's finding is about, if its last line says that it found something; none after a crash."""
    said = _VERDICT.fullmatch(progress.rstrip().rpartition("\n")[2])
    return None if said is None else (said[1].split(", ") if said[1] else [])


def conclusion(answer: str) -> str:
    """What the answer comes to: its last line."""
    return answer.rpartition("\n")[2]


def beginning(answer: str, most: int = 20) -> str:
    """The first lines of the answer; the task's log has all of them."""
    lines = answer.splitlines()
    return "\n".join(lines[:most] + ([f"... {len(lines) - most} more lines in the log"] if len(lines) > most else []))


def reason(progress: str) -> str:
    """The command's own message of why it could not: from its cross to its end, or what its box says of a wrong option."""
    _, cross, told = progress.rpartition("✗ ")
    if cross:
        return told.strip()
    boxed = [line.strip("│ ") for line in progress.splitlines() if line.startswith("│")]
    return " ".join(boxed) or progress.strip()


def _end_with_this_task() -> None:
    """A task that is killed cannot end its command any more, so the kernel does: a retry must not meet its own ghost."""
    ctypes.CDLL(None).prctl(_DIE_WITH_PARENT, signal.SIGKILL)
