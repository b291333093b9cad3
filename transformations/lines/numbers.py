"""A decimal number by its value, from the digits that a line writes: 1.10, 1.1 and 11e-1 are one number.

No float comes between: 0.1 has none, and 18 digits do not fit into one.
"""

import re
from decimal import Decimal
from typing import NamedTuple, Self

_PARTS = re.compile(r"(-?)([0-9]+)(?:\.([0-9]+))?(?:[eE]([+-]?[0-9]+))?")


class Exact(NamedTuple):
    """`digits` times ten to the `power`. The digits have no zero at either end; of 0 there are none."""

    sign: str
    digits: str
    power: int

    @classmethod
    def of(cls, number: str) -> Self:
        """What a number says that JSON allows."""
        parts = _PARTS.fullmatch(number)
        assert parts is not None, number
        sign, before, after, exponent = parts.groups(default="")
        digits = (before + after).rstrip("0")
        if not digits.lstrip("0"):
            return cls("", "", 0)
        power = int(exponent or 0) + len(before) - len(digits)
        return cls(sign, digits.lstrip("0"), power)

    def fits(self, scale: int) -> bool:
        """Whether no digit stands farther behind the point."""
        return self.power >= -scale

    def length(self, scale: int) -> int:
        """How many digits it has in all, if so many stand behind the point."""
        return len(self.digits) + self.power + scale if self.digits else 0

    def decimal(self, scale: int) -> Decimal:
        """The number with so many digits behind the point. It must fit, and have few digits in all."""
        return Decimal(int(f"{self.sign}{self.digits or 0}") * 10 ** (self.power + scale)).scaleb(-scale)
