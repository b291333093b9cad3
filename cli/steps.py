"""What a person waits for: each step with its time while it runs, which of how many it is, and when it will be done.

    ⠹ Recompute door_counts in batch … 3 s · step 8 of 23 · about 20 s left of these 13

On a terminal the line ticks and gives way to one with a tick mark. Elsewhere that line is all.
"""

import statistics
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager, suppress

from rich.console import Console, ConsoleOptions, RenderableType, RenderResult
from rich.live import Live
from rich.spinner import Spinner
from rich.text import Text

from lakehouse.errors import ParityError

Told = Callable[[int, int], None]
"""Is told how much of how much is done."""
Look = Callable[[], tuple[int, int]]
"""Finds out how much of how much is done."""

LOOKED_EVERY = 1.0
TICKS_A_SECOND = 8
LEAST_KNOWN = 2
"""So many steps of a kind are done before those to come are estimated: the first of a kind is slow, it warms up."""


class Estimate:
    """When the work of a step is done, from how much of it is."""

    def __init__(self, begun: float) -> None:
        self._first = (begun, 0)
        self._last: tuple[float, int, int] | None = None

    def told(self, done: int, of: int, *, at: float) -> None:
        if self._last is None:  # what was done before, in an earlier run, says nothing about how quick this one is
            self._first = (at, done)
        if self._last is None or (done, of) != self._last[1:]:
            self._last = (at, done, of)

    def words(self, now: float) -> list[str]:
        """How much is done, and how long the rest will take as far as one can tell."""
        if self._last is None:
            return []
        (at, done, of), (since, before) = self._last, self._first
        said = [f"{done:,} of {of:,}"]
        if before < done < of:
            left = (of - done) * (at - since) / (done - before) - (now - at)
            said += [f"about {_seconds(left)} left"] if left >= 1 else []
        return said


class _Line:
    """The line of a step that runs, as wide as the terminal: where it is too narrow, what is done is cut short."""

    def __init__(self, what: str, words: Callable[[], list[str]]) -> None:
        self._what = what
        self._words = words
        self._spinner = Spinner("dots")

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        tail = f" {' · '.join(self._words())}"
        what = Text(f"{self._what} …")
        what.truncate(max(options.max_width - len(tail) - 2, 10), overflow="ellipsis")
        self._spinner.update(text=Text.assemble(what, (tail, "dim"), no_wrap=True, overflow="ellipsis"))
        yield self._spinner


@contextmanager
def step(
    console: Console,
    what: str,
    *,
    place: str = "",
    look: Look | None = None,
    left: Callable[[float], str] | None = None,
) -> Iterator[Told]:
    """Say what is being done while it is, and how long it took when it is done.

    How much of it is done tells whoever does it, through what is yielded, or `look`, which is asked once a second where
    somebody can see it. `left` estimates from the seconds that have passed.
    """
    begun = time.monotonic()
    estimate = Estimate(begun)

    def told(done: int, of: int) -> None:
        estimate.told(done, of, at=time.monotonic())

    def words() -> list[str]:
        now = time.monotonic()
        said = [_seconds(now - begun), place, *estimate.words(now), left(now - begun) if left else ""]
        return [each for each in said if each]

    with ticking(console, _Line(what, words)), _looking(console, look, told):
        yield told
    ending = f" · {place}" if place else ""
    console.print(f"[green]✓[/] {what} [dim]{time.monotonic() - begun:.1f} s{ending}[/]", highlight=False)


class Steps:
    """The steps of a command that knows how many it has."""

    def __init__(self, console: Console, of: int) -> None:
        self._console = console
        self._of = of
        self._number = 0

    def __call__(
        self, what: str, *, look: Look | None = None, left: Callable[[float], str] | None = None
    ) -> AbstractContextManager[Told]:
        self._number += 1
        place = f"step {self._number} of {self._of}" if self._of > 1 else ""
        return step(self._console, what, place=place, look=look, left=left)

    def alike(self, count: int) -> Callable[[str], AbstractContextManager[Told]]:
        """For so many steps of one kind: what is left of all is estimated from those that are done."""
        took: list[float] = []

        @contextmanager
        def one(what: str) -> Iterator[Told]:
            begun = time.monotonic()
            with self(what, left=lambda passed: left_of(count, took, passed)) as told:
                yield told
            took.append(time.monotonic() - begun)

        return one


def left_of(count: int, took: Sequence[float], passed: float) -> str:
    """What is left of so many steps of a kind, when some took so long and the next has been running for `passed`."""
    if len(took) < LEAST_KNOWN:
        return ""
    rest = statistics.median(took) * (count - len(took)) - passed
    return f"about {_seconds(rest)} left of these {count}" if rest >= 1 else ""


@contextmanager
def ticking(console: Console, line: RenderableType) -> Iterator[Callable[[RenderableType], None]]:
    """Draw a line again and again, on a terminal; what is yielded puts another in its place."""
    if not console.is_terminal:
        yield lambda _: None
        return
    with Live(
        line, console=console, transient=True, refresh_per_second=TICKS_A_SECOND,
        redirect_stdout=False, redirect_stderr=False,  # what Spark's start prints belongs into its log
    ) as live:  # fmt: skip
        yield live.update


@contextmanager
def _looking(console: Console, look: Look | None, told: Told) -> Iterator[None]:
    """Ask `look` again and again beside what happens inside."""
    if look is None or not console.is_terminal:
        yield
        return
    over = threading.Event()

    def again() -> None:
        while not over.wait(LOOKED_EVERY):
            with suppress(ParityError, OSError, ValueError):  # what is looked at may not be there, or not whole
                told(*look())

    beside = threading.Thread(target=again, name="parity-steps", daemon=True)
    beside.start()
    try:
        yield
    finally:
        over.set()
        beside.join()


def _seconds(length: float) -> str:
    whole = int(length)
    return f"{whole} s" if whole < 100 else f"{whole // 60} min {whole % 60:02d} s"
