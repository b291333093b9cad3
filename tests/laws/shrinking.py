"""A log that breaks a law, made small: every arrival goes without which the law is still broken.

Worlds are independent but for the mark, so the log is narrowed to one first (worlds.py). What is left is taken apart in
halves, quarters and so on, as delta debugging does; each try is a run of the stream, so it ends with its time.
"""

from collections.abc import Callable, Sequence

from logs import Arrival, Log

Placed = tuple[int, Arrival]
"""An arrival and the number of its commit."""


def shrunk(log: Log, breaks: Callable[[Log], bool], *, expired: Callable[[], bool]) -> list[list[Arrival]]:
    """The least part of the log found until `expired` for which `breaks` holds. Commits keep their numbers while arrivals go.

    At its end no single arrival, and no empty commit, can go any more, unless the time was over before.
    """
    left = [(number, arrival) for number, commit in enumerate(log) for arrival in commit]
    parts = 2
    while len(left) > 1 and not expired():
        size = -(-len(left) // parts)
        for first in range(0, len(left), size):
            rest = left[:first] + left[first + size :]
            if expired() or (rest and breaks(_commits(rest, len(log)))):
                break
        else:
            if size == 1:
                break
            parts = min(2 * parts, len(left))
            continue
        if expired():
            break
        left, parts = rest, max(parts - 1, 2)
    return _without_empty_commits(_commits(left, len(log)), breaks, expired)


def _commits(placed: Sequence[Placed], count: int) -> list[list[Arrival]]:
    return [[arrival for number, arrival in placed if number == commit] for commit in range(count)]


def _without_empty_commits(
    log: list[list[Arrival]], breaks: Callable[[Log], bool], expired: Callable[[], bool]
) -> list[list[Arrival]]:
    for number in reversed(range(len(log))):
        rest = log[:number] + log[number + 1 :]
        if not log[number] and not expired() and breaks(rest):
            log = rest
    return log
