"""A checkpoint that is damaged or lost

Where what is left suffices, the next start goes on by itself. Where it does not, it refuses, changes nothing, and names the
one command that makes it whole.
"""

import shutil
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
from deliveries import land, pop
from engines import run_by
from logged import assert_whole, event_ids
from observations import Observe
from one_run import SCORES, cut_into
from proof import proven
from pyspark.sql import SparkSession
from struck import FILES, landed

import ingestion.ingest
from chaos.damages import DAMAGES, Damage
from ingestion.ingest import ingest
from lakehouse.arrivals import ARRIVALS
from lakehouse.changelogs import changelog_name
from lakehouse.commits import newest
from lakehouse.errors import CheckpointLost, ParityError, StreamFailed
from lakehouse.identity import live_epoch
from lakehouse.lake import create_lake, open_lake
from lakehouse.log import position
from lakehouse.settings import Settings, load_settings
from speed_layer.stream import stream

ENOUGH_IS_LEFT = ("commit-log-lost",)
ENOUGH_FOR_INGESTION = (*ENOUGH_IS_LEFT, "checkpoint-lost")
"""Which micro-batches are in the log, the log says."""
QUICK = ("commit-log-lost", "offsets-torn", "state-corrupt", "checkpoint-lost")


@pytest.fixture
def settings() -> Settings:
    return cut_into(load_settings(), 1)


@pytest.fixture(scope="module")
def streamed(spark: SparkSession, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A lake whose streams have all but the last commit of the log still to come. It is copied for each damage: a JVM
    remembers the state of a checkpoint by its path, and is not to know this one."""
    home, settings = tmp_path_factory.mktemp("checkpoints"), cut_into(load_settings(), 1)
    landing, lake = landed(home / "landing"), create_lake(home / "lake")
    ingest(None, lake, landing, settings, files_per_batch=1)
    stream(spark, lake, [SCORES], settings)
    land(landing, "last.jsonl", [pop("last", 2400), pop("last-late", 100)])
    ingest(None, lake, landing, settings)
    return lake.path


def cases(*, stateful: bool) -> list[Any]:
    """Every damage; those that take the same way as another one are for `make chaos`."""
    return [
        pytest.param(damage, id=damage.name, marks=() if damage.name in QUICK else pytest.mark.chaos)
        for damage in DAMAGES
        if stateful or not damage.stateful
    ]


@pytest.mark.parametrize("damage", cases(stateful=True))
def test_of_a_stream(
    spark: SparkSession, streamed: Path, tmp_path: Path, settings: Settings, damage: Damage,
    observe: Observe, stopwatch: Callable[[], float],
) -> None:  # fmt: skip
    lake = open_lake(Path(shutil.copytree(streamed, tmp_path / "lake")))
    epoch, table = live_epoch(lake, SCORES), changelog_name(SCORES)
    damage.do(epoch.checkpoint)
    before = newest(lake, table)
    if damage.name in ENOUGH_IS_LEFT:
        stopwatch()
        stream(spark, lake, [SCORES], settings)
        assert live_epoch(lake, SCORES) == epoch
        said = "The next `parity stream` runs the last micro-batch again, which changes nothing, and goes on."
    else:
        with pytest.raises(
            (CheckpointLost, StreamFailed), match=rf"parity stream --lake .* --result {SCORES.id} --rebuild"
        ):
            stream(spark, lake, [SCORES], settings)
        assert newest(lake, table) == before and live_epoch(lake, SCORES) == epoch
        stopwatch()
        stream(spark, lake, [SCORES], settings, rebuild=True)
        assert live_epoch(lake, SCORES).number == epoch.number + 1
        said = "Refused, nothing written; `parity stream … --rebuild` computes the result anew from the log in a new epoch."
    seconds = stopwatch()
    stream(spark, lake, [SCORES], settings)
    proven(spark, lake, [SCORES], settings)
    observe(f"stream: {damage.said}", said, seconds)


@pytest.mark.parametrize("damage", cases(stateful=False))
def test_of_ingestion(
    spark: SparkSession, tmp_path: Path, settings: Settings, damage: Damage,
    observe: Observe, stopwatch: Callable[[], float],
) -> None:  # fmt: skip
    """Spark's engine: the embedded one has none."""
    settings = run_by("spark", settings)
    landing, lake = landed(tmp_path / "landing"), create_lake(tmp_path / "lake")
    ingest(spark, lake, landing, settings, files_per_batch=1)
    damage.do(lake.checkpoint("ingest"))
    before = newest(lake, ARRIVALS)
    land(landing, "last.jsonl", [pop("last", 2400), pop("last-late", 100)])
    if damage.name in ENOUGH_FOR_INGESTION:
        stopwatch()
        ingest(spark, lake, landing, settings)
        said = "The next `parity ingest` is offered micro-batches that the log has, skips them, and goes on."
    else:
        with pytest.raises((CheckpointLost, StreamFailed), match=r"parity ingest --lake .* --landing .* --rebuild"):
            ingest(spark, lake, landing, settings)
        assert newest(lake, ARRIVALS) == before
        stopwatch()
        ingest(spark, lake, landing, settings, rebuild=True)
        said = (
            "Refused, nothing written; `parity ingest … --rebuild` makes a new checkpoint from the log and the manifests. What "
            "the log has is skipped."
        )
    seconds = stopwatch()
    assert position(lake).batch == FILES
    ingest(spark, lake, landing, settings)
    stream(spark, lake, [SCORES], settings)
    proven(spark, lake, [SCORES], settings)
    observe(f"ingestion: {damage.said}", said, seconds)


def test_of_ingestion_that_the_embedded_engine_went_on_without(
    spark: SparkSession, tmp_path: Path, settings: Settings, observe: Observe
) -> None:
    """The checkpoint is behind by what the other engine took in, and by what it saw nothing of."""
    landing, lake = landed(tmp_path / "landing"), create_lake(tmp_path / "lake")
    ingest(spark, lake, landing, run_by("spark", settings), files_per_batch=1)
    for number in range(3):
        land(landing, f"more {number}.jsonl", [pop(f"more {number}", 2400 + number)])
        ingest(None, lake, landing, run_by("embedded", settings))
    land(landing, "last.jsonl", [pop("last", 2500), pop("more 0", 2400)])
    ingest(spark, lake, landing, run_by("spark", settings))
    assert position(lake).batch == FILES + 3
    assert_whole(lake)
    observe(
        "ingestion: its checkpoint is behind the log, which the embedded engine has gone on with",
        "Spark is offered those micro-batches again, and they are skipped: nothing is in the log twice.",
    )


@pytest.mark.parametrize("moment", ["read", "written"])
def test_of_ingestion_in_the_middle_of_a_micro_batch_an_hour_ago(
    tmp_path: Path, settings: Settings, moment: str, observe: Observe, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The retry is judged by the clock of the first attempt, although the checkpoint is gone.

    By its own clock the retry would accept what was from the future when it came.
    """
    now = datetime(2026, 3, 1, 10, 0, tzinfo=UTC)
    landing, lake = tmp_path / "landing", create_lake(tmp_path / "lake")
    landing.mkdir()
    land(landing, "0.jsonl", [pop("sound", 1), pop("from-the-future", 1800)])

    def struck(at: str, *_: Any) -> None:
        if at == f"ingest.{moment}":
            raise RuntimeError("killed before the commit")

    with monkeypatch.context() as patched:
        patched.setattr(ingestion.ingest, "struck_here", lambda *_: struck)
        with pytest.raises(RuntimeError, match="killed before the commit"):
            ingest(None, lake, landing, settings, clock=lambda: now)
    shutil.rmtree(lake.checkpoint("ingest"), ignore_errors=True)
    ingest(None, lake, landing, settings, rebuild=True, clock=lambda: now + timedelta(hours=1))
    assert_whole(lake)
    assert event_ids(lake) == ["sound"]
    observe(
        f"ingestion: its checkpoint is gone in the middle of a micro-batch ({moment}), an hour passes",
        "The next start takes the micro-batch in by the clock at which it was noted: each line has one row.",
    )


def test_of_ingestion_with_its_manifests(tmp_path: Path, settings: Settings, observe: Observe) -> None:
    """Which files have been read is known from the manifests alone: without them nobody can go on with certainty."""
    landing, lake = landed(tmp_path / "landing"), create_lake(tmp_path / "lake")
    ingest(None, lake, landing, settings, files_per_batch=1)
    before = newest(lake, ARRIVALS)
    (lake.landings / f"{FILES - 1:08d}.json").unlink()
    for rebuild in (False, True):
        with pytest.raises(ParityError, match=r"Manifests of landing files are gone: .* Put them back from a backup"):
            ingest(None, lake, landing, settings, rebuild=rebuild)
    assert newest(lake, ARRIVALS) == before
    observe(
        "ingestion: the manifests of what was read are gone",
        "Refused with or without --rebuild, nothing written: a backup of them, or a new lake.",
    )
