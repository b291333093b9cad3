"""Values as they are shown: in pages, in the terminal and in JSON."""

from datetime import UTC, datetime, timedelta
from decimal import Decimal
from typing import Any

from transformations.durations import iso


def plain(value: Any) -> Any:
    """A value of a row as JSON has it."""
    if isinstance(value, datetime):
        return iso(value if value.tzinfo else value.replace(tzinfo=UTC))
    if isinstance(value, bytes | bytearray):
        return f"{len(value)} bytes"
    if isinstance(value, Decimal):
        return float(value)
    if isinstance(value, list | tuple):
        return [plain(each) for each in value]
    return value


def shown(value: Any, unit: str) -> str:
    """A figure with its unit."""
    if value is None:
        return "nothing"
    if unit == "share":
        return f"{value:.2%}"
    if unit == "seconds":
        return str(timedelta(seconds=round(value)))
    return f"{value:,}"
