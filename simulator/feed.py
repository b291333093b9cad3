"""Lines that land as time goes on: first what was delivered before, in one go, then what arrives, every half second.

The clock and the way to wait are arguments: nobody here asks what time it is, so what arrives at the same moments makes the
same files.
"""

from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from datetime import datetime, timedelta
from pathlib import Path

from simulator.arrivals import Delivery
from simulator.delivered import Delivered
from simulator.landing import land, refuse_landed

Clock = Callable[[], datetime]
Wait = Callable[[float], bool]
"""Waits so many seconds; says whether to stop, as `threading.Event.wait` does."""
Arrived = Callable[[datetime], Sequence[Delivery]]
"""What has arrived since it was asked last and before a moment, in the order of arrival."""
EVERY = timedelta(milliseconds=500)


def refuse_pace(rate: float, senders: int | None) -> None:
    if rate <= 0:
        raise ValueError(f"rate must be more than 0 events a second, not {rate}")
    if senders is not None and senders < 1:
        raise ValueError(f"senders must be at least 1, not {senders}")


def fed(
    landing: Path, begin: Callable[[datetime], Arrived], *, clock: Clock, wait: Wait, back: timedelta, every: timedelta
) -> Delivered:
    """Let what arrives land in an empty directory until `wait` says stop. It begins `back` before now."""
    if back < timedelta(0):
        raise ValueError(f"back must not be negative, it is {back}")
    if every <= timedelta(0):
        raise ValueError(f"every must be more than nothing, not {every}")
    refuse_landed(landing)
    begun = clock()
    arrived = begin(begun - back)
    files = lines = 0
    counts: Counter[str] = Counter()

    def let_land(until: datetime) -> None:
        nonlocal files, lines
        deliveries = arrived(until)
        if deliveries:
            land(landing / f"{files:09d}.jsonl", [delivery.line for delivery in deliveries], modified=until)
            files, lines = files + 1, lines + len(deliveries)
            counts.update(count for delivery in deliveries for count in delivery.counts)

    for end in _minutes(begun - back, begun):
        let_land(end)
    due = begun + every
    while not wait(max((due - clock()).total_seconds(), 0.0)):
        now = clock()
        let_land(now)
        due += every
        if due < now:  # the machine slept, or is too slow: what was missed has landed in one file
            due = now + every
    return Delivered.of(counts, files=files, lines=lines)


def _minutes(start: datetime, end: datetime) -> Iterator[datetime]:
    """The ends of the minutes of [start, end), the last of which may be shorter."""
    while start < end:
        start = min(start + timedelta(minutes=1), end)
        yield start
