"""Commands of Parity as processes of their own: Python and its JVM in one process group, so that a fault strikes both."""

import contextlib
import ctypes
import os
import signal
import subprocess
import sys
import threading
import time
from collections import deque
from collections.abc import Mapping, Sequence
from pathlib import Path

GRACE = 30.0
KEPT_LINES = 50
_LIBC = ctypes.CDLL(None)
_SET_PARENT_DEATH_SIGNAL = 1  # PR_SET_PDEATHSIG, of Linux


class Process:
    """A running `parity` command. What it says is kept, and goes into a file as well."""

    def __init__(self, command: Sequence[str], *, environment: Mapping[str, str], log: Path) -> None:
        self.command = list(command)
        self._said: deque[str] = deque(maxlen=KEPT_LINES)
        # A pipe and not the file itself: a process whose disk is full could not say so.
        self._process = subprocess.Popen(
            [sys.executable, "-m", "cli.main", *command],
            env=dict(environment),
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            errors="replace",
            start_new_session=True,
            preexec_fn=_end_with_the_parent,
        )
        self._listener = threading.Thread(target=self._listen, args=(log,), daemon=True)
        self._listener.start()

    @property
    def pid(self) -> int:
        return self._process.pid

    @property
    def code(self) -> int | None:
        """Its exit code, none while it lives; negative for the signal that killed it."""
        return self._process.poll()

    @property
    def said(self) -> str:
        return "\n".join(list(self._said))  # a copy in one step: the listener goes on

    def kill(self) -> None:
        """SIGKILL for Python and the JVM at once."""
        self._signal(signal.SIGKILL)
        self._process.wait()

    def is_stopped(self) -> bool:
        """Whether it was stopped, as by Ctrl-Z."""
        try:
            state = Path(f"/proc/{self.pid}/stat").read_text().rpartition(")")[2].split()[0]
        except FileNotFoundError:
            return False
        return state == "T"

    def stop(self) -> None:
        """SIGSTOP for Python and the JVM."""
        self._signal(signal.SIGSTOP)

    def resume(self) -> None:
        self._signal(signal.SIGCONT)

    def wait(self, seconds: float) -> int:
        """Its exit code, once it has ended and all that it said was heard."""
        code = self._process.wait(seconds)
        self._listener.join(GRACE)
        return code

    def end(self) -> None:
        """Ask it to end as Ctrl-C does, then insist."""
        if self.code is None:
            self.resume()
            self._process.send_signal(signal.SIGINT)
            with contextlib.suppress(subprocess.TimeoutExpired):
                self._process.wait(GRACE)
        self._signal(signal.SIGKILL)  # a JVM that outlives its Python for a moment, too
        self._process.wait()

    def _signal(self, number: signal.Signals) -> None:
        with contextlib.suppress(ProcessLookupError):
            os.killpg(self.pid, number)

    def _listen(self, log: Path) -> None:
        assert self._process.stdout is not None
        with log.open("a") as file:
            file.write(f"{time.strftime('%H:%M:%S')} parity {' '.join(self.command)}\n")
            for line in self._process.stdout:
                self._said.append(line.rstrip("\n"))
                file.write(line)
                file.flush()


def _end_with_the_parent() -> None:
    """In the child: a run that is killed itself leaves no writer behind. Its JVM ends when Python is gone."""
    _LIBC.prctl(_SET_PARENT_DEATH_SIGNAL, signal.SIGKILL)
