"""A day of the sensors, as landing files in the order in which the server got the lines.

    python -c "from pathlib import Path; from simulator.sensors import simulate; print(simulate(Path('landing')))"

The same arguments give the same bytes, names and modification times on any machine: every choice comes from generators with a
seed, time is counted from `start`, and nobody asks what time it is.
"""

from collections import Counter
from datetime import UTC, datetime
from itertools import islice
from pathlib import Path

from simulator.arrivals import arrivals, generator
from simulator.delivered import Delivered
from simulator.landing import Landing
from simulator.lines import milliseconds
from simulator.sensors.fleet import Fleet
from simulator.sensors.gateways import HOUR, MINUTE, gateways
from simulator.sensors.measuring import Measuring
from simulator.sensors.network import Network

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
) -> Delivered:
    """Write `events` distinct events, with copies and broken lines between them, into an empty directory.

    They happen within about so many hours from `start` on; the last deliveries come some hours later. Each of the `senders` is
    a sensor.
    """
    _check(events=events, senders=senders, hours=hours, files=files, start=start)
    begin, length = milliseconds(start), int(hours * HOUR)
    fleet = Fleet(generator(seed, "fleet"), sensors=senders)
    network = Network(
        generator(seed, "network"),
        gateways(generator(seed, "gateways"), count=fleet.gateways, start=begin),
        events=events,
    )
    # Of few events in many hours at most a twentieth are heartbeats.
    beat = max(10 * MINUTE, 20 * length // events)
    measuring = Measuring(generator(seed, "measuring"), fleet, start=begin, rate=events * 1000 / length, beat=beat)
    counts: Counter[str] = Counter()
    with Landing(landing, files=files, lines=events + network.extra_lines) as target:
        for delivery in arrivals(islice(measuring, events), network.carry):
            target.add(delivery.line, arrives=delivery.arrives)
            counts.update(delivery.counts)
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
