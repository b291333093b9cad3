"""What happens in the building, in the order of time and without an end.

A sensor measures in stretches: every few seconds for a minute or so, then others do. Now and then somebody puts one into
another room, at times in the very moment of a reading.
"""

import heapq
import random
from collections.abc import Iterator
from dataclasses import dataclass

from simulator.lines import event_id
from simulator.sensors.fleet import Fleet, Sensor
from simulator.sensors.happening import Happening

SECOND, MINUTE = 1_000, 60_000
FEWEST, MOST = 4, 24
"""How many readings a stretch has."""
QUICKEST, SLOWEST = 800, 3_200
"""The time between two of them."""
PLACED, MOVED = 0.2, 0.01
"""How many of the readings are followed by a move, of a sensor that is nowhere and of any other."""
AT_ONCE = 0.2
"""The share of moves in the very moment of the reading."""


@dataclass
class Stretch:
    sensor: Sensor
    left: int


@dataclass
class Move:
    sensor: Sensor


class Next:
    """The beginning of the next stretch."""


class Beat:
    """The server says that time goes on."""


Due = Stretch | Move | Next | Beat


class Measuring:
    """So many readings a second from a moment on, and a heartbeat every `beat`; all times are in milliseconds."""

    def __init__(self, rng: random.Random, fleet: Fleet, *, start: int, rate: float, beat: int) -> None:
        self._rng = rng
        self._fleet = fleet
        self._pause = SECOND * (FEWEST + MOST) / 2 / rate
        self._beat = beat
        self._due: list[tuple[int, int, Due]] = []
        self._number = 0
        self._then(start, Beat())
        self._then(start, Next())

    def __iter__(self) -> Iterator[Happening]:
        while True:
            at, _, due = heapq.heappop(self._due)
            if isinstance(due, Next):
                self._begin(at)
            elif isinstance(due, Stretch):
                yield self._reading(at, due)
            elif isinstance(due, Move):
                yield self._moved(at, due.sensor)
            else:
                self._then(at + self._beat, due)
                yield Happening(event_id(self._rng), "heartbeat", None, {}, at)

    def _then(self, at: int, due: Due) -> None:
        heapq.heappush(self._due, (at, self._number, due))
        self._number += 1

    def _begin(self, at: int) -> None:
        self._then(at, Stretch(self._rng.choice(self._fleet.sensors), self._rng.randint(FEWEST, MOST)))
        self._then(at + int(2 * self._pause * self._rng.random()), Next())

    def _reading(self, at: int, stretch: Stretch) -> Happening:
        sensor = stretch.sensor
        if stretch.left > 1:
            self._then(at + self._rng.randint(QUICKEST, SLOWEST), Stretch(sensor, stretch.left - 1))
        if self._rng.random() < (PLACED if sensor.room is None else MOVED):
            at_once = self._rng.random() < AT_ONCE
            self._then(at if at_once else at + self._rng.randint(1, 5 * MINUTE), Move(sensor))
        fields = {"sensor_id": sensor.name, "temperature": self._fleet.measured(sensor)}
        return Happening(event_id(self._rng), "temperature_read", sensor, {**fields}, at)

    def _moved(self, at: int, sensor: Sensor) -> Happening:
        sensor.room = self._fleet.other_room(sensor)
        fields = {"sensor_id": sensor.name, "room_id": self._fleet.name_of(sensor.room)}
        return Happening(event_id(self._rng), "sensor_moved", sensor, {**fields}, at)
