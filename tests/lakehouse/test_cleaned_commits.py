"""What Delta forgets: commits beyond the horizon are removed, for real, and nothing that somebody goes on with goes with them."""

import os
import time
from collections.abc import Iterable
from datetime import timedelta
from pathlib import Path

import pytest
from deliveries import heartbeat, land, pop
from laws.logs import WINDOWS
from pyspark.sql import SparkSession

from batch_layer.recompute import recompute
from lakehouse import compaction, folding
from lakehouse.changelogs import boundary, changelog_name
from lakehouse.commits import commits, newest
from lakehouse.errors import Forgotten
from lakehouse.lake import Lake, create_lake
from lakehouse.log import DUPLICATES, EVENTS, QUARANTINE, duplicates_at, log_at, position
from lakehouse.maintenance import maintain
from lakehouse.savepoints import take
from lakehouse.settings import Lateness, Retention, Stream, load_settings
from lakehouse.tables import read_table
from reconciliation.reconcile import reconcile
from serving.status import lake_status
from speed_layer.ingest import ingest
from speed_layer.stream import stream
from transformations.catalogue import catalogue

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


def commit_files(lake: Lake, name: str) -> list[int]:
    return sorted(int(file.stem) for file in (Path(lake.table(name)) / "_delta_log").glob("*.json"))


@pytest.fixture(scope="module")
def cleaned(spark: SparkSession, tmp_path_factory: pytest.TempPathFactory) -> tuple[Lake, Path]:
    """A lake that has rested for longer than its horizon; then a maintenance came. Not to be changed by most."""
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
    tables = (EVENTS, DUPLICATES, QUARANTINE, *(changelog_name(each) for each in STREAMS))
    let_the_horizon_pass(spark, lake, tables)
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(compaction, "A_HANDFUL", 1)
        patched.setattr(folding, "LEAST_SHARE", 0.0001)
        list(maintain(spark, lake, SETTINGS))
    for name in tables:
        assert commit_files(lake, name)[0] > max(before[name]), f"Delta has removed all that the writers of {name} said"
    return lake, landing


def test_the_log_goes_on_where_it_stood(spark: SparkSession, cleaned: tuple[Lake, Path]) -> None:
    lake, landing = cleaned
    was = position(lake)
    rows = read_table(spark, lake, EVENTS)
    assert (was.batch, was.seq, was.version) == (FILES - 1, rows.count(), FILES)
    assert (was.duplicates, was.quarantined) == (FILES - 1, FILES)
    assert log_at(spark, lake, was.version).count() == was.seq
    assert duplicates_at(spark, lake, newest(lake, DUPLICATES)).count() == was.duplicates
    with pytest.raises(Forgotten, match=f"events in {lake.path} said at version 1 is no longer known"):
        position(lake, 1)
    standing = lake_status(lake, STREAMS)["layers"]
    assert {each["lag_events"] for each in standing if each["log_version"] is not None} == {0}

    deliver(landing, FILES)
    land(landing, "again.jsonl", [pop("pop 0", 0, bubbles=1), heartbeat("far", 5_000)])
    ingest(spark, lake, landing, SETTINGS)
    now = position(lake)
    assert (now.seq, now.duplicates) == (was.seq + 4, was.duplicates + 2)
    assert now.high_water is not None and was.high_water is not None and now.high_water > was.high_water
    assert [row.seq for row in read_table(spark, lake, EVENTS).select("seq").orderBy("seq").collect()] == list(
        range(1, now.seq + 1)
    )

    stream(spark, lake, STREAMS, SETTINGS)
    for result in STREAMS:
        assert boundary(lake, result).log_version == now.version
        recompute(spark, lake, result, SETTINGS)
        [found] = reconcile(spark, lake, [result], SETTINGS).results
        assert (found.status, found.differing) == ("agree", 0) and found.compared > 0
