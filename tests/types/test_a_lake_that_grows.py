"""A lake grows with its kinds: new ones and new optional fields come into its log, and what it cannot have is refused.

Each command is a process of its own in a copy of the project, because declarations are read once.
"""

import json
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from deliveries import at, land
from deltalake import DeltaTable

PROJECT = Path(__file__).parents[2]
PACKAGES = ("transformations", "lakehouse", "ingestion", "serving", "cli")
KIND = 'from ..kind import Decimal, Field, Kind\n\nKIND = Kind("{name}", "", ({fields},))\n'
DEVICE, LEVEL, TOTAL = (
    'Field("device", "text")',
    'Field("level", Decimal(2))',
    'Field("total", "long whole number", required=False)',
)
COMMANDS = """
import sys
from cli.main import app
sys.argv = ["parity", *sys.argv[1:]]
app()
"""


def line(event_id: str, kind: str = "measured", seconds: float = 0, **said: Any) -> str:
    return json.dumps({"event_id": event_id, "kind": kind, "device": "d", **said, "occurred_at": at(seconds)})


class Copy:
    """A copy of the project whose kinds a test declares, with a lake beside it."""

    def __init__(self, home: Path) -> None:
        self.home = home
        for package in PACKAGES:
            shutil.copytree(PROJECT / package, home / package, ignore=shutil.ignore_patterns("__pycache__"))
        (home / "parity.py").write_text(COMMANDS)
        (home / "landing").mkdir()

    def declare(self, name: str, *fields: str) -> None:
        (self.home / "transformations" / "kinds" / f"{name}.py").write_text(
            KIND.format(name=name, fields=", ".join(fields))
        )

    def parity(self, *command: str, code: int = 0, **settings: str) -> str:
        env = {
            "PYTHONPATH": str(self.home),
            "PATH": "/usr/bin:/bin",
            "PARITY_INGESTION__ENGINE": "embedded",
            **settings,
        }
        done = subprocess.run(
            [sys.executable, "parity.py", *command, "--lake", "lake"],
            cwd=self.home,
            env=env,
            capture_output=True,
            text=True,
        )
        assert done.returncode == code, done.stderr
        assert "Traceback" not in done.stderr
        return " ".join((done.stdout + done.stderr).split())

    def ingest(self, name: str, *lines: str, code: int = 0, **settings: str) -> str:
        land(self.home / "landing", name, lines)
        return self.parity("ingest", "--landing", "landing", code=code, **settings)

    @property
    def rows(self) -> list[dict[str, Any]]:
        table = DeltaTable(self.home / "lake" / "tables" / "arrivals").to_pyarrow_table()
        return table.sort_by("arrival").to_pylist()


@pytest.fixture
def copy(tmp_path: Path) -> Copy:
    """A lake with two events of a kind, and a line of a kind that nobody has declared yet."""
    made = Copy(tmp_path)
    made.declare("measured", DEVICE, LEVEL)
    made.ingest("1.jsonl", line("1", level=1.5), line("2", level=2), line("3", "moved", room="hall"))
    return made


def test_a_new_kind_and_a_new_optional_field_come_in_and_older_rows_have_null(copy: Copy) -> None:
    copy.declare("measured", DEVICE, LEVEL, TOTAL)
    copy.declare("moved", DEVICE, 'Field("room", "text")')
    copy.ingest("2.jsonl", line("4", level=3, total=2**40), line("5", "moved", room="attic"), line("1", level=1.5))
    assert [(row["event_id"], row["fate"], row["total"], row["room"]) for row in copy.rows] == [
        ("1", "event", None, None),
        ("2", "event", None, None),
        (None, "quarantined", None, None),
        ("4", "event", 2**40, None),
        ("5", "event", None, "attic"),
        ("1", "duplicate", None, None),
    ]


def test_a_line_of_a_kind_that_is_declared_later_comes_in_by_a_requeue(copy: Copy) -> None:
    copy.declare("moved", DEVICE, 'Field("room", "text")')
    assert "1" in copy.parity("requeue")
    last = copy.rows[-1]
    assert (last["event_id"], last["fate"], last["room"], last["requeued"], last["seq"]) == (
        "3",
        "event",
        "hall",
        True,
        3,
    )
    assert copy.ingest("2.jsonl", line("6", "moved", room="attic")) and copy.rows[-1]["seq"] == 4


def test_another_type_of_a_field_is_refused_with_nothing_written(copy: Copy) -> None:
    copy.declare("measured", DEVICE, 'Field("level", Decimal(3))')
    said = copy.ingest("2.jsonl", line("4", level=3), code=2)
    assert "'level' of measured is a decimal of scale 3, and the log of" in said and "as a decimal of scale 2." in said
    assert "Give the field another name or its old type, or ingest the landing files into a new lake." in said
    assert len(copy.rows) == 3
    copy.declare("measured", DEVICE, LEVEL)
    copy.ingest("3.jsonl")
    assert len(copy.rows) == 4


@pytest.mark.parametrize("was", ["not there", "optional"])
def test_a_new_required_field_of_a_kind_with_rows_is_refused(copy: Copy, was: str) -> None:
    if was == "optional":
        copy.declare("measured", DEVICE, LEVEL, TOTAL)
        copy.ingest("2.jsonl", line("4", level=3, total=1))
    before = len(copy.rows)
    copy.declare("measured", DEVICE, LEVEL, 'Field("total", "long whole number")')
    said = copy.ingest("3.jsonl", line("5", level=3, total=1), code=2)
    assert "requires the field 'total' now, and the log of" in said and "has 2 rows of that kind without it." in said
    assert "Declare it with required=False, or ingest the landing files into a new lake" in said
    assert len(copy.rows) == before


def test_a_new_required_field_of_a_kind_without_rows_comes_in(copy: Copy) -> None:
    copy.declare("moved", DEVICE, 'Field("room", "text", required=False)')
    copy.ingest("2.jsonl")
    copy.declare("moved", DEVICE, 'Field("room", "text")', 'Field("floor", "whole number")')
    copy.ingest("3.jsonl", line("4", "moved", room="hall", floor=2), line("5", "moved", room="hall"))
    assert [(row["fate"], row["reason"]) for row in copy.rows[-2:]] == [
        ("event", None),
        ("quarantined", "missing field: floor"),
    ]


def test_a_field_that_is_declared_no_more_leaves_its_column_and_its_rows(copy: Copy) -> None:
    copy.declare("measured", DEVICE)
    copy.ingest("2.jsonl", line("4", level=3))
    assert [row["level"] is None for row in copy.rows if row["fate"] == "event"] == [False, False, True]


def test_a_lake_without_names_refuses_a_name_that_it_has_in_clear(tmp_path: Path) -> None:
    copy, key = Copy(tmp_path), {"PARITY_INGESTION__PSEUDONYM_KEY": "long-enough-for-a-key-of-this-lake"}
    copy.declare("measured", DEVICE, 'Field("owners", "texts", required=False)')
    copy.ingest("1.jsonl", line("1", owners=["alice"]), line("2"), **key)
    copy.declare("measured", DEVICE, 'Field("owners", "texts", required=False, personal=True)')
    said = copy.ingest("2.jsonl", line("3", owners=["bob"]), code=2, **key)
    assert "'owners' of measured is personal now" in said and "has it in clear in 1 rows." in said


def test_a_reader_that_is_newer_than_the_log_reads_what_there_is(copy: Copy) -> None:
    copy.declare("measured", DEVICE, LEVEL, TOTAL)
    script = "from serving.reader import Reader\nprint(len(Reader.of('lake').table('events', 'select * from {rows}')))"
    done = subprocess.run(
        [sys.executable, "-c", script],
        cwd=copy.home,
        env={"PYTHONPATH": str(copy.home)},
        capture_output=True,
        text=True,
    )
    assert (done.returncode, done.stdout.strip()) == (0, "2"), done.stderr


def test_a_reader_that_is_older_than_a_column_reads_on(copy: Copy) -> None:
    """One of the code of before, whose copy of the log gets rows with another column while it is open."""
    script = (
        "import subprocess, sys\n"
        "from serving.reader import Reader\n"
        "with Reader.of('lake') as reader:\n"
        "    before = reader.table('events', 'select count(*) as n from {rows}')\n"
        "    subprocess.run(sys.argv[1:], check=True, stdout=subprocess.DEVNULL)\n"
        "    after = reader.table('events', 'select count(*) as n, max(event_id) as last from {rows}')\n"
        "print(before, after)\n"
    )
    newer = Copy(copy.home / "newer")
    newer.declare("measured", DEVICE, LEVEL, TOTAL)
    land(copy.home / "landing", "2.jsonl", [line("4", level=3, total=1)])
    command = ["env", f"PYTHONPATH={newer.home}", sys.executable, str(newer.home / "parity.py")]
    command += ["ingest", "--landing", "landing", "--lake", "lake"]
    done = subprocess.run(
        [sys.executable, "-c", script, *command], cwd=copy.home, capture_output=True, text=True,
        env={"PYTHONPATH": str(copy.home), "PATH": "/usr/bin:/bin", "PARITY_INGESTION__ENGINE": "embedded"},
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    assert done.stdout.strip() == "[{'n': 2}] [{'n': 3, 'last': '4'}]"
