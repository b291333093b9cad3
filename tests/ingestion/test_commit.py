"""The commit of a micro-batch: all of it or nothing, whatever happens beside it."""

from pathlib import Path
from typing import Any

import pytest
from deliveries import heartbeat, land, pop
from deltalake import DeltaTable
from logged import assert_whole, event_ids

import ingestion.intake
from ingestion.ingest import ingest, ingest_batch
from ingestion.intake import Intake
from ingestion.judging import judged_here
from ingestion.rules import rules_of
from lakehouse.arrivals import ARRIVALS
from lakehouse.errors import AlreadyRunning
from lakehouse.lake import Lake
from lakehouse.log import position
from lakehouse.settings import Settings


@pytest.mark.parametrize("error", [KeyboardInterrupt, OSError], ids=["Ctrl-C", "a full disk at Delta's checkpoint"])
def test_what_is_committed_stays_whatever_fails_right_after_it(
    lake: Lake, landing: Path, settings: Settings, monkeypatch: pytest.MonkeyPatch, error: type[BaseException]
) -> None:
    """An interruption is heard when the commit is done. The data file is the log's by then."""
    honest = DeltaTable.create_write_transaction

    def interrupted(*arguments: Any, **options: Any) -> None:
        honest(*arguments, **options)
        raise error("after the commit")

    land(landing, "0.jsonl", [pop("a", 0), pop("a", 0), "nonsense"])
    with monkeypatch.context() as patched:
        patched.setattr(DeltaTable, "create_write_transaction", interrupted)
        with pytest.raises(error):
            ingest(None, lake, landing, settings)
    assert event_ids(lake) == ["a"]
    ingest(None, lake, landing, settings)
    assert_whole(lake)


def test_what_fails_before_the_commit_leaves_no_file(
    lake: Lake, landing: Path, settings: Settings, monkeypatch: pytest.MonkeyPatch
) -> None:
    land(landing, "0.jsonl", [pop("a", 0), "nonsense"])

    def failing(*_: object) -> None:
        raise OSError("the disk is gone")

    with monkeypatch.context() as patched:
        patched.setattr(ingestion.intake.DataFile, "closed", failing)
        with pytest.raises(OSError, match="the disk is gone"):
            ingest(None, lake, landing, settings)
    assert not list(Path(lake.table(ARRIVALS)).glob("*.parquet"))
    ingest(None, lake, landing, settings)
    assert_whole(lake)


def test_an_ingestion_that_was_overtaken_commits_nothing(
    lake: Lake, landing: Path, settings: Settings, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Somebody removed the lock's file, and another process took the same micro-batch in meanwhile."""
    land(landing, "0.jsonl", [pop("a", 0), heartbeat("beat", 60)])
    honest = Intake._commit
    waiting = [True]

    def overtaken(*arguments: Any) -> Any:
        if waiting:
            waiting.clear()
            with Intake(lake) as other:
                ingest_batch(lake, 0, other, rules_of(lake, settings), judged_here)
        return honest(*arguments)

    with monkeypatch.context() as patched:
        patched.setattr(Intake, "_commit", overtaken)
        with pytest.raises(AlreadyRunning, match="has gone on meanwhile"):
            ingest(None, lake, landing, settings)
    assert position(lake).version == 1
    assert_whole(lake)
