"""The sensors as they go on measuring: the same fleet and mishaps as of a simulated day, without an end.

    parity live --pipeline sensors

The same seed and the same clock give the same files.
"""

import random
from collections.abc import Iterator, Sequence
from datetime import datetime, timedelta
from pathlib import Path

from simulator.arrivals import Delivery, GoesOn, arrivals, generator
from simulator.delivered import Delivered
from simulator.feed import EVERY, Arrived, Clock, Wait, fed, refuse_pace
from simulator.lines import milliseconds
from simulator.sensors.fleet import Fleet
from simulator.sensors.gateways import MINUTE, Gateway, gateways
from simulator.sensors.happening import Happening
from simulator.sensors.measuring import Measuring
from simulator.sensors.network import Network

LEAST_SENSORS = 40
CARRIED = 20_000
"""After so many events the network draws anew which of them are retried, contradicted or followed by a line of no use."""


def feed(
    landing: Path,
    *,
    rate: float,
    clock: Clock,
    wait: Wait,
    back: timedelta = timedelta(minutes=60),
    every: timedelta = EVERY,
    seed: int = 7,
    senders: int | None = None,
) -> Delivered:
    """Let `rate` events a second land in an empty directory until `wait` says stop.

    By default there are ten sensors for each event a second, and at least 40.
    """
    refuse_pace(rate, senders)

    def begin(start: datetime) -> Arrived:
        return Building(
            seed=seed, rate=rate, sensors=senders or max(LEAST_SENSORS, round(10 * rate)), start=start
        ).arrived

    return fed(landing, begin, clock=clock, wait=wait, back=back, every=every)


class Building(GoesOn):
    """Sensors that go on measuring from `start`."""

    def __init__(self, *, seed: int, rate: float, sensors: int, start: datetime) -> None:
        begin = milliseconds(start)
        fleet = Fleet(generator(seed, "fleet"), sensors=sensors)
        boxes = gateways(generator(seed, "gateways"), count=fleet.gateways, start=begin)
        network = _Networks(generator(seed, "network"), boxes)
        measuring = Measuring(generator(seed, "measuring"), fleet, start=begin, rate=rate, beat=MINUTE)
        super().__init__(arrivals(measuring, network.carry))


class _Networks:
    """One network after another: each knows beforehand how many events it carries."""

    def __init__(self, rng: random.Random, boxes: Sequence[Gateway]) -> None:
        self._rng = rng
        self._boxes = boxes
        self._left = 0

    def carry(self, happening: Happening) -> Iterator[Delivery]:
        if not self._left:
            self._network = Network(self._rng, self._boxes, events=CARRIED)
            self._left = CARRIED
        self._left -= 1
        return self._network.carry(happening)
