"""The Spark type of a declared field's column. Apart from the declarations, which are read where there is no Spark."""

from pyspark.sql.types import DataType, IntegerType, StringType

from .kind import Field, FieldType

_TYPES: dict[FieldType, DataType] = {"text": StringType(), "whole number": IntegerType()}


def column_type(field: Field) -> DataType:
    return _TYPES[field.type]
