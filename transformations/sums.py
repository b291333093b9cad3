"""Sums that no number of events makes too large. Spark refuses a sum beyond its type, and a stream could never pass it.

32 bits are added up in 64, which is enough. 64 bits and decimals are added up in 38 digits.
"""

from pyspark.sql import Column
from pyspark.sql import functions as F
from pyspark.sql.types import DecimalType

DIGITS = 38


def sum_type(scale: int = 0) -> DecimalType:
    """The type of the value that `exact_sum` gives."""
    return DecimalType(DIGITS, scale)


def exact_sum(column: str | Column, scale: int = 0) -> Column:
    """The sum of a long whole number or, with its scale, of a decimal."""
    return F.sum((F.col(column) if isinstance(column, str) else column).cast(sum_type(scale)))
