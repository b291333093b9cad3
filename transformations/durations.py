"""Durations as people write them ("5 minutes"), in whole milliseconds: the finest step of the engine's watermark."""

import re
from datetime import UTC, datetime, timedelta

_UNITS = {
    "millisecond": timedelta(milliseconds=1),
    "second": timedelta(seconds=1),
    "minute": timedelta(minutes=1),
    "hour": timedelta(hours=1),
    "day": timedelta(days=1),
}
_PATTERN = re.compile(rf"(\d{{1,9}})\s*({'|'.join(_UNITS)})s?", re.IGNORECASE)


def parse_duration(text: str) -> timedelta:
    """The duration that `text` says: a whole number and a unit, e.g. "90 seconds" or "1 day"."""
    match = _PATTERN.fullmatch(text.strip())
    if match is None:
        raise ValueError(
            f"{text!r} is not a duration; write a whole number and one of "
            f"{', '.join(unit + 's' for unit in _UNITS)}, e.g. '5 minutes'"
        )
    return int(match[1]) * _UNITS[match[2].lower()]


def milliseconds(duration: timedelta) -> int:
    """The duration in whole milliseconds; anything finer is refused."""
    whole, rest = divmod(duration, timedelta(milliseconds=1))
    if rest:
        raise ValueError(f"{duration} is finer than a millisecond, which event time is not")
    return whole


def written(duration: timedelta) -> str:
    """The duration as people write it, in the largest unit that divides it. Spark reads this form too."""
    for name, unit in reversed(_UNITS.items()):
        count, rest = divmod(duration, unit)
        if count and not rest:
            return f"{count} {name}{'' if count == 1 else 's'}"
    return "0 seconds"


def from_millis(moment: int) -> datetime:
    """The moment that is so many milliseconds after 1970-01-01T00:00Z. Collected timestamps have no zone; these do."""
    return datetime(1970, 1, 1, tzinfo=UTC) + timedelta(milliseconds=moment)


def iso(moment: datetime) -> str:
    """ISO 8601 in UTC with milliseconds, as in the landing format."""
    return moment.astimezone(UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")


def to_millis(moment: datetime) -> int:
    """The whole milliseconds from 1970-01-01T00:00Z to `moment`."""
    return (moment - datetime(1970, 1, 1, tzinfo=UTC)) // timedelta(milliseconds=1)
