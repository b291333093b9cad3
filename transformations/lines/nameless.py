"""The names taken out: judged lines as a lake without names has them, before anything is written.

A line whose fields are all right is written anew from the declared fields, with pseudonyms. It is a landing line still, so
that it can be judged again. Of any other line, which may hold a name anywhere, the bytes are withheld: the lake has how many
they were and their keyed hash.
"""

from collections.abc import Iterable
from datetime import timedelta
from typing import Any

import numpy as np
import orjson
import pyarrow as pa
import pyarrow.compute as pc

from ..kind import Kind
from ..kinds import personal
from ..pseudonym import keyed_hash, pseudonym
from .schema import MOMENT, said_types
from .shapes import by_shape
from .times import FIRST_YEAR, LAST_YEAR, MOST_HOURS_OF_ZONE


def without_names(table: pa.Table, key: str, kinds: Iterable[Kind]) -> pa.Table:
    """Judged lines with pseudonyms in their columns and in `raw`. The key is that of the settings."""
    kinds, secret = tuple(kinds), key.encode()
    for name in personal(kinds):
        table = _replaced(table, name, _renamed(table[name], secret))
    names = list(said_types(kinds))
    return _replaced(table, "raw", pa.array(_raw(table, names, secret), pa.binary()))


def withheld(line: bytes, key: bytes) -> bytes:
    """What the lake has of a line that is not to be read: lines that are equal stay equal."""
    return orjson.dumps({"withheld": {"bytes": len(line), "keyed_hash": keyed_hash(line, key)}})


def _renamed(column: pa.ChunkedArray, key: bytes) -> pa.ChunkedArray:
    """A person has one name, which is made once. A list of persons has as many."""
    if pa.types.is_list(column.type):
        lists = column.combine_chunks()
        ends = np.cumsum(pc.fill_null(pc.list_value_length(lists), 0))
        names = _renamed(pa.chunked_array([lists.flatten()]), key).combine_chunks()
        return pa.chunked_array([pa.ListArray.from_arrays(np.append(0, ends), names, mask=lists.is_null())])
    persons = column.combine_chunks().dictionary_encode()
    names = pa.array([pseudonym(person, key) for person in persons.dictionary.to_pylist()], pa.string())
    return pa.chunked_array([names.take(persons.indices)])


def _raw(table: pa.Table, names: list[str], key: bytes) -> list[bytes]:
    """The lines, rewritten or withheld. `judge` gives an id to those lines only whose fields are all right."""
    lines: list[bytes] = table["raw"].to_pylist()
    for given, places in by_shape(table, names):
        if "event_id" in given:
            rows = table.take(pa.array(places))
            values = zip(*(_written(rows[name]) for name in given), strict=True)
            rewritten = [orjson.dumps(dict(zip(given, each, strict=True))) for each in values]
        else:
            rewritten = [withheld(lines[place], key) for place in places.tolist()]
        for place, line in zip(places.tolist(), rewritten, strict=True):
            lines[place] = line
    return lines


def _replaced(table: pa.Table, name: str, column: pa.ChunkedArray | pa.Array) -> pa.Table:
    return table.set_column(table.schema.get_field_index(name), table.schema.field(name), column)


def _written(column: pa.ChunkedArray) -> list[Any]:
    """A column as a line writes it.

    Times are in UTC; at either end of the years that a time may have, in the zone that is farthest from there.
    """
    if pa.types.is_decimal(column.type):
        return [orjson.Fragment(f"{number:f}") for number in column.to_pylist()]
    if column.type != MOMENT:
        return list(column.to_pylist())
    texts, year, farthest = _text(column, "Z"), pc.year(column), pa.scalar(timedelta(hours=MOST_HOURS_OF_ZONE))
    early, late = pc.less(year, FIRST_YEAR), pc.greater(year, LAST_YEAR)
    if pc.any(early).as_py():
        texts = pc.if_else(early, _text(pc.add(column, farthest), f"+{MOST_HOURS_OF_ZONE}:00"), texts)
    if pc.any(late).as_py():
        texts = pc.if_else(late, _text(pc.subtract(column, farthest), f"-{MOST_HOURS_OF_ZONE}:00"), texts)
    return list(texts.to_pylist())


def _text(column: pa.ChunkedArray, zone: str) -> pa.ChunkedArray:
    """By a cast, which is ten times as quick as Arrow's `strftime`; it writes a blank for the T."""
    written = column.cast(pa.timestamp("ms", "UTC")).cast(pa.int64()).cast(pa.timestamp("ms")).cast(pa.string())
    return pc.binary_join_element_wise(pc.replace_substring(written, " ", "T"), zone, "")
