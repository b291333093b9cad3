"""Values of rows as JSON has them."""

from datetime import UTC, datetime
from decimal import Decimal
from typing import Any

from .durations import iso


def plain(value: Any) -> Any:
    """Times are texts in UTC with milliseconds. Decimals are texts too: a reader's float would be another number."""
    if isinstance(value, datetime):
        return iso(value if value.tzinfo else value.replace(tzinfo=UTC))
    if isinstance(value, Decimal):
        return f"{value:f}"
    if isinstance(value, list | tuple):
        return [plain(each) for each in value]
    return value
