"""Values as they are shown: in pages, in the terminal and in JSON."""

from datetime import timedelta
from decimal import Decimal
from typing import Any

from transformations import plain as of_a_row


def plain(value: Any) -> Any:
    """A value of a row as it is shown."""
    return f"{len(value)} bytes" if isinstance(value, bytes | bytearray) else of_a_row.plain(value)


def exact(value: int | Decimal) -> int | str:
    """A sum as JSON has it without a loss: a whole number, or else a text."""
    return int(value) if value == int(value) else f"{value:f}"


def shown(value: Any, unit: str) -> str:
    """A figure with its unit."""
    if value is None:
        return "nothing"
    if unit == "share":
        return f"{value:.2%}"
    if unit == "seconds":
        return str(timedelta(seconds=round(value)))
    return value if isinstance(value, str) else f"{value:,}"
