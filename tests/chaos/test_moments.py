"""Each moment is told from the others by what is left on disk, and what is left is read as it lies there."""

import json
import shutil
from dataclasses import replace
from datetime import timedelta
from pathlib import Path

import pytest
from accounts import account_of, game, taken_in, witness_of
from deltalake import CommitProperties, DeltaTable
from game import catalogue
from processes import EMBEDDED, parity
from tables_by_hand import write_batch

from chaos.moments import MOMENTS
from chaos.remains import Remains, last_numbered, orphans, remains_of_batch, remains_of_ingestion, remains_of_stream
from chaos.system import Writer
from lakehouse.arrivals import ARRIVALS
from lakehouse.batches import batch_name
from lakehouse.changelogs import changelog_name
from lakehouse.identity import begun_epoch
from lakehouse.lake import Lake
from lakehouse.log import position
from lakehouse.tables import create_table
from transformations.changelog import changelog_schema

SCORES = catalogue()["team_scores"]
BEFORE = Remains(planned=4, state=4, sink=4, done=4, offered=4, taken=4)
NEXT = replace(BEFORE, offered=5, taken=5, planned=5)
FILE = frozenset({"part-new.parquet"})
LEFT: dict[Writer, dict[str, Remains]] = {
    "ingest": {
        "before-offsets": replace(BEFORE, offered=5),
        "read": replace(NEXT, state=-1),
        "written": replace(NEXT, state=-1, orphans=FILE),
        "committed": replace(NEXT, sink=5, indexed=False),
        "indexing": replace(NEXT, sink=5, indexed=False, begun_runs=frozenset({"00000007.run"})),
        "after-sink": replace(NEXT, sink=5),
        "after-commit-log": replace(NEXT, sink=5, done=5),
    },
    "stream": {
        "before-offsets": replace(BEFORE, offered=5),
        "after-offsets": NEXT,
        "after-state": replace(NEXT, state=5, orphans=FILE),
        "after-sink": replace(NEXT, state=5, sink=5),
        "after-commit-log": replace(NEXT, state=5, sink=5, done=5),
    },
    "batch": {
        "begun": replace(BEFORE),
        "computed": replace(BEFORE, orphans=FILE),
        "after-sink": replace(BEFORE, sink=6),
    },
}
"""What each kill leaves of the fifth micro-batch, or of a recompute."""
FROM_OUTSIDE = {"half-written"}
"""It is struck when the file appears, and leaves what a kill leaves after all was computed."""


@pytest.mark.parametrize("writer", MOMENTS)
def test_every_moment_is_shown_by_what_it_leaves_and_by_nothing_else(writer: Writer) -> None:
    named = {moment.name: moment for moment in MOMENTS[writer] if moment.name not in FROM_OUTSIDE}
    assert set(named) == set(LEFT[writer])
    for name, moment in named.items():
        shown = {other for other, left in LEFT[writer].items() if moment.shown(BEFORE, left)}
        assert shown == {name}


def test_of_a_query_without_state_the_file_shows_that_it_has_computed() -> None:
    stateless = replace(BEFORE, state=-1)
    moments = {moment.name: moment for moment in MOMENTS["stream"]}
    computed, planned = replace(NEXT, state=-1, orphans=FILE), replace(NEXT, state=-1)
    assert moments["after-state"].shown(stateless, computed) and not moments["after-state"].shown(stateless, planned)
    assert moments["after-offsets"].shown(stateless, planned) and not moments["after-offsets"].shown(
        stateless, computed
    )


@pytest.mark.parametrize("writer", MOMENTS)
def test_a_moment_that_comes_again_is_shown_again(writer: Writer) -> None:
    """What the first kill has left is what there was before the second: the file of the first attempt proves nothing."""
    for moment in (each for each in MOMENTS[writer] if each.comes_again and each.name in LEFT[writer]):
        first = LEFT[writer][moment.name]
        second = replace(first, orphans=first.orphans | {"part-second.parquet"}) if first.orphans else first
        if writer == "batch" and moment.name == "after-sink":
            second = replace(first, sink=7)
        assert moment.shown(first, second), moment.name
    written = {moment.name: moment for moment in MOMENTS["ingest"]}["written"]
    assert not written.shown(LEFT["ingest"]["written"], LEFT["ingest"]["written"])


@pytest.fixture(scope="module")
def landing(tmp_path_factory: pytest.TempPathFactory) -> Path:
    landing = tmp_path_factory.mktemp("moments") / "landing"
    game(landing)
    return landing


@pytest.mark.parametrize("name", ["read", "written", "committed", "appended"])
def test_what_a_killed_ingestion_leaves_is_read_as_it_lies_there(tmp_path: Path, landing: Path, name: str) -> None:
    lake = taken_in(tmp_path / "lake", landing)
    before = remains_of_ingestion(lake)
    assert (before.sink, before.offered, before.indexed, before.orphans) == (3, 3, True, frozenset())
    more = Path(shutil.copytree(landing, tmp_path / "landing"))
    (more / "00001.jsonl").rename(more / "again.jsonl")  # one commit more, all of it copies
    command = ("ingest", "--lake", lake.path, "--landing", more)
    done = parity(*command, failpoint=f"ingest.{name}:{ARRIVALS}:*", **EMBEDDED)
    left = remains_of_ingestion(lake)
    assert done.returncode == -9, done.stderr
    assert left.offered == 4
    assert left.sink == (3 if name in ("read", "written") else 4)
    assert len(left.orphans) == (1 if name == "written" else 0)
    assert left.indexed == (name != "committed")


def test_a_run_of_the_index_that_was_begun_is_seen(tmp_path: Path, landing: Path) -> None:
    part = tmp_path / "landing"
    part.mkdir()
    shutil.copy2(landing / "00000.jsonl", part)
    lake = taken_in(tmp_path / "lake", part)
    shutil.copy2(landing / "00001.jsonl", part)
    command = ("ingest", "--lake", lake.path, "--landing", part)
    assert parity(*command, failpoint=f"ingest.indexing:{ARRIVALS}:*", **EMBEDDED).returncode == -9
    left = remains_of_ingestion(lake)
    assert (left.sink, left.indexed, len(left.begun_runs)) == (1, False, 1)


def test_what_a_batch_run_leaves_is_the_version_of_its_last_run(tmp_path: Path, landing: Path) -> None:
    lake = taken_in(tmp_path / "lake", landing)
    assert remains_of_batch(lake, SCORES) == Remains()
    account = account_of(lake, landing)
    witness = witness_of(account.events)
    rows = witness.rows("team_scores", arrivals=account.landed)
    for number in range(2):
        write_batch(lake, SCORES, witness.columns("team_scores"), rows, 3 + number)
        left = remains_of_batch(lake, SCORES)
        assert (left.sink, len(left.orphans)) == (1 + number, number)
    (Path(lake.table(batch_name(SCORES))) / "part-half.parquet").write_bytes(b"half")
    assert remains_of_batch(lake, SCORES).orphans == left.orphans | {"part-half.parquet"}
    assert orphans(lake, "no such table") == frozenset()


def test_what_a_stream_leaves_is_read_from_its_checkpoint_and_its_table(tmp_path: Path, landing: Path) -> None:
    lake = taken_in(tmp_path / "lake", landing)
    epoch = begun_epoch(lake, SCORES, since=0)
    create_table(lake, changelog_name(SCORES), changelog_schema(SCORES), horizon=timedelta(days=1))
    for part in ("offsets", "commits", "state/0/0"):
        (epoch.checkpoint / part).mkdir(parents=True)
    for batch in range(3):
        offset = {"reservoirVersion": batch + 2, "index": -1, "sourceVersion": 1, "isStartingVersion": False}
        text = "\n".join(("v1", json.dumps({"batchWatermarkMs": 0}), json.dumps(offset)))
        (epoch.checkpoint / "offsets" / str(batch)).write_text(text)
        (epoch.checkpoint / "offsets" / f".{batch}.crc").write_text("")
        (epoch.checkpoint / "state/0/0" / f"{batch + 1}.delta").write_text("")
    (epoch.checkpoint / "commits" / "0").write_text("v1\n{}")
    _commit(lake, epoch.number, 1)
    left = remains_of_stream(lake, SCORES)
    assert left == Remains(
        planned=2, state=2, sink=1, done=0, offered=position(lake).version, taken=3, orphans=frozenset()
    )
    assert last_numbered(epoch.checkpoint / "nothing") == -1


def _commit(lake: Lake, epoch: int, batch: int) -> None:
    table = DeltaTable(lake.table(changelog_name(SCORES)))
    said = json.dumps({"epoch": epoch, "batch": batch, "log_version": 2})
    table.create_write_transaction(
        [], "append", table.schema(), commit_properties=CommitProperties({"userMetadata": said})
    )
