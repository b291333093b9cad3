"""A lake grows with its kinds: new ones and new optional fields come into its log, and what it cannot have is refused.

Each command is a process of its own, because declarations are read once in a process.
"""

import json
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest
from deliveries import at, land
from deltalake import DeltaTable

PROJECT = Path(__file__).parents[2]
STORY = """
from transformations.pipeline import Charted, Story

PIPELINE = Story(name="measuring", story="", controlled=("measures",), charted=Charted("measures", "times"))
"""
RESULT = """
from datetime import timedelta

from pyspark.sql import functions as F
from pyspark.sql.types import LongType

from transformations.result import Result, Value
from transformations.windows import Tumbling


def counted(measured, _, alongside):
    return measured.groupBy(*alongside, "device", "window").agg(F.count("*").alias("times"))


def measures(*, size=timedelta(seconds=10)):
    values = (Value("times", LongType(), "how often"),)
    return Result(
        name="measures", meaning="How often.", kinds=("measured",), key=("device",), values=values, window=Tumbling(size),
        compute=counted,
    )
"""
KIND = 'from transformations.kind import Decimal, Field, Kind\n\nKIND = Kind("{name}", "", ({fields},))\n'
DEVICE, LEVEL = 'Field("device", "text")', 'Field("level", Decimal(2))'
TOTAL = 'Field("total", "long whole number", required=False)'


def line(event_id: str, kind: str = "measured", seconds: float = 0, **said: Any) -> str:
    return json.dumps({"event_id": event_id, "kind": kind, "device": "d", **said, "occurred_at": at(seconds)})


class Home:
    """A directory with a pipeline whose kinds a test declares, and a lake."""

    def __init__(self, path: Path) -> None:
        self.path = path
        for name, text in {"pipeline.py": STORY, "results/measures.py": RESULT, "kinds/__init__.py": ""}.items():
            (path / "measuring" / name).parent.mkdir(parents=True, exist_ok=True)
            (path / "measuring" / name).write_text(text)
        (path / "parity.toml").write_text('[pipeline]\npath = "measuring"\n')
        (path / "landing").mkdir()

    def declare(self, name: str, *fields: str) -> None:
        text = KIND.format(name=name, fields=", ".join(fields))
        (self.path / "measuring" / "kinds" / f"{name}.py").write_text(text)

    def run(self, *command: str, code: int = 0, **settings: str) -> str:
        paths = {"PYTHONPATH": str(PROJECT), "PYTHONDONTWRITEBYTECODE": "1", "PATH": "/usr/bin:/bin"}
        env = {**paths, "PARITY_INGESTION__ENGINE": "embedded", **settings}
        done = subprocess.run([sys.executable, *command], cwd=self.path, env=env, capture_output=True, text=True)
        assert done.returncode == code, done.stderr
        assert "Traceback" not in done.stderr
        return " ".join((done.stdout + done.stderr).split())

    def parity(self, *command: str, code: int = 0, **settings: str) -> str:
        return self.run("-m", "cli.main", *command, "--lake", "lake", code=code, **settings)

    def ingest(self, name: str, *lines: str, code: int = 0, **settings: str) -> str:
        land(self.path / "landing", name, lines)
        return self.parity("ingest", "--landing", "landing", code=code, **settings)

    def events(self, script: Sequence[str]) -> str:
        """What a reader of the lake prints who runs these lines."""
        opened = [
            "import os, subprocess, sys",
            "from serving.reader import Reader",
            "with Reader.of('lake') as reader:",
        ]
        return self.run("-c", "\n".join([*opened, *(f"    {each}" for each in script)]))

    @property
    def rows(self) -> list[dict[str, Any]]:
        table = DeltaTable(self.path / "lake" / "tables" / "arrivals").to_pyarrow_table().sort_by("arrival")
        found: list[dict[str, Any]] = table.to_pylist()
        return found


@pytest.fixture
def home(tmp_path: Path) -> Home:
    """A lake with two events of a kind, and a line of a kind that nobody has declared yet."""
    made = Home(tmp_path)
    made.declare("measured", DEVICE, LEVEL)
    made.ingest("1.jsonl", line("1", level=1.5), line("2", level=2), line("3", "moved", room="hall"))
    return made


def test_a_new_kind_and_a_new_optional_field_come_in_and_older_rows_have_null(home: Home) -> None:
    home.declare("measured", DEVICE, LEVEL, TOTAL)
    home.declare("moved", DEVICE, 'Field("room", "text")')
    home.ingest("2.jsonl", line("4", level=3, total=2**40), line("5", "moved", room="attic"), line("1", level=1.5))
    assert [(row["event_id"], row["fate"], row["total"], row["room"]) for row in home.rows] == [
        ("1", "event", None, None),
        ("2", "event", None, None),
        (None, "quarantined", None, None),
        ("4", "event", 2**40, None),
        ("5", "event", None, "attic"),
        ("1", "duplicate", None, None),
    ]


def test_a_line_of_a_kind_that_is_declared_later_comes_in_by_a_requeue(home: Home) -> None:
    home.declare("moved", DEVICE, 'Field("room", "text")')
    home.parity("requeue")
    last = home.rows[-1]
    assert (last["event_id"], last["fate"], last["room"], last["requeued"], last["seq"]) == (
        "3",
        "event",
        "hall",
        True,
        3,
    )
    home.ingest("2.jsonl", line("6", "moved", room="attic"))
    assert home.rows[-1]["seq"] == 4


def test_another_type_of_a_field_is_refused_with_nothing_written(home: Home) -> None:
    home.declare("measured", DEVICE, 'Field("level", Decimal(3))')
    said = home.ingest("2.jsonl", line("4", level=3), code=2)
    assert "'level' of measured is a decimal of scale 3, and the log of" in said and "as a decimal of scale 2." in said
    assert "Give the field another name or its old type, or ingest the landing files into a new lake." in said
    assert len(home.rows) == 3
    home.declare("measured", DEVICE, LEVEL)
    home.ingest("3.jsonl")
    assert len(home.rows) == 4


@pytest.mark.parametrize("was", ["not there", "optional"])
def test_a_new_required_field_of_a_kind_with_rows_is_refused(home: Home, was: str) -> None:
    if was == "optional":
        home.declare("measured", DEVICE, LEVEL, TOTAL)
        home.ingest("2.jsonl", line("4", level=3, total=1))
    before = len(home.rows)
    home.declare("measured", DEVICE, LEVEL, 'Field("total", "long whole number")')
    said = home.ingest("3.jsonl", line("5", level=3, total=1), code=2)
    assert "requires the field 'total' now, and the log of" in said and "has 2 rows of that kind without it." in said
    assert "Declare it with required=False, or ingest the landing files into a new lake" in said
    assert len(home.rows) == before


def test_a_new_required_field_of_a_kind_without_rows_comes_in(home: Home) -> None:
    home.declare("moved", DEVICE, 'Field("room", "text", required=False)')
    home.ingest("2.jsonl")
    home.declare("moved", DEVICE, 'Field("room", "text")', 'Field("storey", "whole number")')
    home.ingest("3.jsonl", line("4", "moved", room="hall", storey=2), line("5", "moved", room="hall"))
    assert [(row["fate"], row["reason"]) for row in home.rows[-2:]] == [
        ("event", None),
        ("quarantined", "missing field: storey"),
    ]


def test_a_field_that_is_declared_no_more_leaves_its_column_and_its_rows(home: Home) -> None:
    home.declare("measured", DEVICE)
    home.ingest("2.jsonl", line("4", level=3))
    assert [row["level"] is None for row in home.rows if row["fate"] == "event"] == [False, False, True]


def test_a_lake_without_names_refuses_a_name_that_it_has_in_clear(tmp_path: Path) -> None:
    home, key = Home(tmp_path), {"PARITY_INGESTION__PSEUDONYM_KEY": "long-enough-for-a-key-of-this-lake"}
    home.declare("measured", DEVICE, 'Field("owners", "texts", required=False)')
    home.ingest("1.jsonl", line("1", owners=["alice"]), line("2"), **key)
    home.declare("measured", DEVICE, 'Field("owners", "texts", required=False, personal=True)')
    said = home.ingest("2.jsonl", line("3", owners=["bob"]), code=2, **key)
    assert "'owners' of measured is personal now" in said and "has it in clear in 1 rows." in said


def test_a_reader_that_is_newer_than_the_log_reads_what_there_is(home: Home) -> None:
    home.declare("measured", DEVICE, LEVEL, TOTAL)
    assert home.events(["print(len(reader.table('events', 'select * from {rows}')))"]) == "2"


def test_a_reader_that_is_older_than_a_column_reads_on(home: Home) -> None:
    """Its copy of the log gets rows with another column while it is open."""
    text = KIND.format(name="measured", fields=", ".join([DEVICE, LEVEL, TOTAL]))
    land(home.path / "landing", "2.jsonl", [line("4", level=3, total=1)])
    said = home.events(
        [
            "print(reader.table('events', 'select count(*) as n from {rows}'))",
            f"open('measuring/kinds/measured.py', 'w').write({text!r})",
            "ingest = ['-m', 'cli.main', 'ingest', '--landing', 'landing', '--lake', 'lake']",
            "subprocess.run([sys.executable, *ingest], check=True, stdout=subprocess.DEVNULL)",
            "print(reader.table('events', 'select count(*) as n, max(event_id) as last from {rows}'))",
        ]
    )
    assert "{'n': 2}" in said and "{'n': 3, 'last': '4'}" in said
    assert home.rows[-1]["total"] == 1
