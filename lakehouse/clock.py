"""What time it is: asked of one function, which whoever starts a job may give. The tests of a week give their own."""

from collections.abc import Callable
from datetime import UTC, datetime

Clock = Callable[[], datetime]


def wall_clock() -> datetime:
    """The time of this machine, in UTC."""
    return datetime.now(UTC)
