"""A reader beside the writers: it asks the server for every result and layer, over and over, whatever happens to the writers.

Every answer has to be whole: it is of one version of the log, has each key once, never goes back, and says the same again for
the same version. Whatever goes wrong here is a complaint, the reader's own mistakes too: one that died silently would have none.
"""

import json
import re
import threading
import time
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any
from urllib.error import HTTPError
from urllib.parse import urlencode
from urllib.request import urlopen

from chaos.processes import Process
from chaos.violation import Violation
from transformations.result import Result

PAUSE = 0.1
PATIENCE = 60.0
NOT_YET = 404
"""The layer has not written anything so far."""
LAYERS = ("kappa", "lambda", "batch")
"""The control is not at work here: it has its own verdict."""
LIMIT = 10_000
MOST_COMPLAINTS = 10


@dataclass(frozen=True)
class Question:
    result: Result = field(hash=False)
    layer: str

    @property
    def said(self) -> str:
        return f"{self.result.name} of {self.layer}"

    @property
    def is_of_the_log_alone(self) -> bool:
        """Whether the answer follows from the version of the log. An engine that tells results once may tell more of one."""
        told_once = self.result.way == "engine" and self.result.window.mode == "append"
        return self.layer == "batch" or (self.layer == "kappa" and not told_once)


@dataclass(frozen=True)
class Sums:
    """What an answer comes to: how many rows, and of each value the sum, or how many there are if it is no whole number."""

    rows: int
    values: tuple[tuple[str, int], ...]

    @classmethod
    def of(cls, rows: Sequence[dict[str, Any]], result: Result) -> "Sums":
        shown = [name for name in result.value_names if rows and name in rows[0]]
        columns = {name: [row[name] for row in rows if row[name] is not None] for name in shown}
        sums = {
            name: sum(values) if all(type(value) is int for value in values) else len(values)
            for name, values in columns.items()
        }
        return cls(len(rows), tuple(sums.items()))


def _whole(address: str, layer: str) -> dict[str, Any]:
    """The answer with the rows of all of its pages, which are of the versions of the first."""
    asked, rows = {"layer": layer, "limit": LIMIT}, []
    while True:
        with urlopen(f"{address}?{urlencode(asked)}", timeout=PATIENCE) as answer:
            page: dict[str, Any] = json.load(answer)
        rows += page["rows"]
        if page["next"] is None:
            return {**page, "rows": rows}
        asked["cursor"] = page["next"]


class Reader:
    """Asks until it is told to end."""

    def __init__(self, server: Process, results: Sequence[Result]) -> None:
        self.questions = [Question(result, layer) for layer in LAYERS for result in results]
        self._server = server
        self._end = threading.Event()
        self.complaints: list[str] = []
        self._answers = {question: 0 for question in self.questions}
        self._versions: dict[Question, int] = {}
        self._sums: dict[tuple[Question, Any], Sums] = {}
        self._thread = threading.Thread(target=self._ask_and_tell, daemon=True)
        self._thread.start()

    def answers(self) -> dict[Question, int]:
        """How many answers there have been to each question."""
        return dict(self._answers)

    def sums(self) -> dict[tuple[Question, int], Sums]:
        """What the answers have come to of which the version of the log says all."""
        return {(question, of): sums for (question, of), sums in list(self._sums.items()) if isinstance(of, int)}

    def refuse_silence(self, since: dict[Question, int], *, patience: float = PATIENCE) -> None:
        """Wait until each question has been answered since then; complaints and silence are violations."""
        deadline = time.monotonic() + patience
        while not self.complaints and self._thread.is_alive() and time.monotonic() < deadline:
            if not self._unanswered(since):
                break
            time.sleep(PAUSE)
        if self.complaints:
            raise Violation(f"the reader complains: {'; '.join(self.complaints)}")
        if silent := self._unanswered(since):
            raise Violation(f"the reader got no answer in this round about {', '.join(each.said for each in silent)}")
        if not self._thread.is_alive():
            raise Violation("the reader has ended and did not say why")

    def end(self) -> None:
        self._end.set()
        self._thread.join(PATIENCE)
        self._server.end()

    def _unanswered(self, since: dict[Question, int]) -> list[Question]:
        return [each for each, count in self.answers().items() if count <= since[each]]

    def _ask_and_tell(self) -> None:
        try:
            self._ask()
        except BaseException as error:
            self._complain(f"the reader itself failed: {type(error).__name__}: {error}")

    def _ask(self) -> None:
        address = self._address()
        while address is not None and not self._end.is_set():
            for question in self.questions:
                if self._end.wait(PAUSE):
                    return
                self._ask_one(address, question)

    def _ask_one(self, address: str, question: Question) -> None:
        try:
            self.judge(question, _whole(f"{address}/results/{question.result.name}", question.layer))
            self._answers[question] += 1
        except HTTPError as error:
            if error.code != NOT_YET or self._answers[question]:
                said = error.read().decode(errors="replace")[:300]
                self._complain(f"the server answered {error.code} about {question.said}: {said}")
        except Exception as error:
            if not self._end.is_set():
                self._complain(f"there was no answer about {question.said}: {type(error).__name__}: {error}")

    def judge(self, question: Question, answer: dict[str, Any]) -> None:
        """Complain about an answer that is not whole, or is another than before."""
        version, rows, result = answer["log_version"], answer["rows"], question.result
        if version < self._versions.get(question, -1):
            self._complain(f"{question.said} went back from log version {self._versions[question]} to {version}")
        self._versions[question] = version
        keys = [json.dumps([row[name] for name in (*result.key, "window_start")]) for row in rows]
        if len(set(keys)) != len(keys):
            twice = next(key for key in keys if keys.count(key) > 1)
            self._complain(f"{question.said} at log version {version} has {twice} twice")
        of = version if question.is_of_the_log_alone else json.dumps(answer["versions"], sort_keys=True)
        sums = Sums.of(rows, result)
        before = self._sums.setdefault((question, of), sums)
        if before != sums:
            self._complain(f"{question.said} at log version {version} came to {before}, and then to {sums}")

    def _complain(self, complaint: str) -> None:
        if len(self.complaints) < MOST_COMPLAINTS:
            self.complaints.append(complaint)

    def _address(self) -> str | None:
        while not self._end.wait(PAUSE):
            if found := re.search(r"http://127\.0\.0\.1:\d+", self._server.said):
                return found.group()
            if self._server.code is not None:
                self._complain(f"the server ended with exit code {self._server.code}: {self._server.said[-300:]}")
                return None
        return None
