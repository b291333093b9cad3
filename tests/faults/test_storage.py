"""Storage that refuses, tears, or is cleaned up meanwhile"""

import re
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
from deliveries import heartbeat, land, pop
from engines import Engine
from logged import assert_whole
from observations import Observe
from one_run import SCORES, answer, cut_into
from processes import environment
from proof import proven
from pyspark.sql import SparkSession
from struck import PATIENCE, REFUSED, begun, ingested, landed

from batch_layer.recompute import recompute
from ingestion.ingest import ingest
from lakehouse.arrivals import ARRIVALS
from lakehouse.batches import batch_name
from lakehouse.changelogs import boundary, changelog_name, read_kappa
from lakehouse.commits import newest
from lakehouse.errors import TornCommit
from lakehouse.lake import Lake, create_lake
from lakehouse.log import log_at, position
from lakehouse.maintenance import maintain
from lakehouse.settings import Settings, load_settings
from reconciliation.reconcile import reconcile
from serving.queries import Asked
from serving.reader import Reader
from speed_layer.stream import stream


@pytest.fixture
def settings() -> Settings:
    return cut_into(load_settings(), 1)


@pytest.mark.parametrize("place", ["read", "written", "committed"])
@pytest.mark.parametrize("engine", ["embedded", pytest.param("spark", marks=pytest.mark.chaos)])
def test_the_disk_is_full_when_ingestion_writes(
    tmp_path: Path, settings: Settings, engine: Engine, place: str, observe: Observe, stopwatch: Callable[[], float]
) -> None:
    landing, lake = landed(tmp_path / "landing"), create_lake(tmp_path / "lake")
    command = ("ingest", "--lake", lake.path, "--landing", landing, "--files-per-batch", "1")
    said = starved(lake, command, f"ingest.{place}:arrivals:1", PARITY_INGESTION__ENGINE=engine)
    assert position(lake).batch == (1 if place == "committed" else 0)
    stopwatch()
    ingest(None, lake, landing, settings, files_per_batch=1)
    seconds = stopwatch()
    assert_whole(lake)
    what = {"read": "its data file", "written": "its commit", "committed": "its index of ids"}[place]
    then = "The log has the micro-batch." if place == "committed" else said
    observe(f"ingestion, {engine}: the disk is full when it writes {what}", then, seconds)


@pytest.mark.parametrize("writer", ["stream", pytest.param("batch", marks=pytest.mark.chaos)])
def test_the_disk_is_full_when_a_layer_commits(
    spark: SparkSession,
    tmp_path: Path,
    settings: Settings,
    writer: str,
    observe: Observe,
    stopwatch: Callable[[], float],
) -> None:
    lake, _ = ingested(tmp_path, settings)
    name, place, table = {
        "stream": ("stream", "stream.computed:team_scores:1", changelog_name(SCORES)),
        "batch": ("recompute", "recompute.computed:team_scores:0", batch_name(SCORES)),
    }[writer]
    said = starved(lake, (name, "--lake", lake.path, "--result", SCORES.name), place)
    assert newest(lake, table) == (1 if writer == "stream" else 0)
    stopwatch()
    stream(spark, lake, [SCORES], settings)
    if writer == "batch":
        stopwatch()
        recompute(spark, lake, SCORES, settings)
    seconds = stopwatch()
    proven(spark, lake, [SCORES], settings)
    observe(f"{writer}: the disk is full at its commit", said, seconds)


def starved(lake: Lake, command: tuple[str | Path, ...], place: str, **more: str) -> str:
    """Run the command with no room on the disk from this place on; it says so, and leaves nothing that counts."""
    process = begun(lake, command, failpoint=f"full@{place}", **more)
    assert process.wait(PATIENCE) == REFUSED, process.said
    assert "StorageRefused" in process.said and "could not be written" in process.said, process.said
    assert "Traceback" not in process.said
    return (
        "The command ends with what the disk refused. Nothing of the micro-batch counts; the next start runs it again."
    )


@pytest.mark.chaos
def test_a_directory_that_cannot_be_written_to(
    spark: SparkSession, tmp_path: Path, settings: Settings, observe: Observe
) -> None:
    """Read-only as a mount is: the mode of a directory does not hold back a superuser."""
    if shutil.which("unshare") is None or subprocess.run(["unshare", "-Urm", "true"], capture_output=True).returncode:
        pytest.skip("a mount of one's own is not allowed here")
    lake, _ = ingested(tmp_path, settings)
    tables = lake.path / "tables"
    command = f"{sys.executable} -m cli.main stream --lake {lake.path} --result {SCORES.name}"
    mounted = f"mount --bind {tables} {tables} && mount -o remount,ro,bind {tables} && exec {command}"
    done = subprocess.run(["unshare", "-Urm", "sh", "-c", mounted], env=environment(), capture_output=True, text=True)
    assert done.returncode == REFUSED, done.stderr
    assert "StorageRefused" in done.stderr and "Traceback" not in done.stderr, done.stderr
    stream(spark, lake, [SCORES], settings)
    proven(spark, lake, [SCORES], settings)
    observe("stream: the tables are mounted read-only", "Refused with what the disk said; the next start goes on.")


@pytest.mark.parametrize(
    "length", [pytest.param(0.5, id="half"), pytest.param(0.0, id="empty", marks=pytest.mark.chaos)]
)
def test_a_torn_commit(
    spark: SparkSession, tmp_path: Path, settings: Settings, length: float, observe: Observe
) -> None:
    """No crash of a process tears one. Whoever finds one says which, and which command follows when it is put aside."""
    lake, landing = ingested(tmp_path, settings)
    stream(spark, lake, [SCORES], settings)
    recompute(spark, lake, SCORES, settings)

    def torn(table: str) -> None:
        file = Path(lake.table(table)) / "_delta_log" / f"{newest(lake, table):020d}.json"
        content = file.read_bytes()
        file.write_bytes(content[: int(len(content) * length)])

    torn(batch_name(SCORES))
    with pytest.raises(TornCommit, match="then `parity recompute") as refused:
        recompute(spark, lake, SCORES, settings)
    put_aside(refused.value)
    recompute(spark, lake, SCORES, settings)

    torn(changelog_name(SCORES))
    with pytest.raises(TornCommit, match="then `parity stream … --rebuild`") as refused:
        stream(spark, lake, [SCORES], settings)
    put_aside(refused.value)
    stream(spark, lake, [SCORES], settings, rebuild=True)

    torn(ARRIVALS)
    with pytest.raises(TornCommit, match="then `parity ingest … --rebuild`") as refused:
        ingest(None, lake, landing, settings)
    put_aside(refused.value)
    ingest(None, lake, landing, settings, rebuild=True)
    stream(spark, lake, [SCORES], settings, rebuild=True)
    proven(spark, lake, [SCORES], settings)
    observe(
        f"a torn commit ({'empty' if not length else 'half of it'}) at the end of the log, of a changelog, of a batch table",
        "Every command that meets it refuses, and names the file to put aside and the command that writes it again. Both "
        "together lose nothing.",
    )


def put_aside(refused: TornCommit) -> None:
    """Do what the refusal says, word for word."""
    said = re.search(r"`(mv .*?)`", str(refused))
    assert said is not None
    subprocess.run(["sh", "-c", said[1]], check=True)


def test_compaction_under_those_who_hold_older_versions(
    spark: SparkSession, tmp_path: Path, settings: Settings, observe: Observe
) -> None:
    """A reader, a reconciliation and a stream stand at older versions when their files are replaced."""
    lake, landing = ingested(tmp_path, settings)
    stream(spark, lake, [SCORES], settings)
    recompute(spark, lake, SCORES, settings)
    at, pinned = boundary(lake, SCORES), position(lake).version
    with Reader(lake, settings) as reader:
        subject = reader.subjects.subject(SCORES.name, "kappa")
        served = reader.rows(subject, Asked()).rows.to_pylist()
        log = log_at(spark, lake, pinned).count()
        kept = answer(spark, lake, SCORES)
        land(landing, "later.jsonl", [pop("later", 3000), pop("later-late", 65, bubbles=100), heartbeat("b", 4000)])
        ingest(None, lake, landing, settings)
        done = list(maintain(spark, lake, settings))
        assert any(each.files_before for each in done)
        assert reader.rows(subject, Asked()).rows.to_pylist() == served
    assert log_at(spark, lake, pinned).count() == log
    names = SCORES.schema.names
    then = sorted(map(tuple, read_kappa(spark, lake, SCORES, at).select(*names).collect()), key=repr)
    assert then == kept
    verdict = reconcile(spark, lake, [SCORES], settings, log_version=pinned)
    assert (verdict.status, verdict.results[0].log_version) == ("agree", pinned)
    stream(spark, lake, [SCORES], settings)
    proven(spark, lake, [SCORES], settings)
    observe(
        "compaction while a reader, a stream and a reconciliation hold older versions",
        "Each went on with the rows of its version; the stream saw no row twice.",
    )
