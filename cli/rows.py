"""Rows of a result for machines, on standard output: CSV and JSON lines. For people: row_table.py."""

import csv
import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

import orjson

from serving.formats import plain_rows

if TYPE_CHECKING:
    import pyarrow as pa


def print_jsonl(rows: "pa.Table") -> None:
    with _readers_may_leave():
        sys.stdout.writelines(f"{orjson.dumps(row).decode()}\n" for row in plain_rows(rows))


def print_csv(rows: "pa.Table") -> None:
    with _readers_may_leave():
        writer = csv.DictWriter(sys.stdout, fieldnames=rows.column_names, lineterminator="\n")
        writer.writeheader()
        writer.writerows({name: _cell(value) for name, value in row.items()} for row in plain_rows(rows))


def _cell(value: Any) -> Any:
    """A list is JSON within a cell."""
    return orjson.dumps(value).decode() if isinstance(value, list) else value


@contextmanager
def _readers_may_leave() -> Iterator[None]:
    """`parity show … | head` reads as much as it likes: that is no error."""
    try:
        yield
        sys.stdout.flush()
    except BrokenPipeError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())  # or Python would complain at its end
