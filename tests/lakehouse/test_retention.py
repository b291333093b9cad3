"""Old reports go with all their pages; the newest of each result, of each table, and every decision stays."""

import json
import os
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from lakehouse.lake import Lake, create_lake
from lakehouse.retention import Removed, remove_old_reports

NOW = datetime(2026, 6, 1, tzinfo=UTC)
BEFORE = NOW - timedelta(days=90)
OLD, YOUNG = timedelta(days=91), timedelta(days=89)


@pytest.fixture
def lake(tmp_path: Path) -> Lake:
    lake = create_lake(tmp_path / "lake")
    for directory in ("reports", "quality/runs", "quality/docs", "quality/gx", "decisions"):
        (lake.path / directory).mkdir(parents=True)
    return lake


def reported(lake: Lake, run: str, age: timedelta, *results: str, candidate: str = "kappa", **more: Any) -> None:
    directory = lake.path / "reports"
    entries = [{"result": name, **more} for name in results]
    said = {"run": run, "at": (NOW - age).isoformat(), "candidate": candidate, "results": entries}
    (directory / f"{run}.json").write_text(json.dumps(said))
    (directory / f"{run}.html").write_text('<script src="plotly-1.min.js"></script>')


def validated(lake: Lake, run: str, age: timedelta, *tables: str) -> None:
    quality = lake.path / "quality"
    pages = {table: f"validations/{table}/{run}/20260301T000000/lake.html" for table in tables}
    for page in pages.values():
        for file in (quality / "docs" / page, (quality / "gx" / page).with_suffix(".json")):
            file.parent.mkdir(parents=True)
            file.write_text("x")
    said = {"at": (NOW - age).isoformat(), "tables": [{"table": table, "page": page} for table, page in pages.items()]}
    (quality / "runs" / f"{run}.json").write_text(json.dumps(said))


def left(lake: Lake, directory: str = "reports") -> set[str]:
    root = lake.path / directory
    return {str(file.relative_to(root)) for file in root.rglob("*") if file.is_file()}


def test_what_is_older_goes_with_its_pages_and_what_is_younger_stays(lake: Lake) -> None:
    reported(lake, "old", OLD, "team_scores", report="old.team_scores.html")
    (lake.path / "reports" / "old.team_scores.html").write_text("tried again")
    reported(lake, "young", YOUNG, "team_scores")
    (lake.path / "reports" / "failures.jsonl").write_text("{}\n")
    assert remove_old_reports(lake, before=BEFORE) == Removed(reconciliations=1, validations=0)
    assert left(lake) == {"young.json", "young.html", "failures.jsonl"}
    assert remove_old_reports(lake, before=BEFORE) == Removed(0, 0)


def test_the_newest_report_of_a_result_stays_however_old(lake: Lake) -> None:
    reported(lake, "a", OLD * 3, "team_scores", "level_ups")
    reported(lake, "b", OLD * 2, "team_scores")
    reported(lake, "c", OLD, "team_scores")
    reported(lake, "control", OLD * 3, "team_scores", candidate="legacy")
    remove_old_reports(lake, before=BEFORE)
    assert left(lake) == {f"{run}.{kind}" for run in ("a", "c", "control") for kind in ("json", "html")}


def test_a_script_goes_with_the_last_page_that_loads_it(lake: Lake) -> None:
    reported(lake, "a", OLD, "team_scores")
    for number in (1, 2, 3):
        (lake.path / "reports" / f"plotly-{number}.min.js").write_text("")
    for number in (1, 2):
        os.utime(lake.path / "reports" / f"plotly-{number}.min.js", times=((NOW - OLD).timestamp(),) * 2)
    remove_old_reports(lake, before=BEFORE)
    assert left(lake) == {"a.json", "a.html", "plotly-1.min.js", "plotly-3.min.js"}, "3 may be for a page being written"


def test_old_validations_go_with_their_data_docs_and_the_newest_of_a_table_stays(lake: Lake) -> None:
    validated(lake, "first", OLD * 2, "events", "kappa_team_scores@1")
    validated(lake, "second", OLD, "events")
    validated(lake, "third", YOUNG, "events")
    assert remove_old_reports(lake, before=BEFORE) == Removed(0, 1)
    assert left(lake, "quality/runs") == {"first.json", "third.json"}
    assert not [file for file in (*left(lake, "quality/docs"), *left(lake, "quality/gx")) if "second" in file]
    assert not (lake.path / "quality" / "docs" / "validations" / "events" / "second").exists()
    assert len(left(lake, "quality/docs")) == 3


def test_decisions_stay(lake: Lake) -> None:
    (lake.path / "decisions" / "one.json").write_text(json.dumps({"at": (NOW - OLD * 9).isoformat()}))
    remove_old_reports(lake, before=BEFORE)
    assert left(lake, "decisions") == {"one.json"}


@pytest.mark.parametrize(
    "content", [b"{", b"[]", b'{"at": "2020-01-01T00:00:00Z"}', b'{"at": 3, "results": []}', b"\xff"]
)
def test_what_cannot_be_read_is_left_alone(lake: Lake, content: bytes) -> None:
    (lake.path / "reports" / "torn.json").write_bytes(content)
    remove_old_reports(lake, before=BEFORE)
    assert left(lake) == {"torn.json"}


@pytest.mark.parametrize("name", ["../../secret", "/etc/hosts", "..", ".", ""])
def test_no_name_in_a_file_leads_out_of_the_directory(lake: Lake, name: str) -> None:
    secret = lake.path / "secret"
    secret.write_text("stays")
    reported(lake, "old", OLD, "team_scores", report=name)
    reported(lake, "young", YOUNG, "team_scores")
    remove_old_reports(lake, before=BEFORE)
    assert secret.read_text() == "stays" and left(lake) == {"young.json", "young.html"}


def test_without_any_report_nothing_happens(tmp_path: Path) -> None:
    assert remove_old_reports(create_lake(tmp_path / "lake"), before=BEFORE) == Removed(0, 0)
