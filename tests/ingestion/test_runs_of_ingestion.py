"""Ingestion again: runs that follow each other, retries of a micro-batch, and what is refused."""

import shutil
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
from deliveries import START, land, note_landings, pop
from engines import Engine, run_by
from logged import assert_whole, event_ids, places, rows, written
from pyspark.sql import SparkSession

import ingestion.ingest
import ingestion.intake
import ingestion.table
from ingestion.ingest import ingest
from lakehouse.arrivals import ARRIVALS, DUPLICATE, EVENT, QUARANTINED
from lakehouse.commits import newest
from lakehouse.errors import AlreadyRunning, CheckpointLost, ParityError
from lakehouse.lake import Lake, create_lake
from lakehouse.landings import noted_at
from lakehouse.locks import exclusive_here
from lakehouse.settings import Settings
from transformations.durations import to_millis

FILES = [[pop("a", 0), pop("b", 30), "nonsense"], [pop("a", 0), pop("c", 10)], [pop("b", 31), pop("d", 400)]]
both_engines = pytest.mark.parametrize("engine", ["embedded", "spark"])


@pytest.fixture
def spark_of(request: pytest.FixtureRequest, engine: Engine) -> SparkSession | None:
    return request.getfixturevalue("spark") if engine == "spark" else None


@pytest.fixture
def landing(landing: Path) -> Path:
    for number, lines in enumerate(FILES):
        land(landing, f"{number}.jsonl", lines)
    return landing


class Died(Exception):
    pass


def died(*_: object, **__: object) -> None:
    raise Died("died here")


@both_engines
def test_a_second_run_adds_nothing(
    lake: Lake, landing: Path, settings: Settings, engine: Engine, spark_of: SparkSession | None
) -> None:
    for _ in range(2):
        ingest(spark_of, lake, landing, run_by(engine, settings), files_per_batch=2)
        assert newest(lake, ARRIVALS) == 2
    assert_whole(lake)


def forget_commit(lake: Lake, batch: int) -> None:
    """As if the process had died between the commit and Spark's own note of the batch."""
    commits = lake.checkpoint("ingest") / "commits"
    (commits / str(batch)).unlink()
    (commits / f".{batch}.crc").unlink(missing_ok=True)


def test_a_batch_that_is_retried_after_its_commit_adds_nothing(
    spark: SparkSession, lake: Lake, landing: Path, settings: Settings
) -> None:
    by_spark = run_by("spark", settings)
    ingest(spark, lake, landing, by_spark, files_per_batch=2)
    before = written(lake)
    forget_commit(lake, 1)
    ingest(spark, lake, landing, by_spark)
    assert (lake.checkpoint("ingest") / "commits" / "1").exists(), "the batch was not tried again"
    assert newest(lake, ARRIVALS) == 2 and written(lake) == before


def test_a_lost_checkpoint_is_no_loss(spark: SparkSession, lake: Lake, landing: Path, settings: Settings) -> None:
    """What is in the log, the log says. Spark offers every manifest again, and those are skipped."""
    by_spark = run_by("spark", settings)
    ingest(spark, lake, landing, by_spark, files_per_batch=2)
    before = written(lake)
    shutil.rmtree(lake.checkpoint("ingest"))
    ingest(spark, lake, landing, by_spark)
    assert newest(lake, ARRIVALS) == 2 and written(lake) == before
    land(landing, "3.jsonl", [pop("e", 500)])
    ingest(spark, lake, landing, by_spark)
    assert event_ids(lake)[-1] == "e"
    assert_whole(lake)


def test_lost_manifests_are_refused(lake: Lake, landing: Path, settings: Settings) -> None:
    """New files would get the number of one that the log has, and be skipped."""
    ingest(None, lake, landing, settings, files_per_batch=1)
    (lake.landings / "00000002.json").unlink()
    with pytest.raises(CheckpointLost, match="the log has micro-batch 2, .* has 2 manifests"):
        ingest(None, lake, landing, settings)
    assert newest(lake, ARRIVALS) == 3


def test_a_batch_that_failed_may_be_read_by_other_rules(
    lake: Lake, landing: Path, settings: Settings, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Nothing of the first attempt is there: a line of 1999 is what the second one says, once."""
    land(landing, "old.jsonl", [pop("old", 0, occurred_at="1999-12-31T23:59:59Z")])
    with monkeypatch.context() as patched:
        patched.setattr(ingestion.intake.Intake, "_commit", died)
        with pytest.raises(Died):
            ingest(None, lake, landing, settings)
    assert newest(lake, ARRIVALS) == 0
    earlier = settings.clock.model_copy(update={"floor": datetime(1990, 1, 1, tzinfo=UTC)})
    ingest(None, lake, landing, settings.model_copy(update={"clock": earlier}))
    assert "old" in event_ids(lake) and ("old.jsonl", 1) not in places(lake, QUARANTINED)
    assert_whole(lake)


def test_a_batch_that_failed_may_have_other_files_when_it_is_read(
    lake: Lake, landing: Path, settings: Settings, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A file that was replaced since is left out, and comes as what it is with the micro-batch that notes it again."""
    with monkeypatch.context() as patched:
        patched.setattr(ingestion.intake.Intake, "_commit", died)
        with pytest.raises(Died):
            ingest(None, lake, landing, settings)
    land(landing, "0.jsonl", [pop("z", 1), pop("a", 0)], modified=100)
    ingest(None, lake, landing, settings)
    assert rows(lake, EVENT, "event_id", "batch") == [("a", 0), ("c", 0), ("b", 0), ("d", 0), ("z", 1)]
    assert places(lake, DUPLICATE) == [("0.jsonl", 2)] and places(lake, QUARANTINED) == []


def test_files_are_judged_by_the_clock_at_which_they_were_noted_whenever_they_are_read(
    lake: Lake, tmp_path: Path, settings: Settings, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A line that was in the future then is not accepted because it was read later."""
    landing = tmp_path / "other landing"
    landing.mkdir()
    first, second = START, START + timedelta(hours=1)
    land(landing, "a.jsonl", [pop("a", 0), pop("ahead", 1800)])
    with monkeypatch.context() as patched:
        patched.setattr(ingestion.ingest, "ingest_batch", died)
        with pytest.raises(Died):
            ingest(None, lake, landing, settings, clock=lambda: first)
    land(landing, "b.jsonl", [pop("b", 1), pop("not ahead any more", 1800)])
    ingest(None, lake, landing, settings, clock=lambda: second)
    assert [noted_at(lake, number) for number in (0, 1)] == [first, second]
    for fate in (EVENT, QUARANTINED):
        found = {(batch, to_millis(at)) for batch, at in rows(lake, fate, "batch", "ingested_at")}
        assert found <= {(0, to_millis(first)), (1, to_millis(second))}
    assert places(lake, QUARANTINED) == [("a.jsonl", 2)]
    assert places(lake, EVENT) == [("a.jsonl", 1), ("b.jsonl", 1), ("b.jsonl", 2)]


@both_engines
def test_a_second_ingestion_is_refused(
    lake: Lake, landing: Path, settings: Settings, engine: Engine, spark_of: SparkSession | None
) -> None:
    with (
        exclusive_here(lake.lock_file("ingest"), wait=False),
        pytest.raises(AlreadyRunning, match=r"ingest\.lock"),
    ):
        ingest(spark_of, lake, landing, run_by(engine, settings))
    assert lake.tables() == []


def test_a_file_that_grew_adds_its_new_lines_and_the_old_ones_are_copies(
    tmp_path: Path, lake: Lake, settings: Settings
) -> None:
    landing = tmp_path / "other landing"
    landing.mkdir()
    land(landing, "a.jsonl", [pop("a", 0), "nonsense"])
    ingest(None, lake, landing, settings)
    land(landing, "a.jsonl", [pop("a", 0), "nonsense", pop("b", 1)])
    ingest(None, lake, landing, settings)
    assert event_ids(lake) == ["a", "b"]
    assert places(lake, DUPLICATE) == [("a.jsonl", 1)]


def test_a_landing_file_that_is_gone_is_named_and_can_be_put_back(
    lake: Lake, landing: Path, settings: Settings
) -> None:
    note_landings(lake, landing, files_per_batch=10)
    away = (landing / "0.jsonl").rename(landing / "0.away")
    with pytest.raises(ParityError, match=r"Landing files are gone before they were read: .*0\.jsonl"):
        ingest(None, lake, landing, settings)
    away.rename(landing / "0.jsonl")
    ingest(None, lake, landing, settings)
    assert event_ids(lake) == ["a", "b", "c", "d"]


def test_the_engine_of_spark_is_refused_without_a_session(tmp_path: Path, landing: Path, settings: Settings) -> None:
    lake = create_lake(tmp_path / "none")
    with pytest.raises(ValueError, match="needs a session"):
        ingest(None, lake, landing, run_by("spark", settings))
    assert lake.tables() == []
