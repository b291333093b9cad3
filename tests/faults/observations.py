"""What a test of a fault says that it observed."""

from typing import Protocol


class Observe(Protocol):
    def __call__(self, fault: str, behaviour: str, recovery: float | None = None) -> None:
        """Say what happened at a fault, after it was asserted, and after how many seconds all was as without it."""
