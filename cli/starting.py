"""What of `parity live` has come up, on the terminal and, through a note in the lake, on the page."""

import threading
import time
from collections.abc import Mapping, Sequence
from dataclasses import replace
from datetime import UTC, datetime, timedelta

from rich.console import Console, ConsoleOptions, RenderResult
from rich.spinner import Spinner
from rich.text import Text

from cli.terminal import plain
from lakehouse.lake import Lake
from serving.starting import Part, forget_starting, note_starting

SERVER, SIMULATOR, INGESTION, SPARK = "Server", "Simulator", "Ingestion", "Spark"
BATCH, CONTROL = "Batch layer", "Control"
VERDICTS = {"kappa": "Verdict on the stream", "legacy": "Verdict on the control"}


def stream_of(result: str) -> str:
    return f"Stream of {result}"


def parts_of(results: Sequence[str], *, stream_only: bool) -> dict[str, str]:
    """The parts in the order in which they come up, and what each waits for."""
    compared = {
        BATCH: "waits for the stream",
        VERDICTS["kappa"]: "waits for the batch layer",
        CONTROL: "waits for the verdict on all of the stream",
        VERDICTS["legacy"]: "waits for the control",
    }
    streams = {stream_of(result): "waits for Spark and for events" for result in results}
    return {SERVER: "", SIMULATOR: "", INGESTION: "", SPARK: "", **streams, **({} if stream_only else compared)}


class Starting:
    """The parts that come up, told by themselves: they begin, and are ready once."""

    def __init__(self, lake: Lake, console: Console, parts: Mapping[str, str]) -> None:
        self._lake = lake
        self._console = console
        self._parts = {name: Part(name, said=waits) for name, waits in parts.items()}
        self._spinner = Spinner("dots")
        self._lock = threading.Lock()
        self._begun_at, self._begun = datetime.now(UTC), time.monotonic()
        self._note()

    def begins(self, name: str, said: str) -> None:
        """What a part is doing, from now on."""
        with self._lock:
            part = self._parts[name]
            if part.state != "ready":
                at = part.begun_at or datetime.now(UTC).isoformat()
                self._told(replace(part, state="starting", said=said, begun_at=at))

    def ready(self, name: str, said: str) -> None:
        """What a part has come to, the first time; the terminal says how long after the start."""
        with self._lock:
            part = self._parts.get(name)
            if part is None or part.state == "ready":
                return
            took = 0.0 if part.begun_at is None else _since(part.begun_at).total_seconds()
            self._told(replace(part, state="ready", said=said, seconds=round(took, 1)))
            line = f"[green]✓[/] [dim]{self._passed():3.0f} s[/] {plain(name)}: {plain(said)}"
            self._console.print(line, highlight=False, soft_wrap=True)

    def is_ready(self, name: str) -> bool:
        return self._parts[name].state == "ready"

    @property
    def over(self) -> bool:
        """Whether all is ready."""
        return all(each.state == "ready" for each in self._parts.values())

    def forget(self) -> None:
        """Take the note away, when all has ended."""
        with self._lock:
            forget_starting(self._lake)

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        """A line for each part that is coming up, and one for those that wait."""
        parts = list(self._parts.values())
        for each in parts:
            if each.state == "starting" and each.begun_at is not None:
                seconds = int(_since(each.begun_at).total_seconds())
                self._spinner.update(text=_cut(f"{each.name}: {each.said} … {seconds} s", options.max_width - 2))
                yield self._spinner
        waiting = [each.name for each in parts if each.state == "waiting"]
        if waiting:
            yield _cut(f"  {self._passed():.0f} s in all; then {', '.join(waiting)}", options.max_width, style="dim")

    def _told(self, part: Part) -> None:
        if self._parts[part.name] != part:
            self._parts[part.name] = part
            self._note()

    def _note(self) -> None:
        note_starting(self._lake, list(self._parts.values()), begun_at=self._begun_at)

    def _passed(self) -> float:
        return time.monotonic() - self._begun


def _cut(text: str, width: int, style: str = "") -> Text:
    line = Text(text, style=style)
    line.truncate(width, overflow="ellipsis")
    return line


def _since(at: str) -> timedelta:
    return datetime.now(UTC) - datetime.fromisoformat(at)
