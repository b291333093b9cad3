"""Start Airflow for this project on loopback, and stop all of it on Ctrl-C.

    make airflow [LAKE=demo] [LANDING=demo/landing] [PORT=8080]

Runs with the interpreter of Airflow's own environment. Three processes are enough: scheduler, DAG processor and API
server. Airflow 3.3 waits for people without a triggerer, and no task here defers. One that dies is started again.

What it makes is under infra/airflow/home, for its owner only: the database (SQLite, unless
AIRFLOW__DATABASE__SQL_ALCHEMY_CONN names another), the logs, and the password that is made at the first start.
"""

import argparse
import json
import os
import secrets
import signal
import socket
import subprocess
import sys
import time
import urllib.request
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from types import FrameType

import psutil

HERE = Path(__file__).resolve().parent
PROJECT = HERE.parent.parent
COMPONENTS = {
    "scheduler": ["scheduler"],
    "dag-processor": ["dag-processor"],
    "api-server": ["api-server", "--workers", "1"],
}
PATIENCE = 180.0  # seconds until everything has to be up
GRACE = 30.0  # seconds that a component has to end by itself
USER = "admin"


class Stop(Exception):
    """Somebody wants it to end."""


def main() -> int:
    asked = _arguments()
    os.umask(0o077)
    home = Path(os.environ.get("AIRFLOW_HOME", HERE / "home")).resolve()
    home.mkdir(parents=True, exist_ok=True)
    home.chmod(0o700)
    if (busy := _refused(asked)) is not None:
        print(busy, file=sys.stderr)
        return 2
    environment = settings(home, lake=asked.lake, landing=asked.landing, port=asked.port)
    password = _password(Path(environment["AIRFLOW__CORE__SIMPLE_AUTH_MANAGER_PASSWORDS_FILE"]))
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, _stop)
    _adopt_orphans()
    try:
        print("Preparing the database ...", flush=True)
        with (home / "migrate.log").open("a") as log:
            subprocess.run([_airflow(), "db", "migrate"], env=environment, stdout=log, stderr=log, check=True)
        with _running(environment, home) as processes:
            address = f"http://127.0.0.1:{asked.port}"
            print("Starting scheduler, DAG processor and API server ...", flush=True)
            _wait_until_healthy(address, processes, environment, home)
            print(
                f"Airflow is at {address}\n"
                f"Log in as {USER} with the password {password}, which is in {os.path.relpath(password_file(home))}\n"
                f"Lake: {asked.lake}. Logs: {os.path.relpath(home)}. Ctrl-C stops all of it.",
                flush=True,
            )
            while True:
                time.sleep(1)
                _restart_the_dead(processes, environment, home)
    except Stop:
        print("Airflow has stopped.", flush=True)
        return 0
    except subprocess.CalledProcessError:
        print(f"The database could not be prepared; {home / 'migrate.log'} says why.", file=sys.stderr)
        return 1
    except TimeoutError as late:
        print(late, file=sys.stderr)
        return 1


def settings(home: Path, *, lake: Path, landing: Path | None, port: int) -> dict[str, str]:
    """The environment of every component. What the caller's environment says already stays."""
    ours = {
        "AIRFLOW_HOME": str(home),
        "AIRFLOW__CORE__DAGS_FOLDER": str(PROJECT / "dags"),
        "AIRFLOW__CORE__PLUGINS_FOLDER": str(HERE / "plugins"),
        "AIRFLOW__CORE__LOAD_EXAMPLES": "False",
        "AIRFLOW__CORE__EXECUTOR": "LocalExecutor",
        "AIRFLOW__CORE__PARALLELISM": "2",  # a task is a Spark job of its own
        "AIRFLOW__CORE__AUTH_MANAGER": "airflow.api_fastapi.auth.managers.simple.simple_auth_manager.SimpleAuthManager",
        "AIRFLOW__CORE__SIMPLE_AUTH_MANAGER_USERS": f"{USER}:admin",
        "AIRFLOW__CORE__SIMPLE_AUTH_MANAGER_PASSWORDS_FILE": str(password_file(home)),
        "AIRFLOW__CORE__EXECUTION_API_SERVER_URL": f"http://127.0.0.1:{port}/execution/",
        "AIRFLOW__API__HOST": "127.0.0.1",
        "AIRFLOW__API__PORT": str(port),
        "AIRFLOW__API__BASE_URL": f"http://127.0.0.1:{port}",
        "AIRFLOW__API__EXPOSE_CONFIG": "False",
        # All components have to know the same secrets; they live as long as this start.
        "AIRFLOW__API__SECRET_KEY": secrets.token_urlsafe(32),
        "AIRFLOW__API_AUTH__JWT_SECRET": secrets.token_urlsafe(32),
        "AIRFLOW__DAG_PROCESSOR__REFRESH_INTERVAL": "30",
        "AIRFLOW__SCHEDULER__TASK_INSTANCE_HEARTBEAT_TIMEOUT": "60",
        "AIRFLOW__LOGGING__BASE_LOG_FOLDER": str(home / "logs"),
        "AIRFLOW_VAR_PARITY_LAKE": str(lake),
        "AIRFLOW_VAR_PARITY_LANDING": "" if landing is None else str(landing),
    }
    path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ.get('PATH', '')}"
    return {**ours, **os.environ, "PATH": path}


def password_file(home: Path) -> Path:
    return home / "passwords.json"


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description="Start Airflow for Parity on loopback.")
    parser.add_argument("--lake", type=lambda text: Path(text).resolve(), default=PROJECT / "demo")
    parser.add_argument("--landing", type=lambda text: Path(text).resolve() if text else None, default=None)
    parser.add_argument("--port", type=int, default=8080)
    return parser.parse_args()


def _refused(asked: argparse.Namespace) -> str | None:
    with socket.socket() as probe:
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind(("127.0.0.1", asked.port))
        except OSError:
            return f"Port {asked.port} is taken, perhaps by an Airflow that runs already. Name another: make airflow PORT=8081"
    return None


def _password(file: Path) -> str:
    """The password, made at the first start. Airflow itself would make the file readable for everybody."""
    if file.exists():
        file.chmod(0o600)
        return str(json.loads(file.read_text())[USER])
    password = secrets.token_urlsafe(12)
    descriptor = os.open(file, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    with os.fdopen(descriptor, "w") as out:
        out.write(json.dumps({USER: password}) + "\n")
    return password


def _airflow() -> str:
    return str(Path(sys.executable).with_name("airflow"))


@contextmanager
def _running(environment: Mapping[str, str], home: Path) -> Iterator[dict[str, subprocess.Popen[bytes]]]:
    """The components, each in a process group of its own; at the end nothing is left of them or what they started."""
    processes: dict[str, subprocess.Popen[bytes]] = {}
    try:
        for name in COMPONENTS:
            processes[name] = _started(name, environment, home)
        yield processes
    finally:
        for number in (signal.SIGINT, signal.SIGTERM):
            signal.signal(number, signal.SIG_IGN)
        _end_all()


def _started(name: str, environment: Mapping[str, str], home: Path) -> subprocess.Popen[bytes]:
    with (home / f"{name}.log").open("ab") as log:
        return subprocess.Popen(
            [_airflow(), *COMPONENTS[name]],
            env=dict(environment),
            stdin=subprocess.DEVNULL,
            stdout=log,
            stderr=log,
            start_new_session=True,
        )


def _restart_the_dead(
    processes: dict[str, subprocess.Popen[bytes]], environment: Mapping[str, str], home: Path
) -> None:
    for name, process in processes.items():
        if (code := process.poll()) is not None:
            print(f"The {name} ended with {code}; it is started again. Its log: {home / f'{name}.log'}", flush=True)
            processes[name] = _started(name, environment, home)


def _end_all() -> None:
    """Ask every descendant to end, then make sure. Orphans are ours too: see `_adopt_orphans`."""
    ours = psutil.Process()
    for process in ours.children():
        _tell(process, signal.SIGTERM)
    psutil.wait_procs(ours.children(recursive=True), timeout=GRACE)
    while left := [each for each in ours.children(recursive=True) if each.status() != psutil.STATUS_ZOMBIE]:
        for process in left:
            _tell(process, signal.SIGKILL)
        psutil.wait_procs(left, timeout=5)


def _tell(process: psutil.Process, number: int) -> None:
    try:
        process.send_signal(number)
    except psutil.NoSuchProcess:
        pass


def _adopt_orphans() -> None:
    """Become the parent of descendants whose own parent dies, e.g. the tasks of a scheduler that was killed."""
    if sys.platform == "linux":
        import ctypes

        ctypes.CDLL(None).prctl(36, 1)  # PR_SET_CHILD_SUBREAPER


def _wait_until_healthy(
    address: str, processes: dict[str, subprocess.Popen[bytes]], environment: Mapping[str, str], home: Path
) -> None:
    deadline = time.monotonic() + PATIENCE
    while time.monotonic() < deadline:
        for name, process in processes.items():
            if process.poll() is not None:
                raise TimeoutError(f"The {name} ended with {process.returncode}; {home / f'{name}.log'} says why.")
        try:
            with urllib.request.urlopen(f"{address}/api/v2/monitor/health", timeout=5) as answer:
                health = json.load(answer)
            if all(health[part]["status"] == "healthy" for part in ("metadatabase", "scheduler", "dag_processor")):
                return
        except OSError:
            pass
        time.sleep(0.5)
    raise TimeoutError(f"Airflow is not up after {PATIENCE:.0f} s; the logs in {home} say why.")


def _stop(number: int, frame: FrameType | None) -> None:  # noqa: ARG001
    raise Stop


if __name__ == "__main__":
    sys.exit(main())
