"""What a value of a line is to a field of each type, one by one: its value in the column, or why it has none."""

from collections.abc import Mapping
from typing import Any

from ..kind import MOST_DIGITS, Decimal, FieldType, in_words
from .numbers import Exact
from .strict_json import Number, type_name
from .times import moment

_BITS: Mapping[FieldType, int] = {"whole number": 32, "long whole number": 64}


def value_of(said: Any, expected: FieldType) -> Any:
    """A value as its column has it, moments in milliseconds, or none if it is of another type or out of its range."""
    if isinstance(expected, Decimal):
        return _decimal(said, expected.scale)
    if expected in _BITS:
        return int(said) if isinstance(said, Number) and said.within(_BITS[expected]) else None
    if expected == "true or false":
        return said if type(said) is bool else None
    if expected == "texts":
        return said if type(said) is list and all(type(each) is str for each in said) else None
    if type(said) is not str:
        return None
    return moment(said) if expected == "time" else said


def complaint(name: str, said: Any, expected: FieldType) -> str:
    """The reason against a field whose value has no place in its column."""
    found = type_name(said)
    if isinstance(said, Number):
        if expected in _BITS and said.is_whole:
            return f"number outside {_BITS[expected]} bits: {name}"
        if isinstance(expected, Decimal):
            if Exact.of(said).fits(expected.scale):
                return f"number outside {MOST_DIGITS} digits: {name}"
            found = "more digits after the point"
    elif expected == "texts" and type(said) is list:
        found = "array with other values"
    return f"ill-typed field: {name} (expected {in_words(expected)}, found {found})"


def _decimal(said: Any, scale: int) -> Any:
    if not isinstance(said, Number):
        return None
    number = Exact.of(said)
    return number.decimal(scale) if number.fits(scale) and number.length(scale) <= MOST_DIGITS else None
