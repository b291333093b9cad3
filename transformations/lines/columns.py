"""The values of a field over many lines as a column, as a fast parser has read them.

Where a value is not certainly right its place is null and the line not `sure`: `values` says what becomes of it.
"""

import re
from collections.abc import Callable, Iterable, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from ..kind import MOST_DIGITS, Decimal, FieldType
from .schema import arrow_type

Flags = npt.NDArray[np.bool_]
_NULL = type(None)
_JSON_TYPES: dict[FieldType, type] = {
    "text": str, "time": str, "whole number": int, "long whole number": int, "true or false": bool, "texts": list,
}  # fmt: skip
_BOUNDS: dict[FieldType, int] = {"whole number": 2**31, "long whole number": 2**63}


def column_of(
    said: list[dict[str, Any]], name: str, expected: FieldType, sure: Flags, lines: Sequence[bytes]
) -> pa.Array:
    """What the lines say under a name; a time is a text still."""
    values = [each.get(name) for each in said]
    if isinstance(expected, Decimal):
        return _decimals(values, name, expected, sure, lines)
    json_type = _JSON_TYPES[expected]
    if set(map(type, values)) - {json_type, _NULL}:
        _take_out(values, sure, _where(values, lambda value: type(value) is not json_type))
    if expected == "texts":
        _take_out(values, sure, _where(values, lambda texts: bool(set(map(type, texts)) - {str})))
    column_type = arrow_type("text" if expected == "time" else expected)
    try:
        return pa.array(values, column_type)
    except (pa.ArrowInvalid, OverflowError):
        bound = _BOUNDS[expected]
        _take_out(values, sure, _where(values, lambda value: not -bound <= value < bound))
        return pa.array(values, column_type)


def _where(values: list[Any], holds: Callable[[Any], bool]) -> list[int]:
    """The places of the values for which something holds; null is none."""
    return [place for place, value in enumerate(values) if value is not None and holds(value)]


def _take_out(values: list[Any], sure: Flags, places: Iterable[int]) -> None:
    for place in places:
        values[place], sure[place] = None, False


_EXACT = 15
"""So many digits of a decimal number a float keeps: two such numbers have two floats."""


def _decimals(values: list[Any], name: str, expected: Decimal, sure: Flags, lines: Sequence[bytes]) -> pa.Array:
    """Numbers without a point come as integers, all others as floats. A number of few digits can be told from its float, if
    it was written with as few.
    """
    found, one = set(map(type, values)) - {_NULL}, 10**expected.scale
    if found - {int, float}:
        _take_out(values, sure, _where(values, lambda value: type(value) not in (int, float)))
    unscaled = np.zeros(len(values), np.int64)
    if int in found:
        most = 10**MOST_DIGITS // one
        _take_out(values, sure, _where(values, lambda value: type(value) is int and not -most < value < most))
        whole = _where(values, lambda value: type(value) is int)
        unscaled[whole] = [values[place] * one for place in whole]
    if float in found:
        places = np.array(_where(values, lambda value: type(value) is float), np.int64)
        floats = np.array([values[place] for place in places], np.float64)
        moved = np.rint(floats * one)
        told = (np.abs(moved) < 10**_EXACT) & (moved / one == floats)
        told &= ~np.asarray(pc.match_substring_regex(pa.array([lines[place] for place in places]), _at_length(name)))
        unscaled[places[told]] = moved[told]
        _take_out(values, sure, places[~told].tolist())
    bits = np.stack([unscaled, unscaled >> 63], 1)  # 128 of them, the lower half first
    given = pa.array([value is not None for value in values], pa.bool_()).buffers()[1]
    return pa.Array.from_buffers(arrow_type(expected), len(values), [given, pa.py_buffer(bits)])


def _at_length(name: str) -> str:
    """A pattern of lines that may give this field a number of more digits than `_EXACT`, or one with an exponent, which
    may be too small for any float. A name can be spelt with escapes.
    """
    many = "|".join(rf"[0-9]{{{before}}}\.[0-9]{{{_EXACT + 1 - before},}}" for before in range(1, _EXACT + 1))
    return rf'"(?:{re.escape(name)}|[^"]*\\u[^"]*)"\s*:\s*-?(?:[0-9]{{{_EXACT + 1},}}|[0-9.]+[eE]|{many})'
