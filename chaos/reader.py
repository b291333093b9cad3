"""The reader beside the faults: a client of `parity serve` that asks again and again, and complains of what must not be.

Whatever happens to the writers, an answer comes, is of one version of the log, has each key once, and never goes back.
"""

import json
import re
import threading
from typing import Any
from urllib.error import HTTPError
from urllib.request import urlopen

from chaos.processes import Process

PAUSE = 0.5
PATIENCE = 60.0
NOT_YET = 404
"""The stream has not written anything so far."""


class Reader:
    """Asks for one result until it is told to end."""

    def __init__(self, server: Process, result: str) -> None:
        self._server = server
        self._result = result
        self._end = threading.Event()
        self._thread = threading.Thread(target=self._ask, daemon=True)
        self.answers = 0
        self.complaints: list[str] = []
        self._log_version = -1
        self._thread.start()

    def end(self) -> None:
        self._end.set()
        self._thread.join(PATIENCE)
        self._server.end()

    def _ask(self) -> None:
        address = self._address()
        while address is not None and not self._end.wait(PAUSE):
            try:
                with urlopen(f"{address}/results/{self._result}?limit=10000", timeout=PATIENCE) as answer:
                    self._judge(json.load(answer))
                self.answers += 1
            except HTTPError as error:
                if error.code != NOT_YET or self.answers:
                    self._complain(f"the server answered {error.code}: {error.read().decode(errors='replace')[:300]}")
            except (OSError, ValueError) as error:
                if not self._end.is_set():
                    self._complain(f"the server gave no answer: {error}")

    def _judge(self, answer: dict[str, Any]) -> None:
        if answer["log_version"] < self._log_version:
            self._complain(f"an answer went back from log version {self._log_version} to {answer['log_version']}")
        self._log_version = answer["log_version"]
        keys = [json.dumps([row["window_start"], row["team_id"]]) for row in answer["rows"]]
        if len(set(keys)) != len(keys):
            twice = next(key for key in keys if keys.count(key) > 1)
            self._complain(f"an answer at log version {answer['log_version']} has {twice} twice")

    def _complain(self, complaint: str) -> None:
        if len(self.complaints) < 10:
            self.complaints.append(complaint)

    def _address(self) -> str | None:
        while not self._end.wait(0.1):
            if found := re.search(r"http://127\.0\.0\.1:\d+", self._server.said):
                return found.group()
            if self._server.code is not None:
                self._complain(f"the server ended with exit code {self._server.code}: {self._server.said[-300:]}")
                return None
        return None
