"""Poison: files that change before, while or after they are read

A file is read as it was noted or not at all. Where it is another one by then, it is noted again and read as that.
"""

import os
from collections import Counter
from collections.abc import Callable
from itertools import product
from pathlib import Path

import pytest
from deliveries import heartbeat, land, note_landings, pop
from landing_strikes import MOMENTS, SOUND, nothing_written, strike
from logged import reasons
from observations import Observe
from one_run import SCORES, ids, one_run
from processes import EMBEDDED
from proof import proven
from pyspark.sql import SparkSession
from struck import KILLED, PATIENCE, begun

from ingestion.ingest import ingest
from lakehouse.arrivals import DUPLICATE, EVENT
from lakehouse.errors import ParityError
from lakehouse.lake import Lake
from lakehouse.log import position
from lakehouse.settings import Settings

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
    assert (ids(lake, EVENT), ids(lake, DUPLICATE)) == (["a", "beat", "c"], [])
    assert reasons(lake) == Counter({"not a JSON object": 1})
    observe(
        "A landing file replaced between its manifest and the read",
        "It is noted again and read once, as what it is then: 3 events, 0 copies, 1 line in quarantine. "
        + agree_without_audit(spark, lake, settings),
    )


@pytest.mark.parametrize(("fault", "moment"), [*product([replaced, overwritten], MOMENTS)])
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
    with monkeypatch.context() as patched:
        strike(patched, moment, lambda: fault(landing))
        with pytest.raises(ParityError, match=CHANGED):
            ingest(None, lake, landing, settings)
    assert nothing_written(lake)
    one_run(spark, lake, landing, [SCORES], settings)
    assert (ids(lake, EVENT), ids(lake, DUPLICATE)) == (["a", "beat", "c", "y"], [])
    how = "replaced" if fault is replaced else "overwritten in place"
    observe(
        f"A landing file {how} {moment}",
        "Ingestion stops with a sentence that names the file, and writes nothing. Started again it reads the new file, "
        "and the file beside it, once: 4 events, 0 copies, 1 line in quarantine. "
        + agree_without_audit(spark, lake, settings),
    )


@pytest.mark.parametrize("moment", MOMENTS)
def test_a_file_that_is_cut_off_while_it_is_read_is_refused_and_its_half_line_is_in_quarantine_then(
    spark: SparkSession,
    lake: Lake,
    landing: Path,
    settings: Settings,
    observe: Observe,
    monkeypatch: pytest.MonkeyPatch,
    moment: str,
) -> None:
    land(landing, "x.jsonl", SOUND)
    land(landing, "y.jsonl", [pop("y", 30), heartbeat("later", 2000)])
    with monkeypatch.context() as patched:
        strike(patched, moment, lambda: cut_off(landing))
        with pytest.raises(ParityError, match=CHANGED):
            ingest(None, lake, landing, settings)
    assert nothing_written(lake)
    one_run(spark, lake, landing, [SCORES], settings)
    assert ids(lake, EVENT) == ["a", "later", "y"]
    assert reasons(lake) == Counter({"not a JSON object": 1})
    observe(
        f"A landing file cut off {moment}",
        "Ingestion stops and writes nothing. Started again it takes in what is left of the file: 1 event; its half line is "
        "in quarantine. " + agree_without_audit(spark, lake, settings),
    )


@pytest.mark.parametrize("moment", ["read", "written"])
def test_a_file_that_is_replaced_between_two_attempts_of_a_batch_is_read_as_what_it_is_then(
    spark: SparkSession, lake: Lake, landing: Path, settings: Settings, observe: Observe, moment: str
) -> None:
    """The first attempt rejected line 1. In the other file line 1 is an event. Nothing is left of the first attempt."""
    land(landing, "x.jsonl", ["nonsense", *SOUND, SOUND[0]])
    land(landing, "y.jsonl", ["no event either", pop("y", 200)])
    command = ("ingest", "--lake", lake.path, "--landing", landing)
    process = begun(lake, command, failpoint=f"ingest.{moment}:arrivals:0", **EMBEDDED)
    assert process.wait(PATIENCE) == KILLED, process.said
    assert nothing_written(lake)
    replaced(landing)
    one_run(spark, lake, landing, [SCORES], settings)
    assert (ids(lake, EVENT), ids(lake, DUPLICATE)) == (["a", "beat", "c", "y"], [])
    assert reasons(lake) == Counter({"not a JSON object": 2})
    told = {"read": "all was read", "written": "the data file was written"}[moment]
    observe(
        f"A landing file replaced between two attempts of a micro-batch, the first of which was killed when {told}",
        "Nothing of the first attempt is there. The second one takes in the files that are as they were noted; the replaced one "
        "comes with the micro-batch that notes it again: 4 events, 0 copies. "
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
    assert ids(lake, EVENT) == ["a", "b", "beat", "later", "new"]
    assert ids(lake, DUPLICATE) == ["a", "b", "beat"]
    assert position(lake).lines == 8
    observe(
        "A landing file that grows after it was read",
        "It is read again as a whole: its 2 new lines are events, its 3 old ones are copies. "
        + agree_without_audit(spark, lake, settings),
    )
