"""The processes of the week: Airflow's scheduler, and a worker with Spark. Each can be killed and started again."""

import json
import os
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import Any

from short_lived import SHORT_LIVED

PROJECT = Path(__file__).parents[2]
HERE = Path(__file__).parent
RESULTS = ("player_sessions", "team_scores")
PACKAGES = (
    *("batch_layer", "chaos", "cli", "dags", "ingestion", "lakehouse", "quality", "reconciliation", "serving"),
    *("pipelines", "simulator", "speed_layer", "transformations"),
)


def small_project(directory: Path) -> Path:
    """The project with two results instead of thirteen, so that a week of it takes minutes. The DAGs are what they are.

    Its `parity` hands the command line to the worker.
    """
    for name in PACKAGES:
        shutil.copytree(PROJECT / name, directory / name, ignore=shutil.ignore_patterns("__pycache__"))
    game = directory / "pipelines" / "game"
    story = (game / "pipeline.py").read_text()
    (game / "pipeline.py").write_text(story.replace(' "level_ups")', ")").replace('"hot_minutes", ', ""))
    for file in (game / "results").glob("[a-z]*.py"):
        if file.stem not in RESULTS:
            file.unlink()
    (directory / ".jars").symlink_to(PROJECT / ".jars")
    parity = directory / ".venv" / "bin" / "parity"
    parity.parent.mkdir(parents=True)
    parity.write_text(f"#!{sys.executable} -IS\n{(HERE / 'client.py').read_text()}")
    parity.chmod(0o700)
    return directory


@dataclass
class Ended:
    code: int
    stdout: str
    stderr: str


class Operation:
    """One lake in operation."""

    def __init__(self, home: Path, begin: datetime) -> None:
        self.home, self.now = home, begin
        self.lake, self.landing = home / "lake", home / "landing"
        self.landing.mkdir()
        self.project = small_project(home / "project")
        self.failpoint = home / "failpoint"
        self._short = Path(tempfile.mkdtemp(prefix="week-"))  # the path of a socket has 108 characters at most
        self.start()

    def start(self) -> None:
        self._start_worker()
        self._start_scheduler()

    def kill(self) -> None:
        """SIGKILL to both, and to the JVM."""
        for process in (self.scheduler, self.worker):
            if process.poll() is None:
                os.killpg(process.pid, signal.SIGKILL)
            process.wait()

    def end(self) -> None:
        self.kill()
        shutil.rmtree(self._short, ignore_errors=True)

    def ask(self, do: str, **what: Any) -> Any:
        """What the scheduler answers."""
        self.tell(do, **what)
        return self._answer()

    def tell(self, do: str, **what: Any) -> None:
        assert self.scheduler.stdin is not None
        self.scheduler.stdin.write(json.dumps({"do": do, **what}) + "\n")
        self.scheduler.stdin.flush()

    def advance(self, to: datetime, **more: Any) -> None:
        self.now = datetime.fromisoformat(self.ask("advance", to=to.isoformat(), **more))

    def parity(self, *line: str | Path) -> Ended:
        """A command that a person types at this moment."""
        with socket.socket(socket.AF_UNIX) as worker:
            worker.connect(str(self.socket))
            asked = {"line": [str(part) for part in line], "moment": self.now.isoformat()}
            worker.sendall(json.dumps(asked).encode() + b"\n")
            with worker.makefile() as answers:
                return Ended(**json.loads(answers.readline()))

    def wait_until_stopped(self) -> None:
        """Until a failpoint has stopped the worker, as Ctrl-Z does."""
        deadline = time.monotonic() + 300
        while Path(f"/proc/{self.worker.pid}/stat").read_text().rpartition(")")[2].split()[0] != "T":
            assert time.monotonic() < deadline and self.worker.poll() is None, self.said()
            time.sleep(0.05)

    def said(self) -> str:
        """The commands that were run, with what they took."""
        return (self.home / "worker.log").read_text()

    def _start_worker(self) -> None:
        self.socket = self._short / f"{time.monotonic_ns()}"
        environment = {
            **_without("PARITY_"),
            **SHORT_LIVED,
            "PYTHONPATH": str(self.project),
            "PARITY_FAILPOINT": str(self.failpoint),
            "PARITY_SPARK__COMPILER": "quick",
            "PARITY_SPARK__MASTER": "local[2]",
            "COLUMNS": "140",
            "NO_COLOR": "1",
        }
        with (self.home / "worker.log").open("a") as log:
            self.worker = subprocess.Popen(
                [sys.executable, HERE / "worker.py", self.socket],
                cwd=self.project,
                env=environment,
                stdout=log,
                stderr=log,
                start_new_session=True,
            )
        while not self.socket.exists():
            assert self.worker.poll() is None, self.said()
            time.sleep(0.05)

    def _start_scheduler(self) -> None:
        home = self.home / "airflow"
        home.mkdir(exist_ok=True)
        environment = {
            **_without("AIRFLOW", "PARITY_", "PYTEST", "PYTHONPATH"),
            "AIRFLOW_HOME": str(home),
            "AIRFLOW__CORE__DAGS_FOLDER": str(self.project / "dags"),
            "AIRFLOW__CORE__LOAD_EXAMPLES": "False",
            "AIRFLOW__CORE__SIMPLE_AUTH_MANAGER_USERS": "operator:admin",
            "AIRFLOW__CORE__SIMPLE_AUTH_MANAGER_PASSWORDS_FILE": str(home / "passwords.json"),
            "AIRFLOW__API_AUTH__JWT_SECRET": "only for tests, and as long as the sixty-four bytes that are asked for a signature",
            "AIRFLOW_VAR_PARITY_LAKE": str(self.lake),
            "AIRFLOW_VAR_PARITY_LANDING": str(self.landing),
            "WEEK_SOCKET": str(self.socket),
        }
        with (self.home / "airflow.log").open("a") as log:
            self.scheduler = subprocess.Popen(
                [PROJECT / ".airflow" / "bin" / "python", HERE / "inside" / "serve.py", self.now.isoformat()],
                env=environment,
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=log,
                text=True,
                start_new_session=True,
            )
        self._answer()

    def _answer(self) -> Any:
        assert self.scheduler.stdout is not None
        line = self.scheduler.stdout.readline()
        assert line, (self.home / "airflow.log").read_text()[-5000:]
        answer = json.loads(line)
        assert "error" not in answer, answer["error"]
        return answer["answer"]


def _without(*beginnings: str) -> dict[str, str]:
    return {name: value for name, value in os.environ.items() if not name.startswith(beginnings)}
