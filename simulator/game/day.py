"""The simulation itself: a day of the game, as landing files in the order in which the server got the lines.

    python -c "from pathlib import Path; from simulator.game import simulate; print(simulate(Path('landing')))"

The same arguments give the same bytes, names and modification times on any machine: every choice comes from
generators with a seed, time is counted from `start`, and nobody asks what time it is.
"""

from collections import Counter
from collections.abc import Callable, Iterator
from datetime import UTC, datetime
from pathlib import Path

from simulator.arrivals import arrivals, generator
from simulator.delivered import Delivered
from simulator.game.coincidences import Coincidences
from simulator.game.happening import Happening
from simulator.game.network import Network
from simulator.game.phones import phones as hand_out_phones
from simulator.game.play import Play
from simulator.game.rhythm import HOUR, Span, slots
from simulator.game.roster import TEAMS, Roster
from simulator.landing import Landing
from simulator.lines import milliseconds

DEFAULT_START = datetime(2026, 3, 1, tzinfo=UTC)


def simulate(
    landing: Path,
    *,
    events: int = 100_000,
    seed: int = 7,
    senders: int = 200,
    hours: float = 24.0,
    files: int = 48,
    start: datetime = DEFAULT_START,
    on_progress: Callable[[int, int], None] | None = None,
) -> Delivered:
    """Write `events` distinct events, with copies and broken lines between them, into an empty directory.

    The events happen in [start, start + hours); the last deliveries come up to some 26 hours after that. Each of the `senders`
    is a player with a phone.
    `on_progress` is told how many of how many events have happened, now and then and at the end.
    """
    _check(events=events, senders=senders, hours=hours, files=files, start=start)
    span = Span(start=milliseconds(start), length=int(hours * HOUR))
    roster = Roster(generator(seed, "roster"), players=senders)
    phones = hand_out_phones(generator(seed, "phones"), players=senders, start=span.start)
    carried = events - span.heartbeats(events)
    network = Network(generator(seed, "network"), generator(seed, "oddities"), phones, events=carried)
    play = Play(generator(seed, "play"), roster, Coincidences(generator(seed, "coincidences"), roster.teams))
    shares = [TEAMS[team] for team in roster.teams]
    counts: Counter[str] = Counter()

    def happenings() -> Iterator[Happening]:
        moments = slots(generator(seed, "rhythm"), span, events=events, shares=shares)
        for number, slot in enumerate(moments, start=1):
            yield play.happening(slot)
            if on_progress is not None and (number % 1000 == 0 or number == events):
                on_progress(number, events)

    with Landing(landing, files=files, lines=events + network.extra_lines) as target:
        for delivery in arrivals(happenings(), network.carry):
            target.add(delivery.line, arrives=delivery.arrives)
            for count in delivery.counts:
                counts[count] += 1
        target.publish()
    return Delivered.of(counts, files=target.files, lines=target.lines)


def _check(*, events: int, senders: int, hours: float, files: int, start: datetime) -> None:
    if start.tzinfo is None:
        raise ValueError(f"start has no time zone: {start.isoformat()}; give one, for example tzinfo=UTC")
    for name, value in (("events", events), ("senders", senders), ("files", files)):
        if value < 1:
            raise ValueError(f"{name} must be at least 1, not {value}")
    if hours * HOUR < 1:
        raise ValueError(f"hours must be at least a millisecond, not {hours}")
