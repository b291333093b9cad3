"""Poison: what is no file, and files that cannot be read"""

import os
from collections.abc import Callable
from pathlib import Path

import pytest
from deliveries import land, note_landings, pop
from landing_strikes import SOUND, nothing_written, strike
from observations import Observe
from one_run import SCORES, ids, one_run
from proof import proven
from pyspark.sql import SparkSession

from lakehouse.errors import ParityError, StreamFailed
from lakehouse.lake import Lake
from lakehouse.landings import landed
from lakehouse.settings import Settings
from speed_layer.ingest import ingest


def test_a_noted_file_that_is_gone_is_named_and_ingestion_goes_on_when_it_is_back(
    spark: SparkSession, lake: Lake, landing: Path, settings: Settings, observe: Observe
) -> None:
    file, away = land(landing, "x.jsonl", SOUND), landing / "x.away"
    note_landings(lake, landing, files_per_batch=1)
    land(landing, "y.jsonl", [pop("y", 30)])
    in_its_place: dict[str, Callable[[], object]] = {
        "nothing": lambda: None,
        "a directory": file.mkdir,
        "a link that leads nowhere": lambda: file.symlink_to(landing / "nowhere"),
    }
    for put in in_its_place.values():
        file.rename(away)
        put()
        with pytest.raises(ParityError, match="gone before they were read: .*x.jsonl. Put them back and start again"):
            ingest(spark, lake, landing, settings, files_per_batch=1)
        assert nothing_written(lake)
        if file.is_dir():
            file.rmdir()
        away.replace(file)
    one_run(spark, lake, landing, [SCORES], settings)
    assert ids(spark, lake, "events") == ["a", "b", "beat", "y"]
    verdict = proven(spark, lake, [SCORES], settings)
    observe(
        "A noted landing file with nothing, a directory, or a link to nowhere in its place",
        "Each time ingestion stops, names the file and writes nothing, also of the files behind it: their order would change. "
        f"When the file is back, all 4 events are read and {verdict.results[0].equal} settled keys agree.",
    )


def test_a_file_that_vanishes_while_it_is_read_stops_ingestion_until_it_is_back(
    spark: SparkSession,
    lake: Lake,
    landing: Path,
    settings: Settings,
    observe: Observe,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    file, away = land(landing, "x.jsonl", SOUND), landing / "x.away"
    strike(monkeypatch, "before the first Spark job", lambda: file.rename(away))
    with pytest.raises(StreamFailed, match="streaming query of ingest failed.*x.jsonl"):
        ingest(spark, lake, landing, settings)
    assert nothing_written(lake)
    away.rename(file)
    one_run(spark, lake, landing, [SCORES], settings)
    verdict = proven(spark, lake, [SCORES], settings)
    assert verdict.audit.total("accepted") == len(SOUND)
    observe(
        "A landing file that vanishes while it is read",
        "The micro-batch fails, names the file and writes nothing. When the file is back it is read: 3 events, each once.",
    )


def test_a_file_that_the_disk_gives_back_wrong_stops_ingestion_and_is_not_taken_for_its_content(
    spark: SparkSession, lake: Lake, landing: Path, settings: Settings, observe: Observe
) -> None:
    """Hadoop keeps a checksum beside a file that it wrote. Here the checksum is that of another content."""
    file = land(landing, "x.jsonl", SOUND)
    checksums = landing / ".x.jsonl.crc"
    checksums.write_bytes(b"crc\0" + (512).to_bytes(4, "big") + b"\0" * 4 * (1 + file.stat().st_size // 512))
    with pytest.raises(StreamFailed, match="streaming query of ingest failed.*x.jsonl"):
        ingest(spark, lake, landing, settings)
    assert nothing_written(lake)
    checksums.unlink()
    one_run(spark, lake, landing, [SCORES], settings)
    verdict = proven(spark, lake, [SCORES], settings)
    assert verdict.audit.total("accepted") == len(SOUND)
    observe(
        "A landing file that cannot be read: its checksum is not that of its content",
        "The micro-batch fails, names the file and writes nothing. Once it can be read, all 3 events are in the log.",
    )


def test_what_is_no_file_is_not_read_until_it_is_one(
    spark: SparkSession, lake: Lake, landing: Path, settings: Settings, observe: Observe
) -> None:
    land(landing, "x.jsonl", SOUND)
    (landing / "directory.jsonl").mkdir()
    (landing / "nowhere.jsonl").symlink_to(landing / "elsewhere")
    (landing / "circle.jsonl").symlink_to(landing / "circle.jsonl")
    ingest(spark, lake, landing, settings)
    assert ids(spark, lake, "events") == ["a", "b", "beat"]
    (landing / "elsewhere").write_text(pop("linked", 30) + "\n")
    one_run(spark, lake, landing, [SCORES], settings)
    assert ids(spark, lake, "events") == ["a", "b", "beat", "linked"]
    verdict = proven(spark, lake, [SCORES], settings)
    observe(
        "A directory named x.jsonl, a symbolic link that leads nowhere, and one that leads in a circle",
        "They are passed over, and the file beside them is read. The link is read as soon as its target is there: 4 events, "
        f"and {verdict.results[0].equal} settled keys agree.",
    )


def test_a_name_that_is_not_utf_8_is_refused_before_it_is_noted(landing: Path, observe: Observe) -> None:
    (Path(os.fsdecode(os.fsencode(landing) + b"/\xff.jsonl"))).write_text(SOUND[0] + "\n")
    with pytest.raises(ParityError, match=r"whose name is not UTF-8: '.*\\udcff.jsonl'. Rename it; nothing was read"):
        landed(landing)
    observe("A landing file whose name is not UTF-8", "It is refused by name before anything is read or noted.")
