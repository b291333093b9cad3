"""The Spark type of a declared field's column. Apart from the declarations, which are read where there is no Spark."""

from pyspark.sql.types import (
    ArrayType,
    BooleanType,
    DataType,
    DecimalType,
    IntegerType,
    LongType,
    StringType,
    TimestampType,
)

from .kind import MOST_DIGITS, Decimal, Field, Named

_TYPES: dict[Named, DataType] = {
    "text": StringType(),
    "whole number": IntegerType(),
    "long whole number": LongType(),
    "true or false": BooleanType(),
    "time": TimestampType(),
    "texts": ArrayType(StringType()),
}


def column_type(field: Field) -> DataType:
    return DecimalType(MOST_DIGITS, field.type.scale) if isinstance(field.type, Decimal) else _TYPES[field.type]
