"""The `parity` commands of the week in one process with one Spark session, each at the moment that it is told.

    python worker.py SOCKET

A line of JSON asks: `{"line": ["ingest", "--lake", ...], "moment": "2026-03-02T00:05:00+00:00"}`. The answer has what the command
printed and its exit code, as the process of its own would have had them.
"""

import json
import os
import socket
import sys
import time
from contextlib import suppress
from datetime import datetime, timedelta

from typer.testing import CliRunner

from cli.main import app


class Moment:
    """A clock that is set for each command and goes on from there. It never goes back."""

    def __init__(self) -> None:
        self._now = datetime.fromisoformat("2000-01-01T00:00:00+00:00")
        self._set_at = 0.0

    def set(self, moment: datetime) -> None:
        self._now, self._set_at = max(moment, self()), time.monotonic()

    def __call__(self) -> datetime:
        return self._now + timedelta(seconds=time.monotonic() - self._set_at if self._set_at else 0)


def main() -> None:
    os.umask(0o077)
    clock = Moment()
    with socket.socket(socket.AF_UNIX) as server:
        server.bind(sys.argv[1])
        server.listen()
        while True:
            connection, _ = server.accept()
            with connection, connection.makefile() as asked:
                question = json.loads(asked.readline())
                clock.set(datetime.fromisoformat(question["moment"]))
                begun = time.monotonic()
                done = CliRunner().invoke(app, question["line"], obj=clock)
                took = time.monotonic() - begun
                said = f"{question['moment'][:19]} {took:6.2f} s, exit code {done.exit_code}: parity {' '.join(question['line'])}"
                sys.stdout.write(said + "\n")
                sys.stdout.flush()
                answer = {"code": done.exit_code, "stdout": done.stdout, "stderr": done.stderr}
                with suppress(BrokenPipeError):  # who asked has been killed meanwhile
                    connection.sendall(json.dumps(answer).encode() + b"\n")


main()
