"""Who measures and where: sensors, each with the gateway that it reports to, and the rooms of a building."""

import random
from dataclasses import dataclass

SENSORS_A_GATEWAY = 10
SENSORS_A_ROOM = 5
COLD = 8
"""One room in so many is a cold store."""


@dataclass
class Sensor:
    """A sensor measures the room that it is in, in hundredths of a degree. At first nobody has put it anywhere."""

    number: int
    gateway: int
    hundredths: int
    room: int | None = None

    @property
    def name(self) -> str:
        return f"sensor-{self.number:04d}"


class Fleet:
    """All sensors and rooms."""

    def __init__(self, rng: random.Random, *, sensors: int) -> None:
        self._rng = rng
        self.gateways = max(2, sensors // SENSORS_A_GATEWAY)
        rooms = max(3, sensors // SENSORS_A_ROOM)
        self._usual = [
            rng.randint(-2200, -1600) if number % COLD == 1 else rng.randint(1700, 2500) for number in range(rooms)
        ]
        self.sensors = [
            Sensor(number, number % self.gateways, hundredths=rng.randint(1800, 2300)) for number in range(sensors)
        ]

    def measured(self, sensor: Sensor) -> int | float:
        """The next temperature: a step at random, and a twentieth of the way to what is usual in the room."""
        usual = sensor.hundredths if sensor.room is None else self._usual[sensor.room]
        sensor.hundredths += self._rng.randint(-6, 6) + (usual - sensor.hundredths) // 20
        degrees, rest = divmod(sensor.hundredths, 100)
        return sensor.hundredths / 100 if rest else degrees

    def other_room(self, sensor: Sensor) -> int:
        return self._rng.choice([room for room in range(len(self._usual)) if room != sensor.room])

    @staticmethod
    def name_of(room: int) -> str:
        return f"room-{room:03d}"
