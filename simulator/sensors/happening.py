"""One thing that happens to a sensor, or on the server."""

from typing import NamedTuple

from simulator.sensors.fleet import Sensor

Record = dict[str, str | int | float | None]
"""The fields of one line, in the order in which they are written."""


class Happening(NamedTuple):
    """An event as it truly happened, in milliseconds, before anybody dates and delivers it."""

    event_id: str
    kind: str
    sensor: Sensor | None
    fields: Record
    at: int
