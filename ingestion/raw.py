"""The raw lines that a log keeps, to be judged again: read from the table without a JVM, in their order of arrival.

Each landed line has one row that is not `requeued`, with its bytes. In a lake without names they are other words for the line,
or nothing of it: what is withheld keeps the reason that it was given, because nobody can say more of it.
"""

from collections.abc import Iterator

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.dataset as ds

from ingestion.judging import with_stamps
from ingestion.rules import Rules
from lakehouse.arrivals import ARRIVALS, QUARANTINED
from lakehouse.delta_table import delta_table
from lakehouse.lake import Lake
from lakehouse.nameless import WITHHELD, is_nameless

RAW_LINES = "raw_lines"
"""The lock of who reads all lines of a log, or gives one a second row."""
_COLUMNS = ["arrival", "reason", "file", "line", "batch", "ingested_at", "raw"]
_LINES_A_BLOCK = 20_000


def landed_lines(lake: Lake, *, first: int, last: int) -> pa.Table:
    """The lines of the micro-batches from `first` to `last`."""
    within = (ds.field("batch") >= first) & (ds.field("batch") <= last)
    return _read(lake, within & ~ds.field("requeued"))


def waiting_lines(lake: Lake) -> pa.Table:
    """The lines that wait in quarantine."""
    lines = _read(lake, ds.field("fate") == QUARANTINED)
    origin = ["batch", "file", "line"]
    taken = _read(lake, ds.field("requeued")).select(origin)
    return lines.join(taken, origin, join_type="left anti").sort_by("arrival") if taken.num_rows else lines


def judged_again(lines: pa.Table, rules: Rules, lake: Lake) -> Iterator[pa.Table]:
    """Raw lines judged by the rules of now, a block at a time, each by the clock of its own micro-batch."""
    for start, count in _blocks(lines):
        some = lines.slice(start, count)
        at = int(some["ingested_at"][0].cast(pa.int64()).as_py()) // 1000
        judged = rules.judged_again(some["raw"].to_pylist(), ingested_at=at)
        if is_nameless(lake):
            judged = _withheld_as_before(judged, some)
        judged = judged.append_column("file", some["file"]).append_column("line", some["line"])
        yield with_stamps(judged, batch=some["batch"][0].as_py(), rules=rules, ingested_at=at)


def withheld(lines: pa.Table, lake: Lake) -> int:
    """How many of the lines cannot be judged again, because the lake does not have their bytes."""
    return int(pc.sum(_is_withheld(lines)).as_py() or 0) if is_nameless(lake) else 0


def _read(lake: Lake, rows: ds.Expression) -> pa.Table:
    table = delta_table(lake, lake.of_log(ARRIVALS)).to_pyarrow_dataset()
    return table.to_table(columns=_COLUMNS, filter=rows).sort_by("arrival")


def _blocks(lines: pa.Table) -> Iterator[tuple[int, int]]:
    """Stretches of lines of one micro-batch, as (start, count)."""
    start = 0
    while start < lines.num_rows:
        near = lines["batch"].slice(start, _LINES_A_BLOCK)
        count = int(pc.sum(pc.equal(near, near[0])).as_py())
        yield start, count
        start += count


def _is_withheld(lines: pa.Table) -> pa.ChunkedArray:
    return pc.and_(pc.is_valid(lines["reason"]), pc.starts_with(lines["raw"], WITHHELD))


def _withheld_as_before(judged: pa.Table, lines: pa.Table) -> pa.Table:
    place = judged.column_names.index("reason")
    return judged.set_column(place, "reason", pc.if_else(_is_withheld(lines), lines["reason"], judged["reason"]))
