"""A line read as JSON by the letter: one object, no key twice, no half characters, numbers as they are written.

The limits are those of the parser that read the first logs, Jackson's (which grants 0.… and 0e… one digit more). No ordinary
line comes near them.
"""

import json
import re
from typing import Any

BLANKS = " \t\r"
NUMBER_DIGITS = 1000
NAME_LENGTH = 50_000
TEXT_LENGTH = 20_000_000
LEAST_LIMIT = NUMBER_DIGITS
"""A line of fewer bytes is within all limits."""

_WHOLE = re.compile(r"-?[0-9]+")
_DECIMAL = re.compile(r"-?([0-9]+)(?:\.([0-9]+))?")
_DECIMAL_DIGITS = 38


class Number(str):
    """A number as the line writes it: 1, 1.0 and 1e0 are not the same."""

    @property
    def is_whole(self) -> bool:
        return _WHOLE.fullmatch(self) is not None

    def within(self, bits: int) -> bool:
        """Whether it is a whole number of so many bits. Python refuses to convert thousands of digits."""
        return self.is_whole and len(self) <= bits and -(2 ** (bits - 1)) <= int(self) < 2 ** (bits - 1)

    @property
    def type_name(self) -> str:
        if self.within(64):
            return "bigint"
        parts = _DECIMAL.fullmatch(self)
        if parts is None:
            return "double"
        before, after = parts[1], parts[2] or ""
        digits = len((before + after).lstrip("0"))
        return "decimal" if max(digits, len(after)) <= _DECIMAL_DIGITS else "double"


def object_of(line: str) -> dict[str, Any] | None:
    """The object that the line is, or none if it is anything else. It must not be nested too deep."""
    try:
        said = _DECODER.decode(line.strip(BLANKS))
        if type(said) is not dict:
            return None
        _check_texts(said)
    except ValueError:
        return None
    return said


def type_name(value: Any) -> str:
    """What a value is called in a reason."""
    if isinstance(value, Number):
        return value.type_name
    return _TYPE_NAMES[type(value)]


_TYPE_NAMES = {str: "string", bool: "boolean", list: "array", dict: "object"}


def _object(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) != len(pairs):
        raise ValueError("a key stands twice")
    return found


def _number(text: str) -> Number:
    if len(text) > NUMBER_DIGITS and _digits(text) > NUMBER_DIGITS:
        raise ValueError(f"a number of more than {NUMBER_DIGITS} digits")
    return Number(text)


def _digits(number: str) -> int:
    return sum(map(str.isdigit, number))


def _constant(text: str) -> None:
    raise ValueError(f"{text} is no JSON")


def _check_texts(value: Any) -> None:
    """Refuse half characters, which the log's UTF-8 cannot hold, and texts beyond the limits."""
    if type(value) is str:
        _check_length(value, TEXT_LENGTH)
    elif type(value) is list:
        for each in value:
            _check_texts(each)
    elif type(value) is dict:
        for name, each in value.items():
            _check_length(name, NAME_LENGTH)
            _check_texts(each)


def _check_length(text: str, most: int) -> None:
    if len(text.encode("utf-16-le")) > 2 * most:
        raise ValueError(f"a text of more than {most} characters")


_DECODER = json.JSONDecoder(object_pairs_hook=_object, parse_int=_number, parse_float=_number, parse_constant=_constant)
