"""Numbers as people read them, for the sentences of the verdict and the report."""

from datetime import datetime, timedelta

from transformations.durations import written

STREAM, CONTROL = "stream", "control"
SIDES = {"kappa": STREAM, "legacy": CONTROL}  # what the candidates are called where people read


def number(value: float) -> str:
    """Whole numbers with separators, small fractions with one decimal."""
    if isinstance(value, float) and not value.is_integer() and abs(value) < 100:
        return f"{value:.1f}"
    return f"{round(value):,}"


def spoken(name: str) -> str:
    """The name of a column as people say it."""
    return name.replace("_", " ")


def count(value: int, noun: str, plural: str | None = None) -> str:
    return f"{value:,} {noun if value == 1 else plural or noun + 's'}"


def share(part: float, whole: float) -> str:
    """A percentage that says 0 and 100 only where it is exactly that."""
    if not whole:
        return "-"
    percent = 100 * part / whole
    if percent in (0, 100):
        return f"{percent:.0f} %"
    if percent < 0.1:
        return "< 0.1 %"
    return "> 99.9 %" if percent > 99.9 else f"{percent:.1f} %"


def size(value: int) -> str:
    """Bytes in powers of ten."""
    amount = float(value)
    for unit in ("B", "kB", "MB", "GB"):
        if amount < 1000:
            return f"{amount:.0f} {unit}" if unit == "B" or amount >= 100 else f"{amount:.1f} {unit}"
        amount /= 1000
    return f"{amount:,.1f} TB"


def seconds(value: float) -> str:
    """A duration in the unit that suits it."""
    for limit, unit, name in ((120, 1, "s"), (7200, 60, "min"), (172_800, 3600, "h")):
        if value < limit:
            return f"{value / unit:.1f} {name}"
    return f"{value / 86_400:,.1f} days"


def every(value: timedelta) -> str:
    """`every day`, `every 6 hours`."""
    return f"every {written(value).removeprefix('1 ')}"


def moment(text: str) -> str:
    """An ISO time to the second, in UTC as it is kept."""
    return f"{datetime.fromisoformat(text):%Y-%m-%d %H:%M:%S} UTC"


def listed(parts: list[str]) -> str:
    """`a, b and c`."""
    return " and ".join([", ".join(parts[:-1]), parts[-1]]) if len(parts) > 1 else "".join(parts)
