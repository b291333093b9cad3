"""Start Airflow for this project on loopback, and stop all of it on Ctrl-C.

    make airflow [LAKE=demo] [LANDING=demo/landing] [CONFIG=parity.toml] [PORT=8080]

Runs with the interpreter of Airflow's own environment. Four processes: API server, scheduler, DAG processor, triggerer.
No task here needs a triggerer, but without one Airflow's home page shows it in red. One that dies is started again.

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
from pathlib import Path
from types import FrameType

from components import NotUp, airflow, running

HERE = Path(__file__).resolve().parent
PROJECT = HERE.parent.parent
USER = "admin"
STREAM_POOL = "parity_stream"  # as in dags/house.py
PREPARATIONS = (
    ("db", "migrate"),
    ("pools", "set", STREAM_POOL, "1", "What streams: two at once would meet at the lock of a result."),
)
DATABASE = "AIRFLOW__DATABASE__SQL_ALCHEMY_CONN"
ALLOWED = {
    DATABASE,
    *("HOME", "USER", "LOGNAME", "SHELL", "TERM", "LANG", "LANGUAGE", "TZ", "TMPDIR", "LD_LIBRARY_PATH"),
    *("JAVA_HOME", "JAVA_TOOL_OPTIONS", "JDK_JAVA_OPTIONS", "SSL_CERT_FILE", "SSL_CERT_DIR"),
}
ALLOWED_FROM = ("LC_", "PARITY_", "SPARK_", "PG")
"""The beginnings of names: locale, the settings of Parity, Spark's own, and those of PostgreSQL's client."""


class Stop(Exception):
    """Somebody wants it to end."""


def main() -> int:
    asked = _arguments()
    os.umask(0o077)
    home = asked.home
    home.mkdir(parents=True, exist_ok=True)
    home.chmod(0o700)
    if (busy := _refused(asked)) is not None:
        print(busy, file=sys.stderr)
        return 2
    environment = settings(home, lake=asked.lake, landing=asked.landing, config=asked.config, port=asked.port)
    password = _password(Path(environment["AIRFLOW__CORE__SIMPLE_AUTH_MANAGER_PASSWORDS_FILE"]))
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, _stop)
    try:
        print("Preparing the database ...", flush=True)
        with (home / "migrate.log").open("a") as log:
            for command in PREPARATIONS:
                subprocess.run([airflow(), *command], env=environment, stdout=log, stderr=log, check=True)
        address = f"http://127.0.0.1:{asked.port}"
        with running(environment, home, address) as components:
            print(
                f"Airflow is at {address}\n"
                f"Log in as {USER} with the password {password}, which is in {os.path.relpath(password_file(home))}\n"
                f"Lake: {asked.lake}{_missing(asked.lake)}. Logs: {os.path.relpath(home)}. Ctrl-C stops all of it.",
                flush=True,
            )
            while True:
                time.sleep(1)
                components.start_again()
    except Stop:
        print("Airflow has stopped.", flush=True)
        return 0
    except subprocess.CalledProcessError:
        print(f"The database could not be prepared; {home / 'migrate.log'} says why.", file=sys.stderr)
        return 1
    except NotUp as why:
        print(why, file=sys.stderr)
        return 1


def settings(home: Path, *, lake: Path, landing: Path | None, port: int, config: Path | None = None) -> dict[str, str]:
    """The environment of every component: what is set here, and of the caller's what is allowed, e.g. his database.

    An Airflow of his own does not get mixed in: one of its variables could make every visitor an administrator.
    """
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
        "AIRFLOW__API__SECRET_KEY": secrets.token_urlsafe(64),
        "AIRFLOW__API_AUTH__JWT_SECRET": secrets.token_urlsafe(64),
        "AIRFLOW__DAG_PROCESSOR__REFRESH_INTERVAL": "30",
        "AIRFLOW__SCHEDULER__TASK_INSTANCE_HEARTBEAT_TIMEOUT": "60",
        "AIRFLOW__LOGGING__BASE_LOG_FOLDER": str(home / "logs"),
        "AIRFLOW_VAR_PARITY_LAKE": str(lake),
        "AIRFLOW_VAR_PARITY_LANDING": "" if landing is None else str(landing),
        "AIRFLOW_VAR_PARITY_CONFIG": "" if config is None else str(config),
    }
    # SQLite has one writer at a time; with its default of 5 s a busy machine answers "database is locked".
    database = {DATABASE: f"sqlite:///{home / 'airflow.db'}?timeout=60"}
    path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ.get('PATH', '')}"
    inherited = {name: value for name, value in os.environ.items() if name in ALLOWED or name.startswith(ALLOWED_FROM)}
    return {**database, **inherited, **ours, "PATH": path}


def password_file(home: Path) -> Path:
    return home / "passwords.json"


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description="Start Airflow for Parity on loopback.")
    parser.add_argument("--lake", type=lambda text: Path(text).resolve(), default=PROJECT / "demo")
    parser.add_argument("--landing", type=lambda text: Path(text).resolve() if text else None, default=None)
    parser.add_argument("--config", type=lambda text: Path(text).resolve() if text else None, default=None)
    parser.add_argument("--home", type=lambda text: Path(text).resolve(), default=HERE / "home")
    parser.add_argument("--port", type=int, default=8080)
    return parser.parse_args()


def _refused(asked: argparse.Namespace) -> str | None:
    if asked.config is not None and not asked.config.is_file():
        return f"There is no settings file {asked.config}. Name an existing one with CONFIG, or leave it out."
    with socket.socket() as probe:
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind(("127.0.0.1", asked.port))
        except OSError:
            return f"Port {asked.port} is taken, perhaps by an Airflow that runs already. Name another: make airflow PORT=8081"
    return None


def _missing(lake: Path) -> str:
    return "" if lake.is_dir() else ", which is not there yet: `make demo` makes one, and tasks fail until then"


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


def _stop(number: int, frame: FrameType | None) -> None:  # noqa: ARG001
    raise Stop


if __name__ == "__main__":
    sys.exit(main())
