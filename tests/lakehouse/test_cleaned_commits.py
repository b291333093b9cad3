"""What Delta forgets: commits beyond the horizon are removed, for real, and nothing that somebody goes on with goes with them."""

import os
import shutil
import time
from collections.abc import Iterable
from datetime import timedelta
from pathlib import Path

import pytest
from deliveries import heartbeat, land, pop
from game import catalogue
from laws.logs import WINDOWS, rows_of
from pyspark.sql import SparkSession
from typer.testing import CliRunner

from batch_layer.recompute import recompute
from cli.main import app
from ingestion.ingest import ingest
from lakehouse import compaction, folding
from lakehouse.arrivals import ARRIVALS
from lakehouse.changelogs import boundaries, boundary, changelog_name, read_kappa
from lakehouse.commits import commits
from lakehouse.errors import CheckpointLost, LogCompacted, NothingToCompare, ParityError
from lakehouse.identity import live_epoch
from lakehouse.lake import Lake, create_lake
from lakehouse.log import duplicates_at, log_at, position
from lakehouse.maintenance import maintain
from lakehouse.savepoints import take
from lakehouse.settings import Lateness, Retention, Stream, load_settings
from lakehouse.tables import read_table
from reconciliation.reconcile import reconcile
from serving.status import lake_status
from speed_layer.restore import restore
from speed_layer.stream import stream

RESULTS = catalogue(WINDOWS)
SCORES, SESSIONS = RESULTS["team_scores"], RESULTS["player_sessions"]
STREAMS = [SCORES, SESSIONS]
HORIZON = timedelta(days=3)
SETTINGS = load_settings().model_copy(
    update={
        "lateness": Lateness(allowed=timedelta(seconds=5)),
        "stream": Stream(commits_per_batch=2),
        "retention": Retention(horizon=HORIZON, revisions=timedelta(seconds=10)),
    }
)
FILES = 5


def deliver(landing: Path, number: int) -> None:
    """A pop, a late one, a copy of an earlier pop, a broken line, and a beat far on."""
    at = 100 * number
    late = [pop(f"late {number}", max(at - 90, 0), bubbles=5)]
    again = [pop(f"pop {number - 1}", at - 100, bubbles=number)] if number else []
    beat = heartbeat(f"beat {number}", at + 40)
    land(landing, f"{number:03}.jsonl", [pop(f"pop {number}", at, bubbles=number + 1), *late, *again, "{", beat])


def let_the_horizon_pass(spark: SparkSession, lake: Lake, tables: Iterable[str]) -> None:
    """As if everything had been written long ago; the next commit of each table writes a checkpoint, and cleans up."""
    for name in tables:
        at_once = "('delta.checkpointInterval' = '1')"
        spark.sql(f"alter table delta.`{lake.table(name)}` set tblproperties {at_once}")
        long_ago = time.time() - 2 * HORIZON.total_seconds() - 86_400
        for file in (Path(lake.table(name)) / "_delta_log").iterdir():
            os.utime(file, (long_ago, long_ago))


def let_maintenance_clean_up(spark: SparkSession, lake: Lake, tables: Iterable[str]) -> None:
    let_the_horizon_pass(spark, lake, tables)
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(compaction, "A_HANDFUL", 1)
        patched.setattr(folding, "LEAST_SHARE", 0.0001)
        list(maintain(spark, lake, SETTINGS))


def commit_files(lake: Lake, name: str) -> list[int]:
    return sorted(int(file.stem) for file in (Path(lake.table(name)) / "_delta_log").glob("*.json"))


@pytest.fixture(scope="module")
def cleaned(spark: SparkSession, tmp_path_factory: pytest.TempPathFactory) -> tuple[Lake, Path]:
    """A lake that has rested for longer than its horizon; then a maintenance came."""
    home = tmp_path_factory.mktemp("cleaned")
    lake, landing = create_lake(home / "lake"), home / "landing"
    landing.mkdir()
    for number in range(FILES):
        deliver(landing, number)
    ingest(spark, lake, landing, SETTINGS, files_per_batch=1)
    stream(spark, lake, STREAMS, SETTINGS)
    for result in STREAMS:
        recompute(spark, lake, result, SETTINGS)
    take(spark, lake, "monday", [SCORES])
    before = {name: [said["version"] for said in commits(lake, name)] for name in lake.tables()}
    tables = (ARRIVALS, *(changelog_name(each) for each in STREAMS))
    let_maintenance_clean_up(spark, lake, tables)
    for name in tables:
        assert commit_files(lake, name)[0] > max(before[name]), f"Delta has removed all that the writers of {name} said"
    shutil.copytree(lake.path, home / "copy")
    return lake, landing


@pytest.fixture
def copy(cleaned: tuple[Lake, Path], tmp_path: Path) -> Lake:
    """Such a lake to be changed, as it was after the maintenance. Ingestion cannot go on in it: it has been moved."""
    return Lake(shutil.copytree(cleaned[0].path.parent / "copy", tmp_path / "lake"))


def test_the_log_goes_on_where_it_stood(spark: SparkSession, cleaned: tuple[Lake, Path]) -> None:
    lake, landing = cleaned
    was = position(lake)
    rows = read_table(spark, lake, ARRIVALS)
    assert (was.batch, was.arrivals, was.version) == (FILES - 1, rows.count(), FILES)
    assert (was.duplicates, was.quarantined) == (FILES - 1, FILES)
    assert log_at(spark, lake, was.version).count() == was.seq
    assert duplicates_at(spark, lake, was.version).count() == was.duplicates
    with pytest.raises(NothingToCompare, match=f"arrivals in {lake.path} said at version 1 is no longer known"):
        position(lake, 1)
    standing = lake_status(lake, STREAMS)["layers"]
    assert {each["lag_events"] for each in standing if each["log_version"] is not None} == {0}

    deliver(landing, FILES)
    land(landing, "again.jsonl", [pop("pop 0", 0, bubbles=1), heartbeat("far", 5_000)])
    ingest(spark, lake, landing, SETTINGS)
    now = position(lake)
    assert (now.seq, now.duplicates) == (was.seq + 4, was.duplicates + 2)
    assert now.high_water is not None and was.high_water is not None and now.high_water > was.high_water
    log = log_at(spark, lake, now.version).select("seq").orderBy("seq").collect()
    assert [row.seq for row in log] == list(range(1, now.seq + 1))

    stream(spark, lake, STREAMS, SETTINGS)
    for result in STREAMS:
        assert boundary(lake, result).log_version == now.version
        recompute(spark, lake, result, SETTINGS)
        [found] = reconcile(spark, lake, [result], SETTINGS).results
        assert (found.status, found.differing) == ("agree", 0) and found.compared > 0

    for number in range(FILES + 1, FILES + 3):
        deliver(landing, number)
    ingest(spark, lake, landing, SETTINGS, files_per_batch=1)
    let_maintenance_clean_up(spark, lake, [ARRIVALS])
    assert commit_files(lake, ARRIVALS)[0] > position(lake).version
    for result in STREAMS:
        with pytest.raises(LogCompacted, match=f"from version {now.version + 1} on"):
            stream(spark, lake, [result], SETTINGS)


def test_a_stream_that_rests_with_its_log_goes_on_and_a_lost_checkpoint_is_noticed(
    spark: SparkSession, copy: Lake
) -> None:
    answers = {
        result.id: rows_of(read_kappa(spark, copy, result, boundary(copy, result)), result) for result in STREAMS
    }
    stood = {result.id: boundary(copy, result) for result in STREAMS}
    stream(spark, copy, STREAMS, SETTINGS)
    for result in STREAMS:
        assert boundary(copy, result).log_version == stood[result.id].log_version == FILES
        assert rows_of(read_kappa(spark, copy, result, boundary(copy, result)), result) == answers[result.id] != set()
    restore(spark, copy, "monday", [SCORES], SETTINGS)
    assert boundaries(copy, SCORES, live_epoch(copy, SCORES))[0].batch == stood[SCORES.id].batch
    assert rows_of(read_kappa(spark, copy, SCORES, boundary(copy, SCORES)), SCORES) == answers[SCORES.id]
    shutil.rmtree(live_epoch(copy, SESSIONS).checkpoint)
    with pytest.raises(CheckpointLost, match=f"its table has micro-batch {boundary(copy, SESSIONS).batch}"):
        stream(spark, copy, [SESSIONS], SETTINGS)


def test_a_log_that_another_tool_has_maintained_recovers_its_position_from_its_rows(
    spark: SparkSession, copy: Lake, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.chdir(tmp_path)
    was = position(copy)
    let_the_horizon_pass(spark, copy, [ARRIVALS])
    spark.sql(f"alter table delta.`{copy.table(ARRIVALS)}` set tblproperties ('by' = 'somebody else')")
    assert list(commits(copy, ARRIVALS)) == []
    with pytest.raises(ParityError, match="numbered from 1 again.*--recover-position"):
        stream(spark, copy, [SCORES], SETTINGS)
    command = ["maintain", "--lake", str(copy.path), "--recover-position"]
    done = CliRunner().invoke(app, command)
    assert done.exit_code == 0, done.output
    now = position(copy)
    assert (now.seq, now.high_water, now.batch) == (was.seq, was.high_water, was.batch)
    assert (now.arrivals, now.duplicates, now.quarantined) == (was.arrivals, was.duplicates, was.quarantined)
    again = CliRunner().invoke(app, command)
    assert again.exit_code == 2 and "is known" in " ".join(again.output.split())
    assert log_at(spark, copy, now.version).count() == now.seq
    # What the stream had read when the commits were there nobody can tell any more.
    with pytest.raises(LogCompacted, match="--way steps` reads the log as a whole"):
        stream(spark, copy, [SCORES], SETTINGS)
