"""Parts of one command that run side by side until they are told to stop; the first that fails stops the others."""

import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from signal import SIG_IGN, SIGINT, SIGTERM, signal

from lakehouse.errors import ParityError


class PartFailed(ParityError):
    """One of the parts failed, and the others were stopped for it."""


class Parts:
    """Threads with names. A part ends when `stop` is set, and sets it if it ends before."""

    def __init__(self) -> None:
        self.stop = threading.Event()
        self._threads: list[threading.Thread] = []
        self._failures: list[tuple[str, BaseException]] = []

    def start(self, name: str, work: Callable[[], object]) -> None:
        def body() -> None:
            try:
                work()
            except BaseException as error:
                if not self.stop.is_set():  # what is being stopped may complain about it
                    self._failures.append((name, error))
            finally:
                self.stop.set()

        thread = threading.Thread(target=body, name=name, daemon=True)
        self._threads.append(thread)
        thread.start()

    def repeat(self, name: str, work: Callable[[], object], *, every: float) -> None:
        """A part that does its work, waits so many seconds, and does it again."""

        def again() -> None:
            while not self.stop.is_set():
                work()
                self.stop.wait(every)

        self.start(name, again)

    def running(self, timeout: float) -> list[str]:
        """The parts that have not ended, waiting for them so many seconds in all."""
        for thread in self._threads:
            thread.join(timeout / len(self._threads))
        return [thread.name for thread in self._threads if thread.is_alive()]

    def refuse_failure(self) -> None:
        """Say which part failed first, and why."""
        for name, error in self._failures:
            first = (str(error).strip().splitlines() or [""])[0]
            said = str(error) if isinstance(error, ParityError) else f"{type(error).__name__}: {first[:500]}"
            raise PartFailed(f"The {name} failed, so everything was stopped. {said}") from error


@contextmanager
def interrupted_by_signals() -> Iterator[None]:
    """Let the first SIGINT or SIGTERM interrupt what is done inside. While that is wound up, a second one changes nothing."""

    def interrupt(_number: int, _frame: object) -> None:
        for each in (SIGINT, SIGTERM):
            signal(each, SIG_IGN)
        raise KeyboardInterrupt

    before = [(each, signal(each, interrupt)) for each in (SIGINT, SIGTERM)]
    try:
        yield
    finally:
        for each, handler in before:
            signal(each, SIG_IGN if handler is None else handler)
