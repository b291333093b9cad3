"""`parity serve` as a process beside this one: started, asked whether it answers, and ended with all that it started."""

import os
import signal
import subprocess
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from urllib.request import urlopen

from cli.console import for_child
from lakehouse.errors import ParityError
from lakehouse.lake import Lake

GRACE = 10.0


class Server:
    """The process, and where it answers."""

    def __init__(self, process: subprocess.Popen[bytes], address: str, said: Path) -> None:
        self.address = address
        self._process = process
        self._said = said

    def answers(self) -> bool:
        """Whether it answers by now."""
        try:
            with urlopen(f"{self.address}/health", timeout=1):
                return True
        except OSError:
            return False

    def refuse_ended(self) -> None:
        """Say what it said, if it has ended by itself."""
        if self._process.poll() is not None:
            said = self._said.read_text(errors="replace").strip().splitlines()
            raise ParityError(
                f"The server ended with exit code {self._process.returncode}, so everything was stopped. It said: "
                f"{' '.join(said[-3:]) or 'nothing'}"
            )


@contextmanager
def serving(lake: Lake, *, port: int, options: Sequence[str]) -> Iterator[Server]:
    """The server of a lake on loopback, for as long as the block lasts."""
    said = lake.path / "logs" / "serve.log"
    # A session of its own: a Ctrl-C reaches this process, which ends the server itself.
    with said.open("ab") as output:
        process = subprocess.Popen(
            [sys.executable, "-m", "cli.main", "serve", "--lake", str(lake.path), "--port", str(port), *options],
            env=for_child(lake),
            stdin=subprocess.DEVNULL,
            stdout=output,
            stderr=subprocess.STDOUT,
            start_new_session=True,
        )
    try:
        yield Server(process, f"http://127.0.0.1:{port}", said)
    finally:
        _end(process)


def _end(process: subprocess.Popen[bytes]) -> None:
    """Ask it to end, then insist; what it started is in its process group."""
    if process.poll() is None:
        process.terminate()
    try:
        process.wait(GRACE)
    except subprocess.TimeoutExpired:
        os.killpg(process.pid, signal.SIGKILL)
        process.wait()
