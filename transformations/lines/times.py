"""Times as the landing format writes them: one text, and a column of them. A moment is in milliseconds since 1970."""

import re
from datetime import date

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

# The years 2 to 9998: Python's calendar has one more on either side, which a reader in another zone leaves.
FIRST_YEAR, LAST_YEAR = 2, 9998
MOST_HOURS_OF_ZONE = 18

_TIME = re.compile(
    r"([0-9]{4})-([0-9]{2})-([0-9]{2})T([0-9]{2}):([0-9]{2}):([0-9]{2})(?:\.([0-9]{1,9}))?(?:Z|([+-])([0-9]{2}):([0-9]{2}))"
)
_DAY = 24 * 60 * 60 * 1000
_EPOCH = date(1970, 1, 1).toordinal()


def moment(text: str) -> int | None:
    """The moment that a text means, or none if it is no time with a zone. Digits beyond milliseconds are cut off."""
    parts = _TIME.fullmatch(text)
    if parts is None:
        return None
    year, month, day, hour, minute, second = map(int, parts.groups()[:6])
    fraction, sign, zone_hours, zone_minutes = parts.groups()[6:]
    if not FIRST_YEAR <= year <= LAST_YEAR or hour > 23 or minute > 59 or second > 59:
        return None
    try:
        days = date(year, month, day).toordinal() - _EPOCH
    except ValueError:
        return None
    zone = 0
    if sign:
        zone = int(zone_hours) * 60 + int(zone_minutes)
        if int(zone_minutes) > 59 or zone > MOST_HOURS_OF_ZONE * 60:
            return None
        zone = zone if sign == "+" else -zone
    milliseconds = int((fraction or "").ljust(3, "0")[:3])
    return days * _DAY + ((hour * 60 + minute - zone) * 60 + second) * 1000 + milliseconds


_USUAL = "0000-00-00T00:00:00.000Z"
_DIGITS = [place for place, sign in enumerate(_USUAL) if sign == "0"]
_SIGNS = [(place, ord(sign)) for place, sign in enumerate(_USUAL) if sign != "0"]


def moments(texts: pa.Array) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.bool_]]:
    """The moments of a column of texts, and where they are right: for a null as well, whose moment is any.

    The usual form is read a place at a time over all texts, every other by `moment`.
    """
    found = np.zeros(len(texts), np.int64)
    right = np.array(texts.is_null())
    usual = np.asarray(pc.fill_null(pc.binary_length(texts), 0)) == len(_USUAL)
    places = np.flatnonzero(usual)
    if len(places):
        found[places], right[places] = _usual(texts if len(places) == len(texts) else texts.filter(pa.array(usual)))
    for place in np.flatnonzero(~right).tolist():
        said = moment(texts[place].as_py())
        if said is not None:
            found[place], right[place] = said, True
    return found, right


def _usual(texts: pa.Array) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.bool_]]:
    _, offsets, data = texts.buffers()
    begins = np.frombuffer(offsets, np.int32)[texts.offset]
    size = len(texts) * len(_USUAL)
    signs = np.frombuffer(data, np.uint8, size, begins).reshape(-1, len(_USUAL)).T.copy()
    digits = signs - np.uint8(ord("0"))
    right = np.ones(len(texts), np.bool_)
    for place, sign in _SIGNS:
        right &= signs[place] == sign
    for place in _DIGITS:
        right &= digits[place] <= 9

    def two(place: int) -> npt.NDArray[np.int64]:
        number: npt.NDArray[np.int64] = digits[place].astype(np.int64) * 10 + digits[place + 1]
        return number

    year, month, day = two(0) * 100 + two(2), two(5), two(8)
    hour, minute, second = two(11), two(14), two(17)
    right &= (year >= FIRST_YEAR) & (year <= LAST_YEAR) & (month >= 1) & (month <= 12)
    right &= (hour <= 23) & (minute <= 59) & (second <= 59)
    months = ((year - 1970) * 12 + month - 1).astype("M8[M]")
    days = months.astype("M8[D]") + (day - 1)
    right &= days.astype("M8[M]") == months  # a day that a month does not have, also 00, lies in another
    seconds = (hour * 60 + minute) * 60 + second
    found: npt.NDArray[np.int64] = days.astype(np.int64) * _DAY + seconds * 1000 + two(20) * 10 + digits[22]
    return found, right
