"""What the laws have in common: a stream that is run over a log as one likes, and its rows held against the plain answer."""

import os
import random
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from datetime import datetime, timedelta
from functools import partial, reduce
from pathlib import Path
from typing import Literal

import pytest
from game import catalogue
from kept import MILLISECOND, Kept, as_kept, keep
from logs import (
    ANSWERS,
    WINDOWS,
    Log,
    Row,
    drop_bounds,
    exact,
    held,
    held_answer,
    on_time_answer,
    plain,
    settled,
    write_log,
)
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F
from seeds import SHRINK, choose_seed, some
from shrinking import shrunk
from worlds import narrowed, written

import speed_layer.micro_batch
from lakehouse.appends import FEW
from lakehouse.changelogs import Boundary, boundaries, mark, read_changelog, read_kappa, settled_before
from lakehouse.errors import StreamFailed
from lakehouse.identity import live_epoch
from lakehouse.lake import Lake, create_lake
from lakehouse.log import newest_version
from lakehouse.settings import Lateness, Settings, Stream, load_settings
from speed_layer.stream import stream
from transformations.changelog import ranking
from transformations.result import Result

Policy = Literal["correct", "drop"]
RESULTS = list(catalogue(WINDOWS).values())
CRASHES = ("stream.begun", "stream.computed", "stream.appended")


def drawn_hold(rng: random.Random, allowed: timedelta) -> timedelta:
    """How long the engine holds windows: as short as it can, so that it drops; a little longer; or so long that it never does."""
    return rng.choice([timedelta(0), timedelta(0), allowed + timedelta(seconds=12), timedelta(hours=2)])


def configured(
    allowed: timedelta, commits_per_batch: int, *, policy: Policy = "correct", hold: timedelta = timedelta(0)
) -> Settings:
    """A hold of nothing is the least that there is: the allowed lateness."""
    lateness = Lateness(allowed=allowed, policy=policy, hold=hold)
    return load_settings().model_copy(
        update={"lateness": lateness, "stream": Stream(commits_per_batch=commits_per_batch)}
    )


def drawn(rng: random.Random, results: Sequence[Result], count: int) -> list[Result]:
    return some(rng, results, count, named=[result.name for result in results])


def fresh_lake() -> Lake:
    return create_lake(Path(tempfile.mkdtemp()) / "lake")


@contextmanager
def crashing(moment: str, *, after: int) -> Iterator[list[str]]:
    """Let one micro-batch of one result die at this moment, once, after so many have passed it; says when it did."""
    honest = speed_layer.micro_batch.failpoint
    met: list[str] = []
    struck: list[str] = []

    def failpoint(spark: SparkSession, name: str, what: str, batch: int) -> None:
        if name == moment:
            met.append(what)
            if len(met) == after + 1:
                struck.append(f"{name} of {what}, micro-batch {batch}")
                raise RuntimeError("a crash that a law has drawn")
        honest(spark, name, what, batch)

    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(speed_layer.micro_batch, "failpoint", failpoint)
        yield struck


@contextmanager
def written_by(rng: random.Random) -> Iterator[None]:
    """Let micro-batches be written by this process, by Spark, or some by each: by how many events are few."""
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(speed_layer.micro_batch, "FEW", rng.choice((-1, 10, FEW)))
        yield


def streamed(
    spark: SparkSession,
    lake: Lake,
    results: Sequence[Result],
    log: Log,
    chosen: Settings,
    rng: random.Random,
    *,
    dies_at: str | None = None,
) -> None:
    """The stream runs over a part of the log, dies in the rest at a drawn moment, and is started again."""
    horizon = chosen.retention.horizon
    first = rng.randint(1, len(log) - 1)
    with written_by(rng):
        write_log(lake, log[:first], horizon=horizon)
        stream(spark, lake, results, chosen)
        write_log(lake, log, horizon=horizon)
        with crashing(dies_at or rng.choice(CRASHES), after=0 if dies_at else rng.randint(0, 2)) as struck:
            try:
                stream(spark, lake, results, chosen)
            except StreamFailed:
                assert struck, "the stream died by itself"
        if struck:
            stream(spark, lake, results, chosen)


def rows_at(found: Sequence[Boundary], result: Result, view: Callable[[Boundary], DataFrame]) -> dict[int, set[Row]]:
    """What a view says at each boundary, by its micro-batch, in one Spark job for all."""
    frames = [view(at).select(*exact(result), F.lit(at.batch)) for at in found]
    said: dict[int, set[Row]] = {at.batch: set() for at in found}
    for *row, batch in reduce(DataFrame.union, frames).collect():
        assert plain(row) not in said[batch], f"{result.name} has a row twice: {row}"
        said[batch].add(plain(row))
    return said


def own_rows(spark: SparkSession, lake: Lake, result: Result, at: Boundary) -> DataFrame:
    """What the engine says before any repair."""
    own = read_changelog(spark, lake, result, at).where("cause = 'on_time'")
    return ranking(own, result, epoch=at.epoch, log_version=at.log_version).where("not deleted")


def written_twice(spark: SparkSession, lake: Lake, result: Result, at: Boundary) -> DataFrame:
    """Revisions that the changelog has more than once: a micro-batch whose append was repeated."""
    revisions = read_changelog(spark, lake, result, at)
    return revisions.groupBy(*result.identity, "epoch", "log_version", "cause").count().where("count > 1")


class Broken(pytest.fail.Exception):
    """A law does not hold; `shown` is the log narrowed to the world that shows it."""

    def __init__(self, message: str, shown: Log) -> None:
        super().__init__(message, pytrace=False)
        self.shown = shown


def agree(found: set[Row], expected: set[Row], what: str, log: Log) -> int:
    """Fail with the rows that differ and a log that shows it, ready to be pasted; else say how many were compared."""
    if found == expected:
        return len(expected)
    missing, wrong = expected - found, found - expected

    def some_of(rows: set[Row]) -> str:
        return "\n".join(f"  {row}" for row in sorted(rows, key=str)[:10]) or "  none"

    # Of the first row alone, if it names a world: the rest of the log is then but its mark.
    shown = narrowed(log, sorted(missing | wrong, key=str)[:1])
    raise Broken(
        f"{what}: {len(missing)} rows are missing, {len(wrong)} are there that should not be.\n"
        f"LAWS_SEED={choose_seed()} repeats this run.\nmissing:\n{some_of(missing)}\nwrong:\n{some_of(wrong)}\n"
        f"LOG = {written(shown)}",
        shown,
    )


def check(spark: SparkSession, lake: Lake, result: Result, log: Log, chosen: Settings) -> int:
    """The view at every boundary is the plain answer; before any repair the engine's is the one over what it was to count.

    That is what was in time or, where it holds windows for late rows, what it did not drop. An engine that tells results once
    is asked for those that it can have told. Under `drop` the view, too, is the answer over what was in time. Returns how many
    rows, each of a key and a window, were compared. With LAWS_SHRINK a log that breaks the law is made small and kept.
    """
    try:
        return _compared(spark, lake, result, log, chosen)
    except Broken as broken:
        if SHRINK in os.environ:
            assert broken.msg is not None
            broken.msg += "\n" + _kept_small(spark, result, [broken.shown, log], chosen)
        raise


def _kept_small(spark: SparkSession, result: Result, logs: Sequence[Log], chosen: Settings) -> str:
    """Makes the first of these logs small that breaks the law without a crash, and keeps it; says what came of that."""
    deadline = time.monotonic() + float(os.environ[SHRINK])

    def breaks(log: Log) -> bool:
        try:
            stream_and_check(spark, result, log, chosen)
        except Broken:
            return True
        return False

    broken = next((log for log in logs if breaks(log)), None)
    if broken is None:
        return "It takes the restart or the crash on the way, so it is not made smaller; the seed repeats it."
    small = shrunk(broken, breaks, expired=lambda: time.monotonic() > deadline)
    lateness = chosen.lateness
    file = keep(
        Kept(
            result=result.name,
            way=result.way,
            allowed=lateness.allowed // MILLISECOND,
            hold=lateness.hold // MILLISECOND,
            policy=lateness.policy,
            commits_per_batch=chosen.stream.commits_per_batch,
            log=as_kept(small),
        )
    )
    return f"Made small and kept as {file.parent.name}/{file.name}, which every run tries from now on:\nLOG = {written(small)}"


def stream_and_check(spark: SparkSession, result: Result, log: Log, chosen: Settings) -> int:
    """The law for one result on a lake of its own, without a restart."""
    lake = fresh_lake()
    write_log(lake, log, horizon=chosen.retention.horizon)
    stream(spark, lake, [result], chosen)
    return _compared(spark, lake, result, log, chosen)


def _compared(spark: SparkSession, lake: Lake, result: Result, log: Log, chosen: Settings) -> int:
    allowed, policy = chosen.lateness.allowed, chosen.lateness.policy
    found = boundaries(lake, result, live_epoch(lake, result))
    assert found[0].log_version == newest_version(lake)
    views = rows_at(found, result, partial(read_kappa, spark, lake, result))
    # A wrong row stays in the changelog, so the engine's are looked at once, at the end.
    alone = rows_at(found[:1], result, partial(own_rows, spark, lake, result)) if result.way == "engine" else {}
    once = result.way == "engine" and result.window.mode == "append"
    compared = 0
    for at in found:
        what = f"{result.name} ({result.way}, {policy}, D = {allowed}) at log version {at.log_version}"
        before = settled_before(mark(lake, at.log_version), allowed, at)

        def told(rows: set[Row], before: datetime = before) -> set[Row]:
            return {row for row in rows if settled(result.name, row, before)} if once else rows

        so_far = log[: at.log_version]  # version 0 made the table, so commit n of the log is version n + 1
        in_time = on_time_answer(result.name, so_far, allowed)
        right = in_time if policy == "drop" else ANSWERS[result.name](so_far)
        compared += agree(told(views[at.batch]), told(right), what, so_far)
        if at.batch in alone:
            counted = _counted_by_the_engine(result, log, found, chosen) if held(result, policy) else in_time
            compared += agree(told(alone[at.batch]), told(counted), f"{what}, the engine alone", so_far)
    assert written_twice(spark, lake, result, found[0]).isEmpty(), f"{result.name}: a revision was written twice"
    return compared


def _counted_by_the_engine(result: Result, log: Log, found: Sequence[Boundary], chosen: Settings) -> set[Row]:
    """The answer over what an engine that holds windows has not dropped, by the cuts of its micro-batches alone."""
    batches = list(reversed(found))
    assert [each.batch for each in batches] == list(range(len(batches)))
    cuts = [each.log_version for each in batches]
    bounds = drop_bounds(log, cuts, max(chosen.lateness.allowed, chosen.lateness.hold))
    assert [each.bound for each in batches] == bounds, (
        f"{result.name}: a micro-batch took another bound for the engine's"
    )
    assert not any(each.open_repairs for each in batches), f"{result.name}: what was not settled was repaired"
    return held_answer(result.name, log, cuts, bounds)
