"""Poison: what is no file, and files that cannot be read"""

import errno
import io
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from deliveries import land, note_landings, pop
from landing_strikes import MOMENTS, SOUND, nothing_written, strike
from observations import Observe
from one_run import SCORES, ids, one_run
from proof import proven
from pyspark.sql import SparkSession

from ingestion.ingest import ingest
from lakehouse.arrivals import EVENT
from lakehouse.errors import ParityError
from lakehouse.lake import Lake
from lakehouse.landings import landed
from lakehouse.settings import Settings


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
            ingest(None, lake, landing, settings, files_per_batch=1)
        assert nothing_written(lake)
        if file.is_dir():
            file.rmdir()
        away.replace(file)
    one_run(spark, lake, landing, [SCORES], settings)
    assert ids(lake, EVENT) == ["a", "b", "beat", "y"]
    verdict = proven(spark, lake, [SCORES], settings)
    observe(
        "A noted landing file with nothing, a directory, or a link to nowhere in its place",
        "Each time ingestion stops, names the file and writes nothing, also of the files behind it: their order would change. "
        f"When the file is back, all 4 events are read and {verdict.results[0].equal} settled keys agree.",
    )


@pytest.mark.parametrize("moment", MOMENTS)
def test_a_file_that_vanishes_while_it_is_read_stops_ingestion_until_it_is_back(
    spark: SparkSession,
    lake: Lake,
    landing: Path,
    settings: Settings,
    observe: Observe,
    monkeypatch: pytest.MonkeyPatch,
    moment: str,
) -> None:
    file, away = land(landing, "x.jsonl", SOUND), landing / "x.away"
    with monkeypatch.context() as patched:
        strike(patched, moment, lambda: file.rename(away))
        with pytest.raises(ParityError, match="gone before they were read: .*x.jsonl. Put them back and start again"):
            ingest(None, lake, landing, settings)
    assert nothing_written(lake)
    away.rename(file)
    one_run(spark, lake, landing, [SCORES], settings)
    verdict = proven(spark, lake, [SCORES], settings)
    assert verdict.audit.total("accepted") == len(SOUND)
    observe(
        f"A landing file that vanishes {moment}",
        "The micro-batch fails, names the file and writes nothing. When the file is back it is read: 3 events, each once.",
    )


def test_a_file_that_the_disk_does_not_give_back_stops_ingestion_and_is_not_taken_for_its_content(
    spark: SparkSession,
    lake: Lake,
    landing: Path,
    settings: Settings,
    observe: Observe,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    file = land(landing, "x.jsonl", SOUND)
    honest = Path.open

    class Broken(io.BytesIO):
        def read(self, *_: Any) -> bytes:
            raise OSError(errno.EIO, "Input/output error")

    def opened(path: Path, *arguments: Any, **options: Any) -> Any:
        return Broken() if path.name == file.name else honest(path, *arguments, **options)

    with monkeypatch.context() as patched:
        patched.setattr(Path, "open", opened)
        with pytest.raises(ParityError, match=r"cannot be read: .*x.jsonl \(Input/output error\). Nothing was written"):
            ingest(None, lake, landing, settings)
    assert nothing_written(lake)
    one_run(spark, lake, landing, [SCORES], settings)
    verdict = proven(spark, lake, [SCORES], settings)
    assert verdict.audit.total("accepted") == len(SOUND)
    observe(
        "A landing file that cannot be read: the disk reports an error",
        "The micro-batch fails, names the file and writes nothing. Once it can be read, all 3 events are in the log.",
    )


def test_what_is_no_file_is_not_read_until_it_is_one(
    spark: SparkSession, lake: Lake, landing: Path, settings: Settings, observe: Observe
) -> None:
    land(landing, "x.jsonl", SOUND)
    (landing / "directory.jsonl").mkdir()
    (landing / "nowhere.jsonl").symlink_to(landing / "elsewhere")
    (landing / "circle.jsonl").symlink_to(landing / "circle.jsonl")
    ingest(None, lake, landing, settings)
    assert ids(lake, EVENT) == ["a", "b", "beat"]
    (landing / "elsewhere").write_text(pop("linked", 30) + "\n")
    one_run(spark, lake, landing, [SCORES], settings)
    assert ids(lake, EVENT) == ["a", "b", "beat", "linked"]
    verdict = proven(spark, lake, [SCORES], settings)
    observe(
        "A directory named x.jsonl, a symbolic link that leads nowhere, and one that leads in a circle",
        "They are passed over, and the file beside them is read. The link is read as soon as its target is there: 4 events, "
        f"and {verdict.results[0].equal} settled keys agree.",
    )


def test_a_name_that_is_not_utf_8_is_refused_before_it_is_noted(landing: Path, observe: Observe) -> None:
    (Path(os.fsdecode(os.fsencode(landing) + b"/\xff.jsonl"))).write_text(SOUND[0] + "\n")
    with pytest.raises(ParityError, match=r"is not UTF-8, .*: '.*\\udcff.jsonl'. Rename it; nothing was read"):
        landed(landing)
    observe("A landing file whose name is not UTF-8", "It is refused by name before anything is read or noted.")
