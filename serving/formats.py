"""Rows as JSON, CSV or Arrow, as the client accepts them."""

from typing import Any

import orjson
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.csv as pacsv

from transformations.plain import plain

JSON, CSV, ARROW = "application/json", "text/csv", "application/vnd.apache.arrow.stream"
FORMATS = (JSON, CSV, ARROW)
ISO = "%Y-%m-%dT%H:%M:%SZ"


def accepted(header: str | None) -> str | None:
    """The format that the client likes best, JSON if it does not mind; none if it takes nothing that there is."""
    wishes = [_wish(part) for part in (header or "*/*").split(",") if part.strip()]
    best: tuple[float, str] | None = None
    for offered in FORMATS:
        quality = max((share for kind, share in wishes if _fits(kind, offered)), default=0.0)
        if quality > 0 and (best is None or quality > best[0]):
            best = quality, offered
    return None if best is None else best[1]


def _wish(part: str) -> tuple[str, float]:
    kind, *parameters = (piece.strip() for piece in part.split(";"))
    for parameter in parameters:
        if parameter.startswith("q="):
            try:
                return kind.lower(), float(parameter[2:])
            except ValueError:
                return kind.lower(), 0.0
    return kind.lower(), 1.0


def _fits(kind: str, offered: str) -> bool:
    return kind in ("*/*", offered) or (kind.endswith("/*") and offered.startswith(kind[:-1]))


def as_json(content: dict[str, Any], rows: pa.Table) -> bytes:
    """An object with the rows as its last field."""
    return orjson.dumps({**content, "rows": plain_rows(rows)})


def as_csv(rows: pa.Table) -> bytes:
    """Lists are JSON within a cell."""
    rows = _plain(rows)
    for place, column in enumerate(rows.schema):
        if pa.types.is_list(column.type):
            rows = rows.set_column(
                place, column.name, pa.array(map(_as_text, rows[column.name].to_pylist()), pa.string())
            )
    sink = pa.BufferOutputStream()
    pacsv.write_csv(rows, sink)
    return bytes(sink.getvalue())


def as_arrow(rows: pa.Table) -> bytes:
    sink = pa.BufferOutputStream()
    with pa.ipc.new_stream(sink, rows.schema) as writer:
        writer.write_table(rows)
    return bytes(sink.getvalue())


def plain_rows(rows: pa.Table) -> list[dict[str, Any]]:
    """Rows as JSON has them: times are texts in UTC with milliseconds, and decimals are texts."""
    found: list[dict[str, Any]] = _plain(rows).to_pylist()
    return found


def _plain(rows: pa.Table) -> pa.Table:
    for place, column in enumerate(rows.schema):
        if pa.types.is_timestamp(column.type):
            to_the_millisecond = rows[column.name].cast(pa.timestamp("ms", "UTC"), safe=False)
            rows = rows.set_column(place, column.name, pc.strftime(to_the_millisecond, ISO))
        elif pa.types.is_decimal(column.type) or pa.types.is_list(column.type):
            rows = rows.set_column(place, column.name, pa.array(map(plain, rows[column.name].to_pylist())))
    return rows


def _as_text(values: list[Any] | None) -> str | None:
    return None if values is None else orjson.dumps(values).decode()
