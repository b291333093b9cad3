"""Poison: files that change before, while or after they are read

A file is read as it was noted or not at all. Where it is another one by then, it is noted again and read as that.
"""

import os
from collections import Counter
from collections.abc import Callable
from pathlib import Path

import pytest
from deliveries import heartbeat, land, note_landings, pop
from landing_strikes import MOMENTS, SOUND, nothing_written, strike
from observations import Observe
from one_run import SCORES, ids, one_run, reasons
from proof import proven
from pyspark.sql import SparkSession

import speed_layer.intake
from lakehouse.commits import newest
from lakehouse.errors import ParityError, StreamFailed
from lakehouse.lake import Lake
from lakehouse.log import position
from lakehouse.settings import Settings
from speed_layer.ingest import ingest

OTHER = [pop("c", 120, bubbles=3), pop("a", 0), "nonsense", heartbeat("beat", 1000)]
"""Another file of the same name: it has lost an event, has a new one, and a line that is none."""
CHANGED = "Landing files changed while they were read: .*x.jsonl. Nothing was written. Start again"


def replaced(landing: Path) -> Path:
    return land(landing, "x.jsonl", OTHER, modified=100)


def overwritten(landing: Path) -> None:
    """In place, as `cp` does it."""
    (landing / "x.jsonl").write_bytes("".join(f"{line}\n" for line in OTHER).encode())


def cut_off(landing: Path) -> None:
    """In the middle of its second line."""
    os.truncate(landing / "x.jsonl", len(SOUND[0]) + 30)


def agree_without_audit(spark: SparkSession, lake: Lake, settings: Settings) -> str:
    """The proof. The input audit cannot count a file that is no longer what was noted, and says so."""
    verdict = proven(spark, lake, [SCORES], settings, audited=False)
    assert "landing files are gone or have changed since, e.g. x.jsonl" in str(verdict.audit.unavailable)
    return (
        f"{verdict.results[0].equal} settled keys agree; the input audit says that it cannot count a file that changed."
    )


def test_a_file_that_is_replaced_between_its_manifest_and_the_read_is_read_as_what_it_is_then_and_once(
    spark: SparkSession, lake: Lake, landing: Path, settings: Settings, observe: Observe
) -> None:
    land(landing, "x.jsonl", SOUND)
    note_landings(lake, landing, files_per_batch=1)
    replaced(landing)
    one_run(spark, lake, landing, [SCORES], settings)
    assert (ids(spark, lake, "events"), ids(spark, lake, "duplicates")) == (["a", "beat", "c"], [])
    assert reasons(spark, lake) == Counter({"not a JSON object": 1})
    observe(
        "A landing file replaced between its manifest and the read",
        "It is noted again and read once, as what it is then: 3 events, 0 copies, 1 line in quarantine. "
        + agree_without_audit(spark, lake, settings),
    )


@pytest.mark.parametrize(("fault", "moment"), [*zip([replaced, overwritten], MOMENTS, strict=True)])
def test_a_file_that_changes_while_it_is_read_is_refused_and_the_next_run_reads_it_as_it_is_then(
    spark: SparkSession,
    lake: Lake,
    landing: Path,
    settings: Settings,
    observe: Observe,
    monkeypatch: pytest.MonkeyPatch,
    moment: str,
    fault: Callable[[Path], object],
) -> None:
    land(landing, "x.jsonl", SOUND)
    land(landing, "y.jsonl", [pop("y", 30)])
    strike(monkeypatch, moment, lambda: fault(landing))
    with pytest.raises(ParityError, match=CHANGED):
        ingest(spark, lake, landing, settings)
    assert nothing_written(lake)
    one_run(spark, lake, landing, [SCORES], settings)
    assert (ids(spark, lake, "events"), ids(spark, lake, "duplicates")) == (["a", "beat", "c", "y"], [])
    how = "replaced" if fault is replaced else "overwritten in place"
    observe(
        f"A landing file {how} {moment}",
        "Ingestion stops with a sentence that names the file, and writes nothing. Started again it reads the new file, "
        "and the file beside it, once: 4 events, 0 copies, 1 line in quarantine. "
        + agree_without_audit(spark, lake, settings),
    )


def test_a_file_that_is_cut_off_while_it_is_read_is_refused_and_its_half_line_is_in_quarantine_then(
    spark: SparkSession,
    lake: Lake,
    landing: Path,
    settings: Settings,
    observe: Observe,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    land(landing, "x.jsonl", SOUND)
    land(landing, "y.jsonl", [pop("y", 30), heartbeat("later", 2000)])
    strike(monkeypatch, "before the first Spark job", lambda: cut_off(landing))
    with pytest.raises(ParityError, match=CHANGED):
        ingest(spark, lake, landing, settings)
    assert nothing_written(lake)
    one_run(spark, lake, landing, [SCORES], settings)
    assert ids(spark, lake, "events") == ["a", "later", "y"]
    assert reasons(spark, lake) == Counter({"not a JSON object": 1})
    observe(
        "A landing file cut off while it is read",
        "Ingestion stops and writes nothing. Started again it takes in what is left of the file: 1 event; its half line is "
        "in quarantine. " + agree_without_audit(spark, lake, settings),
    )


def test_a_file_that_is_replaced_between_two_attempts_of_a_batch_is_refused_until_the_old_one_is_back(
    spark: SparkSession,
    lake: Lake,
    landing: Path,
    settings: Settings,
    observe: Observe,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """The first attempt has put line 1 aside. In the other file line 1 is an event."""
    file = land(landing, "x.jsonl", ["nonsense", *SOUND, SOUND[0]])

    def died(*_: object, **__: object) -> None:
        raise RuntimeError("died here")

    with monkeypatch.context() as patched:
        patched.setattr(speed_layer.intake, "append_events", died)
        with pytest.raises(StreamFailed, match="died here"):
            ingest(spark, lake, landing, settings)
    put_aside = [newest(lake, table) for table in ("events", "duplicates", "quarantine")]
    assert put_aside == [0, 1, 1]
    old = file.rename(landing / "x.old")
    replaced(landing)
    with pytest.raises(
        ParityError, match="Micro-batch 0 .* was begun and not finished.*changed since: .*x.jsonl. Nothing"
    ):
        ingest(spark, lake, landing, settings)
    assert [newest(lake, table) for table in ("events", "duplicates", "quarantine")] == put_aside
    file.rename(landing / "other.jsonl")
    old.rename(file)
    one_run(spark, lake, landing, [SCORES], settings)
    assert ids(spark, lake, "events") == ["a", "b", "beat", "c"]
    verdict = proven(spark, lake, [SCORES], settings, audited=False)
    observe(
        "A landing file replaced between two attempts of a micro-batch, the first of which died half-way",
        "The second attempt is refused and writes nothing: lines of the old file are put aside already, and others in their "
        "places would count twice. With the old file back, and the new one under another name, each line is in one table once "
        f"and {verdict.results[0].equal} settled keys agree.",
    )


def test_a_file_that_was_left_out_does_not_hold_up_the_batch_that_died_half_way(
    spark: SparkSession,
    lake: Lake,
    landing: Path,
    settings: Settings,
    observe: Observe,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """It had changed before it was read: no line of it was put aside, so it need not be what it was."""
    land(landing, "x.jsonl", SOUND)
    land(landing, "y.jsonl", ["nonsense", pop("y", 200)])
    note_landings(lake, landing, files_per_batch=2)
    replaced(landing)

    def died(*_: object, **__: object) -> None:
        raise RuntimeError("died here")

    with monkeypatch.context() as patched:
        patched.setattr(speed_layer.intake, "append_events", died)
        with pytest.raises(StreamFailed, match="died here"):
            ingest(spark, lake, landing, settings)
    one_run(spark, lake, landing, [SCORES], settings)
    assert ids(spark, lake, "events") == ["a", "beat", "c", "y"]
    observe(
        "A landing file replaced before it was read, in a micro-batch that died half-way",
        "The retry finishes with the files that were read; the replaced one comes with the micro-batch that notes it again. "
        + agree_without_audit(spark, lake, settings),
    )


def test_a_file_that_grows_after_it_was_read_adds_its_new_lines_and_the_old_ones_are_copies(
    spark: SparkSession, lake: Lake, landing: Path, settings: Settings, observe: Observe
) -> None:
    land(landing, "x.jsonl", SOUND)
    one_run(spark, lake, landing, [SCORES], settings)
    with (landing / "x.jsonl").open("a") as file:
        file.write(pop("new", 1100) + "\n" + heartbeat("later", 2000) + "\n")
    one_run(spark, lake, landing, [SCORES], settings)
    assert ids(spark, lake, "events") == ["a", "b", "beat", "later", "new"]
    assert ids(spark, lake, "duplicates") == ["a", "b", "beat"]
    assert position(lake).lines == 8
    observe(
        "A landing file that grows after it was read",
        "It is read again as a whole: its 2 new lines are events, its 3 old ones are copies. "
        + agree_without_audit(spark, lake, settings),
    )
