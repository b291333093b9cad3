"""The replay: a version of a result computed from the log, beside the live one, until it has caught up.

    parity replay --lake LAKE --result NAME [--as-version N] [--from-version V] [--way steps]

Two ways. `engine` is the stream itself, in large micro-batches from the first commit on. `steps` computes what is settled
with the same function over static stretches of the log, and lets the stream take over at the open edge: it begins at
the oldest commit that has a row for anything open.
"""

import math
from collections.abc import Callable, Iterator
from datetime import datetime, timedelta
from functools import partial

from pyspark.sql import SparkSession
from pyspark.sql import functions as F

from lakehouse.arrivals import ARRIVALS
from lakehouse.batches import Interval
from lakehouse.changelogs import changelog_name, mark, settled_before
from lakehouse.clock import Clock, wall_clock
from lakehouse.commits import commits
from lakehouse.errors import ParityError, VersionRefused
from lakehouse.failpoints import failpoint
from lakehouse.fingerprint import result_fingerprint
from lakehouse.identity import Epoch, ReplayWay, begun_epoch, complete_history, current_epoch, note_replay, noted
from lakehouse.lake import Lake
from lakehouse.locks import exclusive
from lakehouse.log import log_at, newest_version, position
from lakehouse.runs import measured
from lakehouse.settings import Settings
from lakehouse.tables import Transaction, append
from lakehouse.terms import agree_on_settings, settings_fingerprint
from lakehouse.versions import consumed
from speed_layer.stream import create_changelog, stream
from transformations.changelog import BEFORE_THE_STREAM, Stamp, stamped
from transformations.durations import from_millis
from transformations.result import Result

Told = Callable[[int, int], object]
"""Is told how many events of how many have been replayed."""

EVENTS_A_STEP = 5_000_000


def replay(
    spark: SparkSession,
    lake: Lake,
    result: Result,
    settings: Settings,
    *,
    way: ReplayWay | None = None,
    told: Told = lambda *_: None,
    clock: Clock = wall_clock,
) -> None:
    """Compute this version from the log of `lake`, or go on where a killed replay of it ended, until it has caught up.

    Without a way it is the one that was begun, or the engine's.
    """
    begun: ReplayWay | None = noted(lake, result).get("replay")
    if way is not None and begun not in (None, way):
        raise VersionRefused(
            f"The replay of {result.id} was begun with --way {begun}. Nothing was written. Leave --way out to go on with it."
        )
    way = way or begun or "engine"
    if way == "steps" and result.window.endless:
        raise ParityError(
            f"{result.name} has no settled history: each of its rows goes on for ever. Replay it without `--way steps`."
        )
    alone = partial(exclusive, spark, lake.lock_file(f"stream-{result.id}"), wait=False)
    with alone():
        agree_on_settings(lake, result, settings)
        note_replay(lake, result, way)
        if way == "steps":
            _replay_history(spark, lake, result, settings, told, clock)
    before, reached = None, consumed(lake, result)
    while reached is None or before != reached < newest_version(lake):
        stream(spark, lake, [result], settings, meanwhile=lambda: _tell(lake, result, told), job="replay", clock=clock)
        before, reached = reached, consumed(lake, result)
        if reached is None:
            break  # the log is empty
    with alone():
        note_replay(lake, result, None)
    _tell(lake, result, told)


def _tell(lake: Lake, result: Result, told: Told) -> None:
    reached, start = consumed(lake, result), position(lake, lake.since - 1).seq
    told(0 if reached is None else position(lake, reached).seq - start, position(lake).seq - start)


def _replay_history(
    spark: SparkSession, lake: Lake, result: Result, settings: Settings, told: Told, clock: Clock
) -> None:
    """What is settled at the newest version of the log, step by step, each an append of its own."""
    create_changelog(lake, result, settings)
    if "epoch" not in noted(lake, result):
        version = newest_version(lake)
        begun_epoch(lake, result, since=_open_since(spark, lake, result, settings, version), history=version)
    epoch = current_epoch(lake, result)
    if epoch.complete:
        return
    assert epoch.history is not None
    done = {said["step"] for said in commits(lake, changelog_name(result)) if "step" in said}
    events = position(lake, epoch.history).seq
    with measured(spark, lake, "replay", [result.id]) as cost:
        steps = list(_steps(spark, lake, result, epoch.history))
        for number, interval in enumerate(steps):
            if number not in done:
                _append_step(spark, lake, result, settings, epoch, number, interval, clock())
            told(events * (number + 1) // len(steps), events)
        cost.rows_read = events
    complete_history(lake, result)


def _append_step(
    spark: SparkSession,
    lake: Lake,
    result: Result,
    settings: Settings,
    epoch: Epoch,
    number: int,
    interval: Interval,
    written_at: datetime,
) -> None:
    assert epoch.history is not None
    high_water, allowed = mark(lake, epoch.history), settings.lateness.allowed
    events = log_at(spark, lake, epoch.history).where(interval.needs(result))
    counted = result.counted(events, settings.lateness.dropped_after)
    rows = result.computed(counted).where(result.present).where(interval.holds(F.col("window_start")))
    if result.way == "engine":
        rows = rows.where(result.settled(F.lit(settled_before(high_water, allowed))))
    stamp = Stamp(
        log_version=epoch.history,
        high_water=high_water,
        allowed=allowed,
        epoch=epoch.number,
        batch=BEFORE_THE_STREAM,
        written_at=written_at,
        fingerprint=result_fingerprint(result, lake.pipeline),
    )
    failpoint(spark, "replay.computed", result.name, number)
    append(
        spark,
        lake,
        changelog_name(result),
        stamped(rows, result, stamp, cause="recompute"),
        transaction=Transaction(f"{epoch.app_id}/history", number),
        metadata={
            "epoch": epoch.number,
            "step": number,
            "log_version": epoch.history,
            "code": stamp.fingerprint,
            "settings": settings_fingerprint(lake, result, settings),
        },
    )
    failpoint(spark, "replay.appended", result.name, number)


def _steps(spark: SparkSession, lake: Lake, result: Result, version: int) -> Iterator[Interval]:
    """Stretches of window starts, together all of time, each with about as much of event time."""
    count = 1 if result.window.whole else math.ceil(position(lake, version).seq / EVENTS_A_STEP)
    edges = []
    if count > 1:
        times = F.unix_millis("event_time")
        [[first, last]] = log_at(spark, lake, version).agg(F.min(times), F.max(times)).collect()
        edges = [from_millis(first + (last - first) * step // count) for step in range(1, count)]
    for start, end in zip([None, *edges], [*edges, None], strict=True):
        yield Interval(start, end)


def _open_since(spark: SparkSession, lake: Lake, result: Result, settings: Settings, version: int) -> int:
    """The oldest version of the log that has a row which bears upon anything that is not settled at `version`.

    These are the rows of open results, and those that may yet meet others: behind the mark by no more than a result
    reaches.
    """
    if result.way == "recompute":
        return version
    log = log_at(spark, lake, version)
    before = settled_before(mark(lake, version), settings.lateness.allowed)
    reach = sum(result.window.durations.values(), timedelta())
    rows = log.where(F.col("event_time") >= F.lit(before - reach)).select("seq")
    if result.window.whole:  # an open result can have begun at any time
        counted = result.counted(log, settings.lateness.dropped_after)
        open_ones = result.computed(counted).where(result.present).where(~result.settled(F.lit(before)))
        rows = rows.unionByName(result.bearing(log, open_ones).select("seq"))
    [[first]] = rows.agg(F.min("seq")).collect()
    newer = [
        said["version"] for said in commits(lake, lake.of_log(ARRIVALS)) if first is not None and said["seq"] >= first
    ]
    since = min(newer, default=version)
    if first is not None:
        position(lake, since - 1)  # known, or commits before it may have such rows too, and it refuses
    return since
