"""A real Airflow, started as `make airflow` starts it, on a free port and with a home of its own."""

import json
import os
import signal
import socket
import subprocess
import time
import urllib.error
import urllib.parse
import urllib.request
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from short_lived import SHORT_LIVED

PROJECT = Path(__file__).parents[2]
UP = 240.0
LONGEST_RUN = 400.0


@dataclass
class RealAirflow:
    process: subprocess.Popen[str]
    address: str
    home: Path
    lake: Path
    said: str
    token: str = ""

    @property
    def password(self) -> str:
        return str(json.loads((self.home / "passwords.json").read_text())["admin"])

    def api(self, method: str, path: str, body: Any = None) -> Any:
        """What the API answers; an answer that is an error raises with its text."""
        if not self.token:
            self.token = self._asked("POST", "/auth/token", {"username": "admin", "password": self.password})[
                "access_token"
            ]
        return self._asked(method, f"/api/v2{path}", body)

    def _asked(self, method: str, path: str, body: Any) -> Any:
        headers = {"Content-Type": "application/json"} | (
            {"Authorization": f"Bearer {self.token}"} if self.token else {}
        )
        data = None if body is None else json.dumps(body).encode()
        request = urllib.request.Request(f"{self.address}{path}", data, headers, method=method)
        try:
            with urllib.request.urlopen(request, timeout=30) as answer:
                return json.loads(answer.read() or "null")
        except urllib.error.HTTPError as error:
            raise AssertionError(f"{method} {path}: {error.code} {error.read().decode()}") from None

    def trigger(self, dag: str, conf: dict[str, Any] | None = None, **more: Any) -> str:
        """A new run of the DAG; returns its id."""
        return str(
            self.api("POST", f"/dags/{dag}/dagRuns", {"logical_date": None, "conf": conf or {}, **more})["dag_run_id"]
        )

    def pause(self, dag: str, paused: bool) -> None:
        self.api("PATCH", f"/dags/{dag}?update_mask=is_paused", {"is_paused": paused})

    def run(self, dag: str, run_id: str) -> dict[str, Any]:
        return dict(self.api("GET", f"/dags/{dag}/dagRuns/{urllib.parse.quote(run_id)}"))

    def runs(self, dag: str) -> list[dict[str, Any]]:
        return list(self.api("GET", f"/dags/{dag}/dagRuns?order_by=-run_after")["dag_runs"])

    def tasks(self, dag: str, run_id: str) -> dict[str, dict[str, Any]]:
        found = self.api("GET", f"/dags/{dag}/dagRuns/{urllib.parse.quote(run_id)}/taskInstances")["task_instances"]
        return {each["task_id"]: each for each in found}

    def graph(self, asset: str) -> set[tuple[str, str]]:
        """The assets as the interface draws them around this one: which lead to which, by way of a task."""
        [found] = self.api("GET", f"/assets?name_pattern={asset}")["assets"]
        drawn = self._asked("GET", f"/ui/dependencies?node_id=asset:{found['id']}&dependency_type=data", None)
        labels = {node["id"]: node["label"] for node in drawn["nodes"]}
        after: dict[str, set[str]] = {}
        for edge in drawn["edges"]:
            after.setdefault(edge["source_id"], set()).add(edge["target_id"])
        return {
            (labels[one], labels[other])
            for one, tasks in after.items()
            if one.startswith("asset:")
            for task in tasks
            for other in after.get(task, ())
        }

    def ended(self, dag: str, run_id: str) -> dict[str, Any]:
        """The run, once it is over."""
        return self.until(lambda: (run := self.run(dag, run_id))["state"] in ("success", "failed") and run)

    def until(self, reached: Callable[[], Any], seconds: float = LONGEST_RUN) -> Any:
        """What `reached` returns, as soon as that is something."""
        deadline = time.monotonic() + seconds
        while time.monotonic() < deadline:
            if found := reached():
                return found
            assert self.process.poll() is None, "Airflow has ended"
            time.sleep(0.5)
        raise AssertionError(f"not within {seconds:.0f} s; {self.running()}")

    def running(self) -> str:
        return subprocess.run(
            ["ps", "-o", "pid,args", "--ppid", str(self.process.pid)], capture_output=True, text=True
        ).stdout

    def log(self, dag: str, run_id: str, task: str, attempt: int = 1, *, mapped: int = -1) -> str:
        """What the interface shows of a task."""
        path = f"/dags/{dag}/dagRuns/{urllib.parse.quote(run_id)}/taskInstances/{task}/logs/{attempt}"
        path += f"?full_content=true&map_index={mapped}"
        return "\n".join(
            f"{line.get('event')} {line.get('error_detail', '')}" for line in self.api("GET", path)["content"]
        )


@contextmanager
def started(home: Path, lake: Path, landing: Path) -> Iterator[RealAirflow]:
    """Airflow, up; at the end it is told to stop, in whatever state."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    environment = {
        name: value for name, value in os.environ.items() if not name.startswith(("AIRFLOW", "PARITY_", "PYTEST"))
    }
    command = [PROJECT / ".airflow/bin/python", PROJECT / "infra/airflow/start.py"]
    options = ["--home", home, "--lake", lake, "--landing", landing, "--port", port]
    process = subprocess.Popen(
        [str(part) for part in (*command, *options)],
        cwd=PROJECT,
        env={**environment, **SHORT_LIVED, "PARITY_SPARK__COMPILER": "quick", "PARITY_SPARK__MASTER": "local[2]"},
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        start_new_session=True,
    )
    assert process.stdout is not None
    try:
        said = []
        for line in process.stdout:
            said.append(line)
            if "Ctrl-C" in line:
                break
        else:
            raise AssertionError("".join(said))
        yield RealAirflow(process, f"http://127.0.0.1:{port}", home, lake, "".join(said))
    finally:
        if process.poll() is None:
            process.send_signal(signal.SIGINT)
        process.wait(timeout=120)
