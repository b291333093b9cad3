"""Looking back without Spark: a changelog that delta-rs writes, compacts and folds, and readers that saw more or less of it.

The same as test_looking_back.py, which lets the real writers run; here there are many generated tables, and rebuilds too.
"""

import json
import random
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from deliveries import START
from deltalake import CommitProperties, DeltaTable, write_deltalake
from game import catalogue
from pyspark.sql.pandas.types import to_arrow_schema

from lakehouse.arrivals import ARRIVALS
from lakehouse.changelogs import changelog_name
from lakehouse.commits import committed_at, newest
from lakehouse.errors import NothingToCompare
from lakehouse.identity import begun_epoch
from lakehouse.lake import Lake, create_lake
from lakehouse.log import Position
from lakehouse.settings import load_settings
from serving.reader import Reader
from transformations.changelog import changelog_schema

EXAMPLES = 3
SETTINGS = load_settings()
SCORES = catalogue()["team_scores"]
TABLE = changelog_name(SCORES)
SCHEMA = to_arrow_schema(changelog_schema(SCORES), timezone="UTC")
Row = dict[str, Any]


class Writer:
    """A stream in little: what it wrote, and what was to be seen after each micro-batch."""

    def __init__(self, lake: Lake, rng: random.Random) -> None:
        self.lake, self._rng = lake, rng
        self._rows: list[Row] = []
        self._epoch, self._batch, self._log = 0, 0, 0
        self.seen: list[tuple[datetime, tuple[int, int, int], dict[Any, int]]] = []
        self._log_commit()
        self.rebuild()

    def rebuild(self) -> None:
        self._epoch, self._batch = begun_epoch(self.lake, SCORES, since=0).number, 0
        self.append()

    def append(self) -> None:
        """A micro-batch; sometimes one without news, which is of the log version of the one before and tells other results."""
        teams = ["blue", "red"]
        if self._rng.random() < 0.7:
            self._log_commit()
        else:
            teams = [f"told in {self._batch}"]
        rows = [self._revision(self._rng.choice(teams)) for _ in range(self._rng.randint(1, 4))]
        unique = {(row["team_id"], row["window_start"]): row for row in rows}
        self._rows += unique.values()
        said = {"epoch": self._epoch, "batch": self._batch, "log_version": self._log}
        self._write(TABLE, pa.Table.from_pylist(list(unique.values()), SCHEMA), said)
        view: dict[Any, tuple[int, int]] = {}
        for row in (each for each in self._rows if each["epoch"] == self._epoch):
            identity = (row["team_id"], row["window_start"])
            view[identity] = max(view.get(identity, (-1, 0)), (row["log_version"], row["bubbles"]))
        at = committed_at(self.lake, TABLE, newest(self.lake, TABLE))
        shown = {identity: bubbles for identity, (_, bubbles) in view.items()}
        self.seen.append((at, (self._epoch, self._log, self._batch), shown))
        self._batch += 1

    def compact(self) -> None:
        DeltaTable(self.lake.table(TABLE)).optimize.compact()

    def fold(self) -> tuple[int, int, int]:
        """What is superseded as of the last micro-batch but one goes, and every epoch before; returns that boundary."""
        epoch, log, batch = self.seen[-2][1]
        table = DeltaTable(self.lake.table(TABLE)).to_pyarrow_table().to_pylist()
        kept: dict[Any, Row] = {}
        for place, row in enumerate(sorted(table, key=lambda row: (row["log_version"], row["batch"]))):
            folds = row["epoch"] == epoch and (row["log_version"], row["batch"]) <= (log, batch)
            identity = (row["team_id"], row["window_start"], None if folds else place)
            if row["epoch"] == epoch:
                kept[identity] = max(
                    kept.get(identity, row), row, key=lambda each: (each["log_version"], each["bubbles"])
                )
        rows = pa.Table.from_pylist(list(kept.values()), SCHEMA)
        self._write(TABLE, rows, {"folded": log, "epoch": epoch}, mode="overwrite")
        return epoch, log, batch

    def _revision(self, team: str) -> Row:
        start = START + timedelta(minutes=self._rng.randrange(3))
        row: Row = {
            "team_id": team,
            "window_start": start,
            "window_end": start + timedelta(minutes=1),
        }
        values = {value.name: self._rng.randrange(1000) for value in SCORES.values}
        stamps = {"cause": "late", "deleted": False, "settled": False, "epoch": self._epoch, "batch": self._batch}
        return {**row, **values, **stamps, "log_version": self._log, "written_at": START, "fingerprint": "code"}

    def _log_commit(self) -> None:
        mark = START + timedelta(minutes=self._log)
        said = Position(0, batch=self._log, seq=self._log, high_water=mark).said
        self._write(ARRIVALS, pa.table({"seq": [self._log]}), said)
        self._log = newest(self.lake, ARRIVALS)

    def _write(self, name: str, rows: pa.Table, said: dict[str, Any], mode: Any = "append") -> None:
        metadata = CommitProperties(custom_metadata={"userMetadata": json.dumps(said)})
        write_deltalake(self.lake.table(name), rows, mode=mode, commit_properties=metadata)


def answered(reader: Reader, moment: datetime) -> dict[Any, int] | str:
    try:
        rows = reader.answer("team_scores", as_of=moment).rows.to_pylist()
    except NothingToCompare as refused:
        return str(refused)
    return {(row["team_id"], row["window_start"].astimezone(UTC)): row["bubbles"] for row in rows}


@pytest.mark.parametrize("seed", range(EXAMPLES))
def test_the_same_question_has_the_same_answer_whatever_a_reader_has_seen(seed: int, tmp_path: Path) -> None:
    rng = random.Random(seed)
    writer = Writer(create_lake(tmp_path / "lake"), rng)
    with Reader(writer.lake, SETTINGS) as following, Reader(writer.lake, SETTINGS) as past:
        for step in range(8):
            writer.rebuild() if step == 3 and seed % 2 else writer.append()
            following.answer("team_scores")
        for moment, _, _ in writer.seen:
            answered(past, moment)
        folded: tuple[int, int, int] | None = None
        for state in ("plain", "compacted", "gone on", "folded", "gone on again"):
            if state == "compacted":
                writer.compact()
            elif state == "folded":
                folded = writer.fold()
            elif state != "plain":
                writer.append()
            following.answer("team_scores")
            refused = 0
            for moment, at, expected in writer.seen:
                with Reader(writer.lake, SETTINGS) as fresh:
                    said = answered(fresh, moment)
                for other in (following, past):
                    assert answered(other, moment) == said, f"{state}, boundary {at}"
                if folded is not None and at < folded:
                    assert isinstance(said, str) and "have been folded" in said, f"{state}, boundary {at}"
                    refused += 1
                else:
                    assert said == expected, f"{state}, boundary {at}"
            assert bool(refused) == (folded is not None), state
