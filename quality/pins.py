"""The pin: the version of the log at which a lake is validated, and the moment. Nothing below asks for the time."""

from dataclasses import dataclass, replace
from datetime import datetime, timedelta

from lakehouse.lake import Lake
from lakehouse.log import Position, known_version, position
from lakehouse.settings import Settings


@dataclass(frozen=True)
class Pin:
    """`lake` has the log that is validated; `moment` is when."""

    lake: Lake
    version: int
    position: Position
    asked: bool
    """Whether somebody asked for this version. If not, it is the newest one."""
    settings: Settings
    moment: datetime

    @property
    def high_water(self) -> datetime | None:
        """The mark of the log there, none if it is empty."""
        return self.position.high_water

    def lag(self, reached: datetime | None) -> timedelta:
        """How far what has come to a mark of the log is behind the pin, in event time."""
        if reached is None or self.high_water is None:
            return timedelta()
        return max(self.high_water - reached, timedelta())


def pinned(lake: Lake, settings: Settings, *, log_version: int | None, moment: datetime) -> Pin:
    """The pin at `log_version`, or at the newest version of the log."""
    whole = replace(lake, since=0)
    version = known_version(whole, log_version, option="--log-version")
    return Pin(whole, version, position(whole, version), log_version is not None, settings, moment)
