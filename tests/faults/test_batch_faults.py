"""Batch: two layers, two recomputes and a reconciliation at the same time"""

import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
from deliveries import START, land, pop
from observations import Observe
from one_run import SCORES, SESSIONS, cut_into
from proof import proven
from pyspark.sql import SparkSession

import batch_layer.recompute
import reconciliation.reconcile
from batch_layer.recompute import recompute
from ingestion.ingest import ingest
from lakehouse.batches import Interval, batch_name, coverage
from lakehouse.changelogs import boundaries
from lakehouse.commits import commits
from lakehouse.identity import live_epoch
from lakehouse.lake import Lake
from lakehouse.log import position
from lakehouse.settings import Settings
from lakehouse.tables import read_table
from reconciliation.reconcile import reconcile
from speed_layer.stream import stream

FIRST_HALF = Interval(None, START + timedelta(minutes=5))


def land_rounds(landing: Path, numbers: range) -> None:
    """Ten minutes of pops each, and from the second round on a late one in a minute that is settled since long."""
    for number in numbers:
        pops = [pop(f"{number}.{each}", 600 * number + 20 * each, player=f"player {each % 3}") for each in range(30)]
        late = [pop(f"late {number}", 30 * number, bubbles=7)] if number else []
        land(landing, f"{number}.jsonl", [*pops, *late])


@contextmanager
def beside(work: Callable[[], object]) -> Iterator[threading.Thread]:
    """Another thread that does the work; what it fails with is raised here."""
    failures: list[BaseException] = []

    def body() -> None:
        try:
            work()
        except BaseException as failure:
            failures.append(failure)

    thread = threading.Thread(target=body)
    thread.start()
    try:
        yield thread
    finally:
        thread.join()
    assert not failures, failures


def strike_once(monkeypatch: pytest.MonkeyPatch, module: Any, name: str, work: Callable[[], object]) -> None:
    """Do the work once, right after the first call of a function of the module."""
    honest, waiting = getattr(module, name), [work]

    def struck(*arguments: Any, **options: Any) -> Any:
        found = honest(*arguments, **options)
        while waiting:
            waiting.pop()()
        return found

    monkeypatch.setattr(module, name, struck)


def test_batch_and_stream_write_at_once_and_both_are_right(
    spark: SparkSession, lake: Lake, landing: Path, settings: Settings, observe: Observe
) -> None:
    settings = cut_into(settings, 1)
    land_rounds(landing, range(4))
    ingest(None, lake, landing, settings, files_per_batch=1)
    recomputed = 0
    with beside(lambda: stream(spark, lake, [SCORES, SESSIONS], settings)) as streaming:
        while streaming.is_alive() or not recomputed:
            recompute(spark, lake, SCORES, settings, log_version=1 + recomputed % 4, go_back=True)
            recomputed += 1
    batches = len(boundaries(lake, SCORES, live_epoch(lake, SCORES)))
    assert batches == 4
    verdict = proven(spark, lake, [SCORES, SESSIONS], settings)
    assert verdict.results[0].log_version == position(lake).version == 4
    observe(
        "Batch and stream write at the same time",
        f"{recomputed} recomputes were committed while the stream wrote {batches} micro-batches of two results. Both are right: "
        f"{sum(each.equal for each in verdict.results)} settled keys agree.",
    )


def test_a_reconciliation_compares_the_versions_that_it_pinned_while_both_layers_go_on(
    spark: SparkSession,
    lake: Lake,
    landing: Path,
    settings: Settings,
    observe: Observe,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    rounds = iter(range(2, 4))

    def both_go_on() -> None:
        number = next(rounds)
        land_rounds(landing, range(number, number + 1))
        ingest(None, lake, landing, settings)
        stream(spark, lake, [SCORES], settings)
        recompute(spark, lake, SCORES, settings)

    land_rounds(landing, range(2))
    ingest(None, lake, landing, settings, files_per_batch=1)
    stream(spark, lake, [SCORES], settings)
    recompute(spark, lake, SCORES, settings)
    with monkeypatch.context() as patched:
        strike_once(patched, reconciliation.reconcile, "pin", both_go_on)
        strike_once(patched, reconciliation.reconcile, "computed", both_go_on)
        verdict = reconcile(spark, lake, [SCORES], settings)
    [found] = verdict.results
    assert (found.log_version, position(lake).version) == (2, 4)
    assert (verdict.status, found.differing) == ("agree", 0) and found.equal > 0
    assert verdict.audit.total("landed") == position(lake, 2).lines
    later = proven(spark, lake, [SCORES], settings)
    assert later.results[0].log_version == 4
    observe(
        "A reconciliation while ingestion, stream and batch go on",
        f"It compares at log version {found.log_version}, which it says, though the log has version 4 when it ends: "
        f"{found.equal} settled keys are equal, {found.behind} that batch has computed later are in flight, and the audit counts "
        f"the {verdict.audit.total('landed')} lines of that version. The next one compares {later.results[0].equal} keys at "
        "version 4.",
    )


def test_two_recomputes_of_one_result_at_once_leave_the_answer_of_one_of_them(
    spark: SparkSession, lake: Lake, landing: Path, settings: Settings, observe: Observe
) -> None:
    land_rounds(landing, range(3))
    ingest(None, lake, landing, settings, files_per_batch=1)
    stream(spark, lake, [SCORES], settings)
    recompute(spark, lake, SCORES, settings)
    with beside(lambda: recompute(spark, lake, SCORES, settings, log_version=2, go_back=True)):
        recompute(spark, lake, SCORES, settings, log_version=3)
    assert sorted(said["log_version"] for said in commits(lake, batch_name(SCORES))) == [2, 3, 3]
    runs = coverage(lake, SCORES)
    assert len(runs) == 1, "all of the others is replaced"
    rows = read_table(spark, lake, batch_name(SCORES)).select("log_version", *SCORES.identity).collect()
    assert {row.log_version for row in rows} == {runs[0].log_version}
    assert len(rows) == len({row[1:] for row in rows}) == 10 * runs[0].log_version
    verdict = proven(spark, lake, [SCORES], settings)
    observe(
        "Two recomputes of one result at the same time",
        "Both end, one commit after the other (without `--go-back` the one at the earlier version is refused if it comes "
        "second). The table has the rows of the second alone, none twice, and says at which log "
        f"version they were computed. {verdict.results[0].equal} settled keys agree.",
    )


@pytest.mark.parametrize(
    "inner",
    [
        pytest.param(FIRST_HALF, id="an interval within all"),
        pytest.param(None, id="all within an interval", marks=pytest.mark.chaos),
    ],
)
def test_a_recompute_of_an_interval_during_a_recompute_of_all_leaves_no_row_twice_and_none_out(
    spark: SparkSession,
    lake: Lake,
    landing: Path,
    settings: Settings,
    observe: Observe,
    monkeypatch: pytest.MonkeyPatch,
    inner: Interval | None,
) -> None:
    """One of them has computed and not yet written when the other one begins and ends. All is computed as of log version 1."""
    land_rounds(landing, range(3))
    ingest(None, lake, landing, settings, files_per_batch=1)
    stream(spark, lake, [SCORES], settings)
    versions: dict[Interval | None, int] = {FIRST_HALF: 3, None: 1}
    outer = None if inner else FIRST_HALF

    def other() -> None:
        recompute(spark, lake, SCORES, settings, interval=inner, log_version=versions[inner])

    with monkeypatch.context() as patched:
        strike_once(patched, batch_layer.recompute, "settings_fingerprint", other)
        recompute(spark, lake, SCORES, settings, interval=outer, log_version=versions[outer], go_back=True)
    assert [run.log_version for run in coverage(lake, SCORES)] == ([1] if inner else [3, 1])
    rows = read_table(spark, lake, batch_name(SCORES)).select(*SCORES.identity).collect()
    assert len(rows) == len(set(rows)) == 10
    verdict = reconcile(spark, lake, [SCORES], settings)
    [found] = verdict.results
    assert (verdict.status, found.differing) == ("agree", 0) and found.equal > 0
    last = proven(spark, lake, [SCORES], settings)
    name = "an interval while one of all runs" if inner else "all while one of an interval runs"
    observe(
        f"A recompute of {name}, at another version of the log",
        f"The one that is written last holds where both have computed; no row is there twice. {found.equal} settled keys are "
        f"equal, {found.behind} that the log has moved since are in flight; after a recompute all {last.results[0].equal} agree.",
    )
