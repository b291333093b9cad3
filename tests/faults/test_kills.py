"""SIGKILL of the streams and of the batch layer at each moment, twice in a row

Inside a micro-batch the process kills itself at a failpoint; between two of them it is killed as soon as a file of Spark's
own appears. What is on disk after the kill says that the moment was the one that was meant.
"""

import time
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path

import pytest
from observations import Observe
from one_run import SCORES, cut_into
from proof import proven
from pyspark.sql import SparkSession
from struck import FILES, KILLED, PATIENCE, SOON, begun, ingested
from typed import parity as typed

from batch_layer.recompute import recompute
from chaos.processes import Process
from lakehouse.batches import batch_name, coverage
from lakehouse.changelogs import boundaries, changelog_name
from lakehouse.commits import commits
from lakehouse.errors import NothingToCompare, VersionRefused
from lakehouse.identity import live_epoch
from lakehouse.lake import Lake
from lakehouse.settings import Settings
from reconciliation.versions import versions_compared
from speed_layer.replay import replay
from speed_layer.stream import stream

BATCH = 1
"""The micro-batch that is struck; what is seen from outside strikes the first."""


@dataclass(frozen=True)
class Left:
    """What a kill has left of the struck micro-batch: its offsets, the sink's commit, Spark's commit log."""

    offsets: bool
    sink: bool
    commit_log: bool


def case(name: str, where: str, left: Left, *, quick: bool = False) -> object:
    return pytest.param(where, left, id=name, marks=() if quick else pytest.mark.chaos)


@pytest.fixture
def settings(settings: Settings) -> Settings:
    return cut_into(settings, 1)


Seen = Callable[[int, Process], bool]
"""Whether a process is to be killed now, by the number of the kill: what the first one has left is no sign for the second."""


def killed_twice(
    start: Callable[[str], Process], where: str, seen: Seen, left: Callable[[int], None] = lambda _: None
) -> None:
    """Kill the process at the same place twice: by a failpoint, or when something is seen. `left` looks at the disk each time."""
    for number in range(2):
        process = start("" if where == "seen" else where)
        if where == "seen":
            while not seen(number, process):
                assert process.code is None, process.said
                time.sleep(SOON)
            process.kill()
        assert process.wait(PATIENCE) == KILLED, process.said
        left(number)


@pytest.mark.parametrize(
    ("where", "left"),
    [
        case("before-offsets", "seen", Left(False, False, False)),
        case("after-offsets", f"stream.begun:team_scores:{BATCH}", Left(True, False, False)),
        case("after-state", f"stream.computed:team_scores:{BATCH}", Left(True, False, False)),
        case("after-sink", f"stream.appended:team_scores:{BATCH}", Left(True, True, False), quick=True),
        case("after-commit-log", "seen", Left(True, True, True)),
    ],
)
def test_the_stream_and_its_repair(
    spark: SparkSession, tmp_path: Path, settings: Settings, where: str, left: Left,
    observe: Observe, stopwatch: Callable[[], float], request: pytest.FixtureRequest,
) -> None:  # fmt: skip
    """The struck micro-batch has late events, which the engine counts: its state is struck in the middle of them."""
    lake, _ = ingested(tmp_path, settings)
    checkpoint = lake.checkpoint(SCORES.id) / "epoch-1"
    command = ("stream", "--lake", lake.path, "--result", SCORES.name)

    def seen(number: int, process: Process) -> bool:
        """A complete micro-batch is another one at the second kill. Before the first offsets the process has to be at work."""
        if left.commit_log:
            return (checkpoint / "commits" / str(number)).exists()
        return "✓ Spark starts" in process.said and (checkpoint / "metadata").exists()

    def as_meant(number: int) -> None:
        batch = BATCH if where != "seen" else number if left.commit_log else 0
        assert found(checkpoint, batch, sink=batch in streamed(lake)) == left

    killed_twice(lambda failpoint: begun(lake, command, failpoint=failpoint), where, seen, as_meant)
    stopwatch()
    stream(spark, lake, [SCORES], settings)
    seconds = stopwatch()
    verdict = proven(spark, lake, [SCORES], settings)
    repaired = {said["batch"]: said["late"] for said in commits(lake, changelog_name(SCORES)) if "late" in said}
    assert sorted(repaired) == list(range(FILES))
    equal = verdict.results[0].equal
    told = f"{said(left)} {equal} settled keys equal, {sum(repaired.values())} repairs, each once."
    observe(f"stream and repair, {request.node.callspec.id}", told, seconds)


@pytest.mark.parametrize(
    "where",
    [
        pytest.param("recompute.begun:team_scores:0", id="begun", marks=pytest.mark.chaos),
        pytest.param("recompute.computed:team_scores:0", id="computed", marks=pytest.mark.chaos),
        pytest.param("seen", id="half-written"),
        pytest.param("recompute.replaced:team_scores:0", id="after-sink", marks=pytest.mark.chaos),
    ],
)
def test_the_batch_layer(
    spark: SparkSession, tmp_path: Path, settings: Settings, where: str,
    observe: Observe, stopwatch: Callable[[], float], request: pytest.FixtureRequest,
) -> None:  # fmt: skip
    """A recompute at an old version stands before: until the new one is committed, it is what readers see."""
    lake, _ = ingested(tmp_path, settings)
    stream(spark, lake, [SCORES], settings)
    recompute(spark, lake, SCORES, settings, log_version=1)
    table = Path(lake.table(batch_name(SCORES)))
    command = ("recompute", "--lake", lake.path, "--result", SCORES.name)

    def start(failpoint: str) -> Process:
        files.update(table.glob("*.parquet"))
        return begun(lake, command, failpoint=failpoint)

    files: set[Path] = set()
    killed_twice(start, where, lambda *_: bool(set(table.glob("*.parquet")) - files))
    newest = coverage(lake, SCORES)[0].log_version
    assert newest == (FILES if "replaced" in where else 1)
    stopwatch()
    recompute(spark, lake, SCORES, settings)
    seconds = stopwatch()
    proven(spark, lake, [SCORES], settings)
    readers = "Readers had the new answer." if newest == FILES else "Readers had the answer of before, whole."
    observe(f"batch, {request.node.callspec.id}", f"{readers} The next recompute replaced it as a whole.", seconds)


def test_a_replay(
    spark: SparkSession, tmp_path: Path, settings: Settings, observe: Observe, stopwatch: Callable[[], float]
) -> None:
    """Its static steps are appended before its stream begins; a replay that is killed in between is not taken for whole."""
    lake, _ = ingested(tmp_path, settings)
    stream(spark, lake, [SCORES], settings)
    new = replace(SCORES, version=2)
    command = ("replay", "--lake", lake.path, "--result", SCORES.name, "--way", "steps")
    process = begun(lake, command, failpoint=f"replay.appended:{SCORES.name}:0")
    assert process.wait(PATIENCE) == KILLED, process.said
    with pytest.raises(VersionRefused, match="has not finished"):
        stream(spark, lake, [new], settings)
    with pytest.raises(VersionRefused, match="was begun with --way steps"):
        replay(spark, lake, new, settings, way="engine")
    stopwatch()
    resumed = typed("replay", "--lake", lake.path, "--result", SCORES.name)
    seconds = stopwatch()
    assert resumed.exit_code == 0 and "Going on with team_scores@2" in resumed.stderr
    same = versions_compared(spark, lake, SCORES, new, settings)
    assert same.status == "same" and same.equal > 0
    assert len([said for said in commits(lake, changelog_name(new)) if "step" in said]) == 1
    told = (
        "Its stream and another way to replay are refused; the same command goes on with it, and no step is done twice."
    )
    observe("a replay, after the append of a step", told, seconds)


def found(checkpoint: Path, batch: int, *, sink: bool) -> Left:
    """What is on disk of a micro-batch."""
    parts = {name: (checkpoint / name / str(batch)).exists() for name in ("offsets", "commits")}
    return Left(parts["offsets"], sink, parts["commits"])


def streamed(lake: Lake) -> list[int]:
    try:
        return [each.batch for each in boundaries(lake, SCORES, live_epoch(lake, SCORES))]
    except NothingToCompare:
        return []


def said(left: Left) -> str:
    if left.commit_log:
        return "The micro-batch was complete; the next start went on with the one after it."
    if left.sink:
        return "The next start ran the micro-batch again; its appends were skipped by their transaction ids."
    if left.offsets:
        return "The next start ran the micro-batch again with the same offsets."
    return "Nothing had been written; the next start planned the micro-batch anew."
