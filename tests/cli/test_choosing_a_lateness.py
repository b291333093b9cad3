"""`parity lateness` as a user types it: for people, for machines, and its refusals."""

import json
from pathlib import Path

import pytest
from deliveries import at, heartbeat, land, pop
from pyspark.sql import SparkSession
from typed import parity
from typer.testing import Result

from ingestion.ingest import ingest
from lakehouse.lake import create_lake
from lakehouse.settings import load_settings


def lateness(lake: Path, *options: str) -> Result:
    return parity("lateness", "--lake", lake, *options)


@pytest.fixture(scope="module")
def home(spark: SparkSession, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Lakes with one late event, with heartbeats alone, with an empty log, and without a log."""
    directory = tmp_path_factory.mktemp("choosing")
    pops = [pop(f"e{n}", n * 60, received_at=at(n * 60 + 1)) for n in range(10)]
    for name, lines in (("late", [*pops, pop("late", 30)]), ("silent", [heartbeat("beat", 900)]), ("empty", [])):
        landing = directory / f"{name}-landing"
        landing.mkdir()
        if lines:
            land(landing, "1.jsonl", lines)
        ingest(spark, create_lake(directory / name), landing, load_settings())
    create_lake(directory / "new")
    return directory


def test_people_get_a_table_that_fits_into_80_columns(home: Path) -> None:
    done = lateness(home / "late", "--result", "team_scores", "--result", "lifetime_totals")
    assert done.exit_code == 0, done.stderr
    said = " ".join(done.stdout.split())
    assert "11 events read by 1 result with 10 rows" in said
    assert "5 minutes now 9.1 % 1 10.0 % 5.0 min 5.0 min 6" in said
    assert "10 minutes ✓ 0 % 0 0 % - - 10" in said
    assert "repairs at most 1 % of the results is 10 minutes" in said
    assert "Not counted: lifetime_totals (no row is late for it)" in said
    assert max(len(line) for line in done.stdout.splitlines()) <= 80


def test_machines_get_every_option_with_its_repairs_by_result(home: Path) -> None:
    done = lateness(home / "late", "--result", "team_scores", "--repair-budget", "10 %", "--format", "json")
    found = json.loads(done.stdout)
    assert (found["current"], found["recommended"], found["repair_budget"]) == ("5 minutes", "0 seconds", 0.1)
    now = next(each for each in found["options"] if each["allowed"] == "5 minutes")
    assert now["repairs_by_result"] == {"team_scores": 1}
    assert now["wait_seconds"] == {"median": 301.0, "p99": 301.0}
    assert found["clock"] == "received_at"


REFUSED = {
    "a budget that is no number": (("late", "--repair-budget", "abc"), "--repair-budget abc: 'abc' is not a share"),
    "a budget without a per cent sign": (("late", "--repair-budget", "0.01"), "Write e.g. 1% or 0.5%."),
    "a budget above everything": (("late", "--repair-budget", "101%"), "is not a share of the results"),
    "an unknown result": (("late", "--result", "scores"), "There is no result 'scores'"),
    "a result without repairs": (("late", "--result", "pop_streaks"), "so nothing is a repair"),
    "events that no result reads": (("silent", "--result", "team_scores"), "has no event that these results read"),
    "a log without events": (("empty",), "is empty at version 0. Run `parity ingest` first."),
    "a lake without a log": (("new",), "has no log yet. Run `parity ingest` first."),
    "a lake that does not exist": (("none",), "There is no lake"),
}


@pytest.mark.parametrize("what", REFUSED)
def test_refused_with_a_sentence_and_no_stack_trace(home: Path, what: str) -> None:
    (lake, *options), sentence = REFUSED[what]
    done = lateness(home / lake, *options)
    assert done.exit_code == 2, done.output
    assert sentence in " ".join(done.stderr.split())
    assert "Traceback" not in done.output
    assert done.stdout == ""
