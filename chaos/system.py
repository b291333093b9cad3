"""The system under faults: simulator, ingestion, streams, batch and a reader over one lake, each a process of its own.

Ingestion and streams run for as long as they live. Who dies is started again, as a supervisor would do it; the batch
layer comes round when it is asked to.
"""

import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from chaos.deliveries import Deliveries
from chaos.disk import SmallDisk
from chaos.processes import Process
from chaos.remains import last_numbered
from chaos.subject import Subject
from chaos.violation import Violation
from lakehouse.arrivals import ARRIVALS
from lakehouse.changelogs import boundaries
from lakehouse.failpoints import VARIABLE
from lakehouse.identity import live_epoch, noted
from lakehouse.lake import Lake
from lakehouse.landings import manifests
from lakehouse.log import position
from transformations.durations import to_millis
from transformations.result import Result

Writer = Literal["ingest", "stream", "batch"]
PATIENCE = 240.0
"""Nothing that is waited for takes so many seconds, also on a busy machine."""
STILL = 0.005
PORTIONS = 5
STRUCK_NAMES: dict[Writer, str] = {"ingest": "ingestion", "stream": "the stream", "batch": "the batch layer"}


@dataclass(frozen=True)
class Incident:
    """What was done, in words, and when it struck."""

    said: str
    at: float


class System:
    """The processes over one lake, where they stand, and what strikes them."""

    def __init__(
        self,
        lake: Lake,
        landing: Path,
        deliveries: Deliveries,
        subject: Subject,
        environment: Mapping[str, str],
        *,
        disk: SmallDisk | None = None,
    ) -> None:
        """The tables are on a small `disk` that can be filled, if there is one."""
        self.lake = lake
        self.landing = landing
        self.deliveries = deliveries
        self.disk = disk
        self.subject = subject
        self.results = list(subject.results)
        self._order = lake.path / "failpoint"
        self._environment = {**environment, VARIABLE: str(self._order.resolve())}
        self._running: dict[Writer, Process] = {}
        self._batch_came_round = False

    def command(self, writer: Writer, *more: str, continuous: bool = True) -> list[str]:
        lake = ["--lake", str(self.lake.path)]
        chosen = [part for result in self.results for part in ("--result", result.name)]
        on = ["--continuous"] if continuous else []
        commands = {
            "ingest": ["ingest", *lake, "--landing", str(self.landing), *on],
            "stream": ["stream", *lake, *chosen, *on],
            "batch": ["recompute", *lake, *chosen],
        }
        return [*commands[writer], *more]

    def begin(self, command: list[str], **more: str) -> Process:
        """Start a command beside the writers, with more variables in its environment."""
        log = self.lake.path / "logs" / f"chaos-{command[0]}.log"
        return Process(command, environment={**self._environment, **more}, log=log)

    def start(self, writer: Writer, **more: str) -> Process:
        self._running[writer] = self.begin(self.command(writer), **more)
        self._batch_came_round |= writer == "batch"
        return self._running[writer]

    def batch_came_round(self) -> bool:
        """Whether the batch layer has been started since this was asked last."""
        came_round, self._batch_came_round = self._batch_came_round, False
        return came_round

    def process(self, writer: Writer) -> Process:
        return self._running[writer]

    def arm(self, order: str) -> None:
        """Let the next process that passes this place be struck."""
        draft = self._order.with_name(".failpoint")
        draft.write_text(order)
        draft.replace(self._order)

    def disarm(self) -> None:
        self._order.unlink(missing_ok=True)

    def died(self, writer: Writer) -> int:
        """The exit code of a writer that was struck, once it is dead."""
        process = self.process(writer)
        self.until(lambda: process.code is not None, f"the {writer} was to be struck and goes on")
        return process.wait(PATIENCE)

    def until(self, reached: Callable[[], bool], otherwise: str, *, pause: float = STILL) -> None:
        """Wait until it is so; if that does not come, it is a violation."""
        deadline = time.monotonic() + PATIENCE
        while not reached():
            if time.monotonic() > deadline:
                raise Violation(f"{otherwise}: nothing happened for {PATIENCE:.0f} s. {self.standing()}")
            time.sleep(pause)

    def recovered(self) -> None:
        """Wait until everything that has landed is in the log and in every result."""

        def caught_up() -> bool:
            for writer in ("ingest", "stream"):
                process = self.process(writer)
                if process.code is not None:
                    raise Violation(
                        f"the {writer} ended by itself with exit code {process.code}: {process.said[-600:].strip()}"
                    )
            return self.ingested() and self.streamed()

        self.until(caught_up, "it does not recover", pause=0.05)

    def ingested(self) -> bool:
        """Whether all that has landed is in the log."""
        if not self.lake.has(ARRIVALS):
            return False
        noted_files = [len(files) for _, files in manifests(self.lake)]
        return sum(noted_files) >= self.deliveries.landed and position(self.lake).batch + 1 == len(noted_files)

    def streamed(self) -> bool:
        """Whether every result has come to the end of the log."""
        goal = position(self.lake).version
        return all(self.reached(result) >= goal for result in self.results)

    def reached(self, result: Result) -> int:
        """The version of the log that the stream of a result has come to, -1 before the first."""
        if "epoch" not in noted(self.lake, result):
            return -1
        found = boundaries(self.lake, result, live_epoch(self.lake, result))
        return found[0].log_version if found else -1

    def standing(self) -> str:
        """Where everything stands, in a sentence."""
        reached = ", ".join(f"{result.name} at {self.reached(result)}" for result in self.results)
        last = {writer: process.said.splitlines()[-1:] for writer, process in self._running.items()}
        return f"{self.deliveries.landed} files have landed, the log is at {position(self.lake)}, {reached}. Last said: {last}"

    def checkpoint(self, writer: Writer, result: Result) -> Path:
        return self.lake.checkpoint("ingest") if writer == "ingest" else live_epoch(self.lake, result).checkpoint

    @contextmanager
    def held_still(self, writer: Writer, result: Result) -> Iterator[None]:
        """Stop a writer between two micro-batches of a result. What lands meanwhile is the next one's."""
        process, checkpoint = self.process(writer), self.checkpoint(writer, result)

        def stopped() -> bool:
            process.stop()
            self.until(process.is_stopped, f"the {writer} was to be stopped and goes on")
            if last_numbered(checkpoint / "offsets") == last_numbered(checkpoint / "commits"):
                return True
            process.resume()
            return False

        self.until(stopped, f"the {writer} never rests", pause=0.1)
        try:
            yield
        finally:
            process.resume()

    def await_late(self, kind: str) -> None:
        """Let files land until some that are held back are late, with events of a kind."""
        for _ in range(PORTIONS):
            if self.deliveries.late_files(self.late_before(), kind=kind):
                return
            self.deliveries.portion()
            self.recovered()
        raise Violation(f"after {PORTIONS} portions no file that is held back is late with an event {kind!r}")

    def late_before(self) -> int:
        """What happened until then is late by now, in milliseconds: the mark of the log less the allowed lateness."""
        mark = position(self.lake).high_water
        return 0 if mark is None else to_millis(mark) - self.subject.allowed

    def end(self) -> None:
        for process in self._running.values():
            process.end()
