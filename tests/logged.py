"""What a log has, read from its table without a JVM, and what has to hold of it after whatever was done to ingestion."""

import codecs
import shutil
from collections import Counter
from collections.abc import Sequence
from itertools import accumulate
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
from deltalake import DeltaTable
from game import SCHEMA

from ingestion.index import IdIndex
from ingestion.known_ids import known_ids
from lakehouse.arrivals import ARRIVALS, DUPLICATE, EVENT, HASHES, QUARANTINED
from lakehouse.lake import Lake, marker
from lakehouse.landings import manifests
from lakehouse.log import position

OF_THE_RUN = ("ingested_at",)
"""What another run over the same files may say otherwise: its clock."""
OF_THE_CUT = (*OF_THE_RUN, "batch")
"""And what another cut of them into micro-batches says otherwise."""

Row = tuple[Any, ...]


def arrivals(lake: Lake) -> pa.Table:
    """Every row, in its order."""
    return DeltaTable(lake.table(lake.of_log(ARRIVALS))).to_pyarrow_table().select(SCHEMA.names).sort_by("arrival")


def rows(lake: Lake, fate: str, *columns: str) -> list[Row]:
    """These columns of the rows of a fate, in their order."""
    table = arrivals(lake)
    found = table.filter(pc.equal(table["fate"], fate))
    return list(zip(*(found[name].to_pylist() for name in columns), strict=True))


def event_ids(lake: Lake) -> list[str]:
    """The ids of the log, in its order."""
    return [event_id for (event_id,) in rows(lake, EVENT, "event_id")]


def copies(lake: Lake) -> list[str]:
    return [event_id for (event_id,) in rows(lake, DUPLICATE, "event_id")]


def places(lake: Lake, fate: str) -> list[tuple[str, int]]:
    """File and line of every row of a fate."""
    return sorted(rows(lake, fate, "file", "line"))


def fates(lake: Lake) -> dict[str, int]:
    """How many rows have each fate, by the name of the read that has them."""
    named = {EVENT: "events", DUPLICATE: "duplicates", QUARANTINED: "quarantine"}
    return {name: len(rows(lake, fate, "arrival")) for fate, name in named.items()}


def reasons(lake: Lake) -> Counter[str]:
    """How many rows are in quarantine, by the reason."""
    return Counter(reason for (reason,) in rows(lake, QUARANTINED, "reason"))


def written(lake: Lake, *, but: Sequence[str] = OF_THE_RUN) -> list[Row]:
    """Every row with all that it says, but for some columns: what two logs are compared by."""
    table = arrivals(lake).drop_columns(list(but))
    return list(zip(*(table[name].to_pylist() for name in table.column_names), strict=True))


def landed_lines(lake: Lake) -> Counter[tuple[str, int, bytes]]:
    """The lines of the files that ingestion has read: file, number and bytes. This counts by code of its own."""
    found: Counter[tuple[str, int, bytes]] = Counter()
    for number, files in manifests(lake):
        if number <= position(lake).batch:
            for file in files:
                content = Path(file.path).read_bytes().removeprefix(codecs.BOM_UTF8)
                lines = content.split(b"\n") if content else []
                if lines and not lines[-1]:
                    lines.pop()
                found.update((file.name, place, line) for place, line in enumerate(lines, start=1))
    return found


def assert_whole(lake: Lake, *, as_landed: bool = True) -> None:
    """Nothing is lost, nothing is twice, the position says the truth, and the index has what the log has.

    Where landing files have changed since they were read, nobody can compare with them what is there `as_landed`.
    """
    table = arrivals(lake)
    found = {name: table[name].to_pylist() for name in SCHEMA.names}
    assert found["arrival"] == list(range(1, table.num_rows + 1))
    first = table.filter(pc.invert(table["requeued"]))
    origins = Counter(zip(*(first[name].to_pylist() for name in ("batch", "file", "line")), strict=True))
    assert set(origins.values()) <= {1}, "a landed line has two rows that are not requeued"
    if as_landed:
        lines = Counter(zip(*(first[name].to_pylist() for name in ("file", "line", "raw")), strict=True))
        assert lines == landed_lines(lake), "every landed line has one row that is not requeued"
    fates = Counter(found["fate"])
    events = table.filter(pc.equal(table["fate"], EVENT))
    assert events["seq"].to_pylist() == list(range(1, fates[EVENT] + 1))
    assert len(set(events["event_id"].to_pylist())) == fates[EVENT], "an event is in the log twice"
    times, marks = (events[name].cast(pa.int64()).to_pylist() for name in ("event_time", "high_water"))
    assert marks == list(accumulate(times, max))
    at, requeued = position(lake), sum(found["requeued"])
    assert (at.seq, at.duplicates, at.arrivals) == (fates[EVENT], fates[DUPLICATE], table.num_rows)
    assert (at.quarantined, at.requeued) == (fates[QUARANTINED] - requeued, requeued)
    ids = sorted(zip(*(events[name].to_pylist() for name in HASHES), strict=True))
    assert indexed(lake) == ids, "the index has what the log has"
    assert rebuilt(lake) == ids, "and made anew it has the same"


def indexed(lake: Lake) -> list[Row]:
    """What the index has, which has to cover the whole log."""
    at = position(lake)
    index = IdIndex.open(lake.ids, lake=marker(lake).id, log=lake.log)
    assert index.begun_anew is None or at.seq == 0, index.begun_anew
    covered = index.covered
    assert at.seq == 0 or (covered is not None and (covered.seq, covered.token) == (at.seq, at.token)), covered
    return _content(index)


def rebuilt(lake: Lake) -> list[Row]:
    """What an index has that is made anew from the log; the one that is there stays."""
    aside = lake.ids.with_name("aside")
    lake.ids.rename(aside)
    try:
        return _content(known_ids(lake, position(lake)))
    finally:
        shutil.rmtree(lake.ids)
        aside.rename(lake.ids)


def _content(index: IdIndex) -> list[Row]:
    found = [
        row
        for place in index.places
        for row in zip(place.high.tolist(), place.low.tolist(), place.content.tolist(), strict=True)
    ]
    index.close()
    return sorted(found)
