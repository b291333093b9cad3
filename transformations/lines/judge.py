"""Lines judged by the block: a row for each, with the columns of an event, or the reason why it is none.

Most lines are sound and look alike, so they are read by a fast parser and checked a column at a time. That parser accepts
more than the landing format does (a key twice, integers as floats), so a line that is not certainly a sound event is judged
anew by `rules`, on its own. What becomes of a line never depends on its neighbours.
"""

from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt
import orjson
import pyarrow as pa
import pyarrow.compute as pc

from ..clock import Clock
from ..durations import milliseconds
from ..kind import Kind
from ..kinds import declaring, fields
from .columns import Flags, column_of
from .rules import judge_line
from .schema import MOMENT, judged_schema, said_types
from .times import moments
from .unambiguous import unambiguous

Moments = npt.NDArray[np.int64]


def lines_of(block: bytes) -> list[bytes]:
    """The lines of a block. The last one may lack its line feed."""
    lines = block.split(b"\n")
    if not lines[-1]:
        lines.pop()
    return lines


def judge(lines: Sequence[bytes], clock: Clock, *, ingested_at: int, kinds: Iterable[Kind]) -> pa.Table:
    """One row a line, in their order, as `judged_schema` says. `ingested_at` is the clock of ingestion, in milliseconds.

    A line whose fields are all right has them in its columns, also if the clock has something against it. Of any other line
    they are null. `event_time` is that of an event only.
    """
    kinds = tuple(kinds)
    schema = judged_schema(kinds)
    said, sure = _read(lines)
    types = said_types(kinds)
    columns = {name: column_of(said, name, expected, sure, lines) for name, expected in types.items()}
    sure &= unambiguous(lines, said, np.sum([_texts(column) for column in columns.values()], axis=0))
    _keep_to_the_kinds(columns, sure, kinds)
    times = {}
    for name in (name for name, expected in types.items() if expected == "time"):
        times[name], right = moments(columns[name])
        sure &= right
    given = {name: _given(columns[name]) for name in times}
    event_time = _event_time(times, given, clock)
    sure &= _plausible(event_time, times["received_at"], given["received_at"], clock, ingested_at)
    for name, found in times.items():
        columns[name] = _moments(found, given[name])
    columns |= {"event_time": _moments(event_time), "reason": pa.nulls(len(lines), pa.string())}
    _judge_one_by_one(columns, lines, ~sure, clock, ingested_at, kinds)
    return pa.table({**columns, "raw": pa.array(lines, pa.binary())}, schema)


def _read(lines: Sequence[bytes]) -> tuple[list[dict[str, Any]], Flags]:
    """The object of each line, and where there is one. Elsewhere it is empty."""
    try:
        said = list(map(orjson.loads, lines))  # usually no line of the block is broken
    except orjson.JSONDecodeError:
        said = list(map(_loaded, lines))
    sure = np.ones(len(lines), np.bool_)
    if set(map(type, said)) - {dict}:
        sure[:] = [type(each) is dict for each in said]
        said = [each if type(each) is dict else {} for each in said]
    return said, sure


def _loaded(line: bytes) -> Any:
    try:
        return orjson.loads(line)
    except orjson.JSONDecodeError:
        return None


def _texts(column: pa.Array) -> Moments:
    """How many texts each line has under a name."""
    if column.type == pa.string():
        return _given(column).astype(np.int64)
    if pa.types.is_list(column.type):
        return np.asarray(pc.fill_null(pc.list_value_length(column), 0), np.int64)
    return np.zeros(len(column), np.int64)


def _given(column: pa.Array) -> Flags:
    return np.asarray(column.is_valid())


def _keep_to_the_kinds(columns: dict[str, pa.Array], sure: Flags, kinds: Sequence[Kind]) -> None:
    """Sure are lines of a known kind with all that it requires. A field of another kind is no field of the event."""
    of_kind = {kind.name: np.asarray(pc.fill_null(pc.equal(columns["kind"], kind.name), False)) for kind in kinds}
    given = {name: _given(columns[name]) for name in fields(kinds)}
    sound = np.zeros(len(sure), np.bool_)
    for kind in kinds:
        required = [given[field.name] for field in kind.fields if field.required]
        sound |= np.logical_and.reduce([of_kind[kind.name], *required])
    sure &= sound & _given(columns["occurred_at"])
    sure &= np.asarray(pc.fill_null(pc.not_equal(columns["event_id"], ""), False))
    for name in fields(kinds):
        own = np.logical_or.reduce([of_kind[kind] for kind in declaring(kinds, name)])
        if (given[name] & ~own).any():
            columns[name] = pc.if_else(pa.array(own), columns[name], pa.scalar(None, columns[name].type))


def _event_time(times: dict[str, Moments], given: dict[str, Flags], clock: Clock) -> Moments:
    """As `Clock.event_time`."""
    error = np.where(given["sent_at"] & given["received_at"], times["received_at"] - times["sent_at"], 0)
    return times["occurred_at"] + np.where(np.abs(error) > milliseconds(clock.device_tolerance), error, 0)


def _plausible(event_time: Moments, received_at: Moments, is_received: Flags, clock: Clock, ingested_at: int) -> Flags:
    """As `Clock.implausible`."""
    much = milliseconds(clock.future_tolerance)
    received = np.where(is_received, received_at, ingested_at)
    latest = np.minimum(received, ingested_at) + much
    return (received <= ingested_at + much) & (event_time <= latest) & (event_time >= clock.floor_millis)


def _moments(times: Moments, given: Flags | None = None) -> pa.Array:
    return pa.array(times * 1000, pa.int64(), mask=None if given is None else ~given).cast(MOMENT)


def _judge_one_by_one(
    columns: dict[str, pa.Array],
    lines: Sequence[bytes],
    which: Flags,
    clock: Clock,
    ingested_at: int,
    kinds: Sequence[Kind],
) -> None:
    """Put in place what `rules` says of the lines that are not sure."""
    if not which.any():
        return
    by_name = {kind.name: kind for kind in kinds}
    found = [
        judge_line(lines[place], clock, ingested_at=ingested_at, kinds=by_name)
        for place in np.flatnonzero(which).tolist()
    ]
    places = np.arange(len(lines))
    places[which] = len(lines) + np.arange(len(found))
    for name, column in columns.items():
        said = [each.reason if name == "reason" else each.values.get(name) for each in found]
        if column.type == MOMENT:
            said = [None if value is None else value * 1000 for value in said]
        columns[name] = pa.concat_arrays([column, pa.array(said, column.type)]).take(pa.array(places))
