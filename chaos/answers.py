"""The answers of both layers, held against the witness: the batch tables as they lie there, the stream's as it is served.

Each is judged as of its own version of the log. So a batch layer that was killed and came round again is judged before anybody
recomputes it, also if the log has gone on since.
"""

import json
from bisect import bisect_right
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from itertools import accumulate
from pathlib import Path
from typing import Self

import pyarrow as pa
from deltalake import DeltaTable
from pyspark.sql.types import LongType

from chaos.accounting import Arrived
from chaos.reader import Question, Sums
from chaos.violation import Violation
from chaos.witness import Row, Witness
from lakehouse.arrivals import ARRIVALS
from lakehouse.batches import batch_name, coverage
from lakehouse.lake import Lake
from lakehouse.settings import Serving, load_settings
from serving.reader import Reader
from transformations.durations import to_millis
from transformations.result import Result, Total

NAMED = 3


def batch_as_witnessed(lake: Lake, results: Sequence[Result], witness: Witness) -> dict[str, int]:
    """How many rows each batch table has that the witness confirms, settled or not; none of a result never computed."""
    counted, found = {}, list[str]()
    for result in results:
        covered = coverage(lake, result)
        if not covered:
            continue
        version, rows = covered[0].log_version, DeltaTable(lake.table(batch_name(result))).to_pyarrow_table()
        if others := set(rows["log_version"].to_pylist()) - {version}:
            found.append(f"{batch_name(result)} is of log version {version} and has rows of {sorted(others)}")
        expected = witness.rows(result.name, arrivals=_arrivals_at(lake, version))
        found += _differing(f"batch of {result.name} at log version {version}", _rows(rows, result, witness), expected)
        counted[result.name] = len(expected)
    if found:
        raise Violation("; ".join(found))
    return counted


def stream_as_witnessed(lake: Lake, results: Sequence[Result], witness: Witness) -> dict[str, int]:
    """How many settled rows of each stream the witness confirms."""
    settings = load_settings(lake=lake, tried={"pipeline.path": lake.pipeline.path}).model_copy(
        update={"serving": Serving(clear_ids=True)}
    )
    counted, found = {}, list[str]()
    with Reader(lake, settings) as reader:
        for result in results:
            answer = reader.answer(result.name, "kappa", settled=True)
            at = answer.subject.at
            arrivals, before = _arrivals_at(lake, at.log_version), to_millis(at.settled_before)
            which = f"stream of {result.name} at log version {at.log_version}"
            if before > witness.settled_before(arrivals):
                found.append(f"{which} calls settled what ends until {before}, and the log is not that far")
            expected = witness.rows(result.name, arrivals=arrivals, settled_before=before)
            found += _differing(which, _rows(answer.rows, result, witness), expected)
            counted[result.name] = len(expected)
    found += [
        f"no row of the stream of {name} is settled: nothing was compared" for name in counted if not counted[name]
    ]
    if found:
        raise Violation("; ".join(found))
    return counted


def answers_as_landed(lake: Lake, seen: Mapping[tuple[Question, int], Sums], events: Sequence[Arrived]) -> int:
    """How many answers that were given while faults struck had all that had landed by then, and no more.

    What that comes to, a result declares itself: the totals of its values. Those in whole numbers are looked at.
    """
    landed: dict[Total, _Landed] = {}
    checked, found = 0, list[str]()
    for (question, version), sums in seen.items():
        answered = dict(sums.values)
        totals = {name: total for name, total in _totals(question.result).items() if name in answered}
        if not totals:
            continue
        arrivals = _arrivals_at(lake, version)
        for total in totals.values():
            if total not in landed:
                landed[total] = _Landed.of(total, events)
        right = {name: landed[total].upto(arrivals) for name, total in totals.items()}
        if other := {name: answered[name] for name, sum_ in right.items() if answered[name] != sum_}:
            found.append(f"{question.said} said {other} at log version {version}, and what had landed was {right}")
        checked += 1
    if found:
        raise Violation("; ".join(found[:NAMED]))
    return checked


def _totals(result: Result) -> dict[str, Total]:
    """The values that have what all events have of it. A value is shown as a number if it is a whole one of 64 bits."""
    if result.window.times_counted != 1:
        return {}
    found = {each.name: each.total for each in result.values if isinstance(each.type, LongType)}
    return {name: total for name, total in found.items() if total is not None and not total.distinct}


@dataclass(frozen=True)
class _Landed:
    """What the events of a kind come to, up to each arrival of one."""

    arrivals: Sequence[int]
    sums: Sequence[int]

    @classmethod
    def of(cls, total: Total, events: Sequence[Arrived]) -> Self:
        of_kind = [each for each in events if each.event.kind == total.kind]
        adds = (1 if total.field is None else each.event.fields.get(total.field, 0) for each in of_kind)
        return cls([each.arrival for each in of_kind], list(accumulate(adds, initial=0)))

    def upto(self, arrivals: int) -> int:
        return self.sums[bisect_right(self.arrivals, arrivals)]


def _arrivals_at(lake: Lake, version: int) -> int:
    """How many rows had arrived at a version of the log, as its commit says; it names the log's own commits only."""
    commit = Path(lake.table(ARRIVALS)) / "_delta_log" / f"{version:020d}.json"
    infos = [json.loads(line) for line in commit.read_text().split("\n") if line.startswith('{"commitInfo"')]
    return int(json.loads(infos[0]["commitInfo"]["userMetadata"])["arrivals"])


def _rows(table: pa.Table, result: Result, witness: Witness) -> list[Row]:
    """The columns that the witness knows, times in milliseconds."""
    columns = [table[name].to_pylist() for name in witness.columns(result.name)]
    rows = (
        tuple(to_millis(each) if isinstance(each, datetime) else each for each in row)
        for row in zip(*columns, strict=True)
    )
    return sorted(rows, key=repr)


def _differing(which: str, rows: Sequence[Row], expected: Sequence[Row]) -> list[str]:
    if rows == expected:
        return []
    too_many, missing = sorted(set(rows) - set(expected), key=repr), sorted(set(expected) - set(rows), key=repr)
    return [
        f"the {which} has {len(rows)} rows, the witness {len(expected)}: it says {too_many[:NAMED]} where the landing files "
        f"say {missing[:NAMED]}"
    ]
