"""Pseudonyms: what a check may show of a row does not name a person.

Great Expectations keeps samples of what it finds and shows them. So the frame that it sees has personal columns replaced
by a keyed hash (transformations/pseudonym.py): equal stays equal, and distinct stays distinct, so keys are as unique as they
were. Here it is computed by Spark's own functions.
"""

import hashlib
from collections.abc import Sequence

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F
from pyspark.sql.types import ArrayType, BinaryType, StructField

from lakehouse.pseudonyms import HIDDEN
from transformations.pseudonym import HEX_DIGITS, PREFIX

BLOCK = hashlib.sha256().block_size


def pseudonymised(rows: DataFrame, key: bytes, personal: Sequence[str], *, objects: Sequence[str] = ()) -> DataFrame:
    """`rows` with the same columns, of the same types, but without names of persons and whole lines.

    `personal` are the columns that name a person, `objects` are columns that hold an object as JSON.
    """
    found = {field.name: _replaced(field, key, personal, objects) for field in rows.schema}
    return rows.withColumns({name: replaced for name, replaced in found.items() if replaced is not None})


def _replaced(field: StructField, key: bytes, personal: Sequence[str], objects: Sequence[str]) -> Column | None:
    value = F.col(field.name)
    if isinstance(field.dataType, BinaryType):
        return _hashed(value, key).cast("binary") if field.name in HIDDEN else None
    if field.name in personal or field.name in HIDDEN:
        of_a_list = isinstance(field.dataType, ArrayType)
        return F.transform(value, lambda each: _pseudonym(each, key)) if of_a_list else _pseudonym(value, key)
    return _within(value, key, personal) if field.name in objects else None


def _pseudonym(value: Column, key: bytes) -> Column:
    """A text that is empty or not there stays so."""
    told = value.cast("string")
    return F.when(told == "", told).when(told.isNotNull(), F.concat(F.lit(PREFIX), _hashed(told, key)))


def _within(json: Column, key: bytes, personal: Sequence[str]) -> Column:
    """An object as JSON with its personal fields replaced; what is no object is shown as null."""
    parsed = F.from_json(json, "map<string, string>")
    names = F.array(*(F.lit(name) for name in personal))
    changed = F.transform_values(
        parsed, lambda name, value: F.when(F.array_contains(names, name), _pseudonym(value, key)).otherwise(value)
    )
    return F.to_json(changed)


def _hashed(value: Column, key: bytes) -> Column:
    """HMAC-SHA-256 in Spark's own functions: a Python function would start workers."""
    padded = key.ljust(BLOCK, b"\0")
    inner, outer = (F.lit(bytes(byte ^ pad for byte in padded)) for pad in (0x36, 0x5C))
    first = F.unhex(F.sha2(F.concat(inner, value.cast("binary")), 256))
    return F.substring(F.sha2(F.concat(outer, first), 256), 1, HEX_DIGITS)
