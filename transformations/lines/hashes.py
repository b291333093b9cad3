"""Keyed hashes of ids and contents: what is remembered of an event to know its copies.

The key is the lake's own secret, so nobody can construct two ids or two contents with the same hash. The hash of an id is
SHA-256 of the key followed by the id, which Spark can compute too: `id_hash_sql` lets a check of the log do so.
"""

from collections.abc import Iterable, Sequence
from hashlib import sha256
from typing import Any

import numpy as np
import numpy.typing as npt
import orjson
import pyarrow as pa

from ..kind import Kind
from ..kinds import fields
from .schema import MOMENT
from .shapes import by_shape

Hashes = npt.NDArray[np.int64]


def with_hashes(table: pa.Table, key: bytes, kinds: Iterable[Kind]) -> pa.Table:
    """Judged lines with `id_high`, `id_low` (128 bits of the id's hash) and `content_hash` (64 bits); null for no event."""
    events = np.asarray(table["reason"].is_null())
    rows = table.filter(pa.array(events))
    ids = _ids(rows, key)
    hashes = {"id_high": ids[:, 0], "id_low": ids[:, 1], "content_hash": _contents(rows, key, tuple(fields(kinds)))}
    for name, found in hashes.items():
        whole = np.zeros(len(table), np.int64)
        whole[events] = found
        table = table.append_column(name, pa.array(whole, mask=~events))
    return table


def id_hash_sql(key: bytes, event_id: str = "event_id") -> tuple[str, str]:
    """`id_high` and `id_low` of a column of ids, as Spark SQL. The texts are as secret as the key."""
    digest = f"sha2(concat(X'{key.hex()}', cast({event_id} as binary)), 256)"
    high, low = (f"cast(conv(substr({digest}, {start}, 16), 16, -10) as bigint)" for start in (1, 17))
    return high, low


def _ids(rows: pa.Table, key: bytes) -> Hashes:
    digests = [sha256(key + event_id).digest()[:16] for event_id in rows["event_id"].cast(pa.binary()).to_pylist()]
    return _numbers(digests).reshape(-1, 2)


def _contents(rows: pa.Table, key: bytes, names: Sequence[str]) -> Hashes:
    """The hashes of what makes two deliveries of one id honest copies: all but the times of sending and receiving.

    A content is the names of the fields that are given, then kind, time and values: two JSON arrays, one after the other. So
    null is not the empty text, no value runs into the next, and a field that is declared later changes no older content.
    """
    found = np.zeros(len(rows), np.int64)
    for given, places in by_shape(rows, sorted(names)):
        of_shape = rows.take(pa.array(places))
        values = zip(*(_plain(of_shape[name]) for name in ("occurred_at", "kind", *given)), strict=True)
        begun = key + orjson.dumps(given)
        found[places] = _numbers([sha256(begun + orjson.dumps(each)).digest()[:8] for each in values])
    return found


def _plain(column: pa.ChunkedArray) -> list[Any]:
    """Values as JSON can have them. Equal decimals of one column are equal texts."""
    if column.type == MOMENT:
        column = column.cast(pa.int64())
    elif pa.types.is_decimal(column.type):
        column = column.cast(pa.string())
    return list(column.to_pylist())


def _numbers(digests: Iterable[bytes]) -> Hashes:
    """Each 64 bits as a number, the most significant byte first."""
    return np.frombuffer(b"".join(digests), ">i8").astype(np.int64)
