"""What a run leaves to be read: pages that need no network, the history of the runs, and nobody's name."""

import html
import json
import re
import shutil
import stat
import subprocess
from pathlib import Path
from typing import Any
from urllib.parse import unquote

import pytest
from corrupted import copied, corrupt, twice
from pyspark.sql import SparkSession

from lakehouse.lake import Lake
from quality.outcome import QualityRun

from lakes import PLAYERS, TEAM, declared, small_settings  # isort: skip

RUNS = ("first", "second:2026-03-01T00:00+00:00")
BROWSER = (".google.com", ".googleapis.com", ".gvt1.com")  # whom Chromium itself asks for the time and for updates
TABLES = ("batch_team_scores@1", "kappa_player_sessions@1", "events")


@pytest.fixture(scope="module")
def runs(clean: Lake, spark: SparkSession, tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, list[QualityRun]]:
    """LAKE/quality after two runs over a lake with a key twice in batch, and a negative count of a player's session."""
    from datetime import UTC, datetime, timedelta

    from quality.validate import validate

    lake, settings = copied(clean, tmp_path_factory.mktemp("docs")), small_settings()
    corrupt(lake, TABLES[0], twice("team_id", TEAM))
    corrupt(lake, TABLES[1], lambda rows: [{**row, "events": -1} for row in rows])
    moment = datetime.now(UTC)
    found = [
        validate(
            spark, lake, declared(settings), settings,
            run=run, moment=moment + timedelta(seconds=place), tables=TABLES,
        )
        for place, run in enumerate(RUNS)
    ]  # fmt: skip
    return lake.path / "quality", found


def pages(quality: Path) -> list[Path]:
    return sorted((quality / "docs").rglob("*.html"))


def test_each_run_keeps_its_pages_and_the_first_page_lists_them_newest_first(runs: Any) -> None:
    quality, found = runs
    assert len(pages(quality)) == 1 + len(RUNS) * len(TABLES)
    index = (quality / "docs" / "index.html").read_text()
    assert index.index(html.escape(RUNS[1])) < index.index(f"<strong>{RUNS[0]}</strong>")
    for run in found:
        for table in run.tables:
            assert (quality / "docs" / table.page).is_file()


def test_every_link_is_relative_and_leads_to_a_page(runs: Any) -> None:
    quality, _ = runs
    for page in pages(quality):
        links = re.findall(r'href="([^"]*)"', page.read_text())
        for link in (unquote(html.unescape(link)) for link in links if not link.startswith("data:")):
            assert not re.match(r"[a-z]+:|/", link.replace(RUNS[1], "")), link
            assert (page.parent / link).resolve().is_file(), f"{page} refers to {link}"


def test_nothing_is_loaded_from_elsewhere(runs: Any) -> None:
    for page in pages(runs[0]):
        assert not re.search(r"https?://|<script|<iframe|<img|@import|url\(|\bsrc=", page.read_text()), page


def test_markup_in_a_value_is_shown_and_not_run(runs: Any) -> None:
    quality, found = runs
    page = (quality / "docs" / found[0].tables[1].page).read_text()
    assert TEAM not in page and html.escape(TEAM) in page


def test_a_page_says_what_is_expected_and_what_was_found(runs: Any) -> None:
    quality, found = runs
    text = " ".join(re.sub(r"<[^>]+>", " ", (quality / "docs" / found[0].tables[2].page).read_text()).split())
    assert "events is not negative" in text
    assert "events (number of pops) is never null and not below 0." in text
    assert "such rows" in text and "person-" in text


def test_no_name_of_a_person_is_in_any_file(runs: Any) -> None:
    quality, _ = runs
    files = [file for file in quality.rglob("*") if file.is_file()]
    assert len(files) > len(pages(quality))
    for file in files:
        assert not any(player.encode() in file.read_bytes() for player in PLAYERS), file


def test_directories_and_the_key_are_for_their_owner_only(runs: Any) -> None:
    quality, _ = runs
    assert stat.S_IMODE((quality / "key").stat().st_mode) == 0o600
    for directory in (quality, quality / "docs", quality / "gx", quality / "runs"):
        assert stat.S_IMODE(directory.stat().st_mode) == 0o700


def test_the_note_of_a_run_says_all_that_a_program_needs(runs: Any) -> None:
    quality, _ = runs
    note = json.loads((quality / "runs" / f"{RUNS[1]}.json").read_text())
    assert (note["run"], note["status"], note["exit_code"], note["failed"]) == (RUNS[1], "not met", 1, 2)
    assert note["pinned"]["events"] == {"version": 3, "log_version": 3}
    [events, batch, sessions] = note["tables"]
    assert events["met"] and not events["failed"] and events["table"] == "events"
    assert batch["pinned"] == {"log_version": 2} and batch["failed"] == 3
    [wrong] = [each for each in sessions["expectations"] if not each["met"]]
    assert wrong.keys() == {"name", "description", "met", "observed", "unexpected", "sample"}
    assert wrong["sample"][0]["events"] == -1 and wrong["unexpected"] >= 1


def test_a_browser_shows_the_pages_without_an_error(runs: Any, tmp_path: Path) -> None:
    chromium = shutil.which("chromium")
    if chromium is None:
        pytest.skip("CHROMIUM IS MISSING: `make browser` installs it; the pages were not looked at in a browser")
    quality, found = runs
    flags = "--headless --no-sandbox --disable-gpu --no-first-run --disable-background-networking --disable-sync"
    for name, expected in (("index.html", TABLES[0]), (found[0].tables[1].page, "keys are unique")):
        shown = subprocess.run(
            [chromium, *flags.split(), "--disable-component-update", f"--user-data-dir={tmp_path / 'profile'}",
             f"--log-net-log={tmp_path / 'net.json'}", "--enable-logging=stderr", "--dump-dom",
             (quality / "docs" / name).as_uri()],
            capture_output=True, text=True, timeout=120,
        )  # fmt: skip
        assert expected in shown.stdout
        assert not re.search(r"CONSOLE", shown.stderr), shown.stderr
        asked = re.findall(r'"url":"https?://([^/"]+)', (tmp_path / "net.json").read_text())
        assert not [host for host in asked if not host.endswith(BROWSER)], asked
