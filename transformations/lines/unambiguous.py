"""Which lines say nothing that a fast parser hides: no key twice, nothing beyond the limits.

A quote in a line belongs to a key or to a text, or is an escaped one. If there are just as many as the keys and texts of the
parsed object explain, none is escaped, and no key was replaced by another of its name.
"""

from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from .nesting import LEVELS
from .strict_json import LEAST_LIMIT

Flags = npt.NDArray[np.bool_]


def unambiguous(lines: Sequence[bytes], said: list[dict[str, Any]], texts: npt.NDArray[np.int64]) -> Flags:
    """Where a parsed line is what it says. `texts` are how many texts of each the caller has seen; a line may have more."""
    count = len(lines)
    sure = np.fromiter(map(len, lines), np.int64, count) < LEAST_LIMIT
    block = b"".join(lines)
    if b"[" in block or block.count(b"{") > count:
        brackets = (line.count(b"[") + line.count(b"{") for line in lines)
        sure &= np.fromiter(brackets, np.int64, count) <= LEVELS
    quotes = np.fromiter((line.count(b'"') for line in lines), np.int64, count)
    explained = 2 * (np.fromiter(map(len, said), np.int64, count) + texts)
    for place in np.flatnonzero(sure & (quotes != explained)).tolist():
        sure[place] = quotes[place] == 2 * _texts(said[place])
    return sure


def _texts(value: Any) -> int:
    """The keys and texts of a value, those within it included."""
    if type(value) is str:
        return 1
    if type(value) is dict:
        return len(value) + sum(map(_texts, value.values()))
    return sum(map(_texts, value)) if type(value) is list else 0
