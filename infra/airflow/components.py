"""The processes of Airflow: started in order, started again when they die, and ended with everything they started."""

import ctypes
import json
import os
import signal
import subprocess
import sys
import time
import urllib.request
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import psutil

# In this order: a task that the scheduler starts before the API server answers is lost, and counts as a try.
COMMANDS = {
    "api-server": ["api-server", "--workers", "1"],
    # Its server of logs would listen on all interfaces; the API server reads the same files.
    "scheduler": ["scheduler", "--skip-serve-logs"],
    "dag-processor": ["dag-processor"],
    "triggerer": ["triggerer", "--skip-serve-logs"],
}
HEALTH = {
    "api-server": "metadatabase",
    "scheduler": "scheduler",
    "dag-processor": "dag_processor",
    "triggerer": "triggerer",
}
PATIENCE = 180.0  # seconds until everything has to be up
GRACE = 30.0  # seconds that a process has to end by itself


class NotUp(Exception):
    """Airflow did not come up; the message says where to look."""


@dataclass
class Components:
    """Each in a process group of its own, with its output in a log file of its own."""

    environment: Mapping[str, str]
    home: Path
    address: str
    processes: dict[str, subprocess.Popen[bytes]] = field(default_factory=dict)

    def start(self, name: str) -> None:
        with (self.home / f"{name}.log").open("ab") as log:
            self.processes[name] = subprocess.Popen(
                [airflow(), *COMMANDS[name]],
                env=dict(self.environment),
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
                start_new_session=True,
            )

    def wait_until_healthy(self) -> None:
        """Wait until Airflow says of all that were started that they are well."""
        deadline = time.monotonic() + PATIENCE
        while time.monotonic() < deadline:
            if ended := self.ended():
                name, code = ended.popitem()
                raise NotUp(f"The {name} ended with {code}; {self.home / f'{name}.log'} says why.")
            health = _health(self.address)
            if all(health.get(HEALTH[name], {}).get("status") == "healthy" for name in self.processes):
                return
            time.sleep(0.5)
        raise NotUp(f"Airflow is not up after {PATIENCE:.0f} s; the logs in {self.home} say why.")

    def ended(self) -> dict[str, int]:
        """The processes that are no longer there, with their exit codes."""
        codes = {name: process.poll() for name, process in self.processes.items()}
        return {name: code for name, code in codes.items() if code is not None}

    def start_again(self) -> None:
        """Start what has died, and let go of orphans that have ended."""
        ours = {process.pid for process in self.processes.values()}
        for child in psutil.Process().children():
            if child.pid not in ours and child.status() == psutil.STATUS_ZOMBIE:
                os.waitpid(child.pid, os.WNOHANG)
        for name, code in self.ended().items():
            print(
                f"The {name} ended with {code}; it is started again. Its log: {self.home / f'{name}.log'}", flush=True
            )
            self.start(name)


@contextmanager
def running(environment: Mapping[str, str], home: Path, address: str) -> Iterator[Components]:
    """All components, up and healthy; at the end nothing is left of them or of what they started."""
    _adopt_orphans()
    components = Components(environment, home, address)
    try:
        for name in COMMANDS:
            print(f"Starting the {name} ...", flush=True)
            components.start(name)
            if name == "api-server":
                components.wait_until_healthy()
        components.wait_until_healthy()
        yield components
    finally:
        for number in (signal.SIGINT, signal.SIGTERM):
            signal.signal(number, signal.SIG_IGN)
        _end_all()


def airflow() -> str:
    return str(Path(sys.executable).with_name("airflow"))


def _health(address: str) -> dict[str, Any]:
    try:
        with urllib.request.urlopen(f"{address}/api/v2/monitor/health", timeout=5) as answer:
            return dict(json.load(answer))
    except OSError:
        return {}


def _end_all() -> None:
    """Ask every child to end, then make sure of every descendant. Orphans are ours too: see `_adopt_orphans`."""
    ours = psutil.Process()
    for process in ours.children():
        _tell(process, signal.SIGTERM)
    psutil.wait_procs(ours.children(recursive=True), timeout=GRACE)
    while left := [each for each in ours.children(recursive=True) if each.status() != psutil.STATUS_ZOMBIE]:
        for process in left:
            _tell(process, signal.SIGKILL)
        psutil.wait_procs(left, timeout=5)


def _tell(process: psutil.Process, number: int) -> None:
    with suppress(psutil.NoSuchProcess):
        process.send_signal(number)


def _adopt_orphans() -> None:
    """Become the parent of descendants whose own parent dies, e.g. the tasks of a scheduler that was killed."""
    if sys.platform == "linux":
        ctypes.CDLL(None).prctl(36, 1)  # PR_SET_CHILD_SUBREAPER
