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
from observations import Observe
from one_run import SCORES, cut_into
from proof import lines, proven
from pyspark.sql import SparkSession
from struck import FILES, landed

import speed_layer.intake
from chaos.damages import DAMAGES, Damage
from lakehouse.changelogs import changelog_name
from lakehouse.commits import newest
from lakehouse.errors import CheckpointLost, ParityError, StreamFailed
from lakehouse.identity import live_epoch
from lakehouse.lake import Lake, create_lake, open_lake
from lakehouse.log import EVENTS, position
from lakehouse.settings import Settings, load_settings
from lakehouse.tables import read_table
from speed_layer.ingest import ingest
from speed_layer.stream import stream

ENOUGH_IS_LEFT = ("commit-log-lost",)
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
    ingest(spark, lake, landing, settings, files_per_batch=1)
    stream(spark, lake, [SCORES], settings)
    land(landing, "last.jsonl", [pop("last", 2400), pop("last-late", 100)])
    ingest(spark, lake, landing, settings)
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
    landing, lake = landed(tmp_path / "landing"), create_lake(tmp_path / "lake")
    ingest(spark, lake, landing, settings, files_per_batch=1)
    damage.do(lake.checkpoint("ingest"))
    before = newest(lake, EVENTS)
    land(landing, "last.jsonl", [pop("last", 2400), pop("last-late", 100)])
    if damage.name in ENOUGH_IS_LEFT:
        stopwatch()
        ingest(spark, lake, landing, settings)
        said = "The next `parity ingest` runs the last micro-batch again, which changes nothing, and goes on."
    else:
        with pytest.raises((CheckpointLost, StreamFailed), match=r"parity ingest --lake .* --landing .* --rebuild"):
            ingest(spark, lake, landing, settings)
        assert newest(lake, EVENTS) == before
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


def test_of_ingestion_in_the_middle_of_a_micro_batch_an_hour_ago(
    spark: SparkSession, tmp_path: Path, settings: Settings, monkeypatch: pytest.MonkeyPatch, observe: Observe
) -> None:
    """The retry is judged by the clock of the first attempt, although the checkpoint that knew it is gone.

    By its own clock the retry would accept what the first attempt has put into quarantine: the line would be there twice.
    """
    now = datetime(2026, 3, 1, 10, 0, tzinfo=UTC)
    landing, lake = tmp_path / "landing", create_lake(tmp_path / "lake")
    landing.mkdir()
    land(landing, "0.jsonl", [pop("sound", 1), pop("from-the-future", 1800)])

    def crash(*_: Any, **__: Any) -> None:
        raise RuntimeError("killed between the appends")

    with monkeypatch.context() as patched:
        patched.setattr(speed_layer.intake, "append_events", crash)
        with pytest.raises(StreamFailed):
            ingest(spark, lake, landing, settings, clock=lambda: now)
    shutil.rmtree(lake.checkpoint("ingest"))
    ingest(spark, lake, landing, settings, rebuild=True, clock=lambda: now + timedelta(hours=1))
    assert set(lines(spark, lake).values()) == {1}
    assert [row.event_id for row in read_table(spark, lake, EVENTS).collect()] == ["sound"]
    observe(
        "ingestion: its checkpoint is gone in the middle of a micro-batch, an hour passes",
        "`parity ingest … --rebuild` finishes the micro-batch by the clock that it was begun at: each line is in one table.",
    )


def test_of_ingestion_with_its_manifests(
    spark: SparkSession, tmp_path: Path, settings: Settings, observe: Observe
) -> None:
    """Which files have been read is known from the manifests alone: without them nobody can go on with certainty."""
    landing, lake = landed(tmp_path / "landing"), create_lake(tmp_path / "lake")
    ingest(spark, lake, landing, settings, files_per_batch=1)
    before = _state(lake)
    (lake.landings / f"{FILES - 1:08d}.json").unlink()
    for rebuild in (False, True):
        with pytest.raises(ParityError, match=r"Manifests of landing files are gone: .* Put them back from a backup"):
            ingest(spark, lake, landing, settings, rebuild=rebuild)
    assert _state(lake) == before
    observe(
        "ingestion: the manifests of what was read are gone",
        "Refused with or without --rebuild, nothing written: a backup of them, or a new lake.",
    )


def _state(lake: Lake) -> tuple[int, bool]:
    return newest(lake, EVENTS), (lake.checkpoint("ingest") / "metadata").exists()
