"""`parity serve` as it is started: what it refuses, and how it ends."""

import os
import signal
import socket
import subprocess
import sys
from pathlib import Path

import httpx
import pytest
from served import serving
from typer.testing import CliRunner

from cli.main import app
from lakehouse.lake import Lake, create_lake


def serve(*options: str | Path) -> tuple[int, str]:
    done = CliRunner().invoke(app, ["serve", *map(str, options)])
    return done.exit_code, " ".join(done.output.split())


@pytest.mark.parametrize("host", ["0.0.0.0", "::", "192.0.2.7", "example.com"])
def test_it_does_not_listen_to_the_world_without_a_token(tmp_path: Path, host: str) -> None:
    create_lake(tmp_path / "lake")
    code, said = serve("--lake", tmp_path / "lake", "--host", host)
    assert code == 2 and f"{host} can be reached from other machines, so a token is needed" in said


def test_a_short_token_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    create_lake(tmp_path / "lake")
    monkeypatch.setenv("PARITY_SERVING__TOKEN", "short")
    code, said = serve("--lake", tmp_path / "lake")
    assert code == 2 and "serving.token" in said


def test_a_port_that_is_taken_is_named(tmp_path: Path) -> None:
    create_lake(tmp_path / "lake")
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        code, said = serve("--lake", tmp_path / "lake", "--port", str(port))
    assert code == 2 and f"Port {port} of 127.0.0.1 cannot be had" in said


def test_a_lake_without_events_is_served_as_one(tmp_path: Path) -> None:
    lake = create_lake(tmp_path / "lake")
    with serving(lake.path) as address:
        assert httpx.get(f"{address}/health").json() == {"status": "ok", "log_version": None}
        assert httpx.get(f"{address}/results").json()["log"]["events"] == 0
        assert httpx.get(f"{address}/reconciliations").json() == {"reconciliations": [], "next": None}
        assert httpx.get(f"{address}/results/team_scores").status_code == 404
        assert "parity_events_total 0.0" in httpx.get(f"{address}/metrics").text


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_it_ends_when_it_is_told_to_and_no_jvm_was_started(served_lake: Lake, number: signal.Signals) -> None:
    command = [sys.executable, "-m", "cli.main", "serve", "--lake", str(served_lake.path), "--port", "0"]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    assert process.stdout is not None and "http://127.0.0.1:" in process.stdout.readline()
    children = Path(f"/proc/{process.pid}/task/{process.pid}/children").read_text()
    assert children == ""
    os.kill(process.pid, number)
    _, said = process.communicate(timeout=30)
    assert process.returncode == (0 if number == signal.SIGINT else -number) and "Traceback" not in said
