"""The answers of both layers, held against the witness: the batch tables as they lie there, the stream's as it is served.

Each is judged as of its own version of the log. So a batch layer that was killed and came round again is judged before anybody
recomputes it, also if the log has gone on since.
"""

import json
from bisect import bisect_right
from collections.abc import Mapping, Sequence
from datetime import datetime
from itertools import accumulate
from pathlib import Path

import pyarrow as pa
from deltalake import DeltaTable

from chaos.accounting import Arrived
from chaos.reader import Question, Sums
from chaos.subject import SUMMED, SUMMED_KIND
from chaos.violation import Violation
from chaos.witness import Row, Witness
from lakehouse.arrivals import ARRIVALS
from lakehouse.batches import batch_name, coverage
from lakehouse.lake import Lake
from lakehouse.settings import Serving, load_settings
from serving.reader import Reader
from transformations.durations import to_millis
from transformations.result import Result

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
    settings = load_settings(lake=lake).model_copy(update={"serving": Serving(clear_ids=True)})
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
    """How many answers that were given while faults struck had all that had landed by then, and no more."""
    summed = [each for each in events if each.event.kind == SUMMED_KIND]
    upto = list(accumulate((each.event.fields[SUMMED] for each in summed), initial=0))
    checked, found = 0, list[str]()
    for (question, version), sums in seen.items():
        if SUMMED in (answered := dict(sums.values)):
            count = bisect_right(summed, _arrivals_at(lake, version), key=lambda each: each.arrival)
            landed = {SUMMED: upto[count], "events": count}
            if other := {name: answered[name] for name in landed if answered[name] != landed[name]}:
                found.append(f"{question.said} said {other} at log version {version}, and what had landed was {landed}")
            checked += 1
    if found:
        raise Violation("; ".join(found[:NAMED]))
    return checked


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
