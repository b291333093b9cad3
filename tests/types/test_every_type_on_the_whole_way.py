"""A field of every type on its whole way: from the landing file through both layers to every answer that there is."""

import csv
import io
import json
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from deliveries import at, land
from short_lived import SHORT_LIVED
from typed_lines import KNOWN

PROJECT, HERE = Path(__file__).parents[2], Path(__file__).parent
SETTINGS = """
[pipeline]
path = "measuring"
[lateness]
allowed = "10 seconds"
[spark]
compiler = "quick"
[quality]
late = 1.0
quarantined = 1.0
"""
BIG = 2**62
DEVICE, OTHER = 2**40 + 1, 7


def measured(event_id: str, seconds: float, *, device: int = DEVICE, level: str = "1.10", **said: Any) -> str:
    """A line whose level is written just so."""
    given = {
        "event_id": event_id,
        "kind": "measured",
        "device": device,
        "level": "@",
        **said,
        "occurred_at": at(seconds),
    }
    return json.dumps(given).replace('"@"', level)


ON_TIME = [
    measured("1", 1, level="21.50", total=BIG, tags=["b", "a"], owners=["alice", "bob"], open=False, calibrated_at=at(-3600)),
    measured("1", 1, level="215e-1", total=BIG, tags=["b", "a"], owners=["alice", "bob"], open=False, calibrated_at=at(-3600)),
    measured("2", 2, total=BIG, tags=["c", 'with "quotes", [brackets]'], round=-3),
    measured("3", 3, total=BIG, calibrated_at="2099-01-01T00:00:00Z", tags=[]),
    measured("4", 4, device=OTHER, level="-0.01"),
    measured("1", 1, level="21.51", total=BIG, tags=["b", "a"], owners=["alice", "bob"], open=False, calibrated_at=at(-3600)),
    measured("ill", 5, level="1.234"),
    measured("ill", 5, level="1e17"),
    measured("ill", 5, total=2**63),
    measured("ill", 5, open="true"),
    measured("ill", 5, tags=["a", None]),
    measured("ill", 5, calibrated_at="2026-03-01"),
    measured("5", 60, device=OTHER, level="3"),
]  # fmt: skip
LATE = [
    measured("6", 5, level="1e1", open=True, owners=["alice"]),
    measured("7", 90, device=OTHER, level="9999999999999999.99"),
]
TYPES = {
    "level": "level",
    "total": "total",
    "count": "round",
    "open": "open",
    "seen_at": "calibrated_at",
    "tags": "tags",
}
"""What the fields of the lines that are known by name are called here."""
WILD_DEVICE = 99
WILD = [
    measured(f"wild {place}", 6, device=WILD_DEVICE, **{TYPES[name]: "#"}).replace('"#"', text)
    if name != "level"
    else measured(f"wild {place}", 6, device=WILD_DEVICE, level=text)
    for place, (name, text, _) in enumerate(KNOWN)
    if name in TYPES
]
SOUND = sum(
    not isinstance(outcome, str) or (name == "seen_at" and outcome.endswith("Z"))
    for name, _, outcome in KNOWN
    if name in TYPES
)
REASONS = [
    "copy of an event with other content",
    "ill-typed field: level (expected decimal of scale 2, found more digits after the point)",
    "number outside 18 digits: level",
    "number outside 64 bits: total",
    "ill-typed field: open (expected true or false, found string)",
    "ill-typed field: tags (expected list of texts, found array with other values)",
    "ill-typed field: calibrated_at (expected time with a zone, found string)",
]
FIRST = {
    "device": DEVICE,
    "window_start": at(0),
    "window_end": at(10),
    "measures": 4,
    "total": str(3 * BIG),
    "levels": "33.70",
    "lowest": "1.10",
    "was_open": True,
    "calibrated_at": "2099-01-01T00:00:00.000Z",
    "tags": ["a", "b", "c", 'with "quotes", [brackets]'],
    "mean": 8.425,
}


@pytest.fixture(scope="module")
def found(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    """What all the commands say."""
    home = tmp_path_factory.mktemp("home")
    shutil.copytree(HERE / "measuring", home / "measuring", ignore=shutil.ignore_patterns("__pycache__"))
    (home / "parity.toml").write_text(SETTINGS)
    (home / "landing").mkdir()
    land(home / "landing", "1.jsonl", ON_TIME)
    land(home / "landing", "2.jsonl", WILD)
    (home / "landing" / ".late").write_text("".join(f"{line}\n" for line in LATE))
    done = subprocess.run(
        [sys.executable, str(HERE / "whole_way.py")],
        cwd=home, env={"PYTHONPATH": str(PROJECT), "PATH": "/usr/bin:/bin", **SHORT_LIVED}, capture_output=True, text=True,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr[-4000:]
    said: dict[str, Any] = json.loads(done.stdout)
    return said


def in_clear(rows: list[dict[str, Any]]) -> list[dict[str, Any]]:
    return [{name: value for name, value in row.items() if name not in ("owners", "settled")} for row in rows]


def row_of(rows: list[dict[str, Any]], device: int, start: float = 0) -> dict[str, Any]:
    return next(row for row in rows if row["device"] == device and row["window_start"] == at(start))


def test_both_engines_write_the_same_log(found: dict[str, Any]) -> None:
    assert found["engines agree"]
    by_file = {file: [row for row in found["arrivals"] if row["file"] == file] for file in ("1.jsonl", "2.jsonl")}
    assert [row["reason"] for row in by_file["1.jsonl"] if row["fate"] == "quarantined"] == REASONS
    assert [row["fate"] for row in by_file["1.jsonl"]].count("duplicate") == 1
    assert [row["fate"] for row in by_file["2.jsonl"]].count("event") == SOUND > 40
    assert len(WILD) - SOUND > 50


def test_every_value_is_what_it_has_to_be_in_every_layer(found: dict[str, Any]) -> None:
    for layer in ("rows", "batch", "lambda"):
        assert in_clear([row_of(found[layer], DEVICE)]) == [FIRST], layer
        assert in_clear(found[layer]) == in_clear(found["jsonl"]), layer
    bare = row_of(found["rows"], OTHER)
    assert (bare["total"], bare["levels"], bare["was_open"], bare["tags"]) == (None, "-0.01", None, [])
    assert row_of(found["rows"], OTHER, 60)["levels"] == "3.00"
    assert row_of(found["rows"], OTHER, 90)["levels"] == "9999999999999999.99"
    assert row_of(found["rows"], WILD_DEVICE)["measures"] == SOUND


def test_the_layers_agree_and_the_control_differs_in_cells_of_every_type(found: dict[str, Any]) -> None:
    assert found["verdict"]["status"] == "agree" and found["verdict"]["results"][0]["equal"] >= 3
    [control] = found["control"]["results"]
    one = next(each for each in control["differences"] if each["batch"] and each["key"] == {"device": DEVICE})
    assert one["batch"]["levels"] == "33.70" and one["batch"]["tags"] == FIRST["tags"]
    assert found["compared"]["status"] == "same"
    assert found["differences"]


def test_a_person_in_a_list_is_named_for_nobody_but_the_owner_of_the_lake(found: dict[str, Any]) -> None:
    assert row_of(found["jsonl"], DEVICE)["owners"] == ["alice", "bob"]
    alice, bob = row_of(found["rows"], DEVICE)["owners"]
    assert alice != bob and alice.startswith("person-") and bob.startswith("person-")
    assert "alice" not in json.dumps([found[name] for name in ("rows", "batch", "pages", "history", "differences")])


def test_pages_keys_and_formats_say_the_same(found: dict[str, Any]) -> None:
    assert found["pages"] == found["rows"] and len(found["rows"]) == 5
    assert found["of a key"] == [row for row in found["rows"] if row["device"] == DEVICE]
    for text in (found["csv"], found["sorted"]):
        rows = list(csv.DictReader(io.StringIO(text)))
        assert {row["levels"] for row in rows} <= {row["levels"] for row in found["rows"]}
        assert [json.loads(row["tags"]) for row in rows if row["device"] == str(DEVICE)] in ([], [FIRST["tags"]])
    assert [row["levels"] for row in csv.DictReader(io.StringIO(found["sorted"]))] == [
        "9999999999999999.99",
        "3.00",
        "-0.01",
    ]
    assert "33.70" in found["table"] and str(3 * BIG) in found["table"]
    assert [row["levels"] for row in found["history"]][-1] == "33.70"


def test_the_catalogue_tells_the_types(found: dict[str, Any]) -> None:
    types = {each["name"]: each["type"] for each in found["catalogue"][0]["values"]}
    assert (
        types["total"] == "decimal(38,0)" and types["levels"] == "decimal(38,2)" and types["lowest"] == "decimal(18,2)"
    )
    assert (types["was_open"], types["calibrated_at"], types["tags"]) == ("boolean", "timestamp", "array<string>")
    assert found["openapi"]
