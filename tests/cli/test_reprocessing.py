"""A fixed bug, from its discovery to the swap, as a user types it; and what each of the commands refuses."""

import json
import threading
from dataclasses import replace
from pathlib import Path

import pytest
from deliveries import at, heartbeat, land, pop
from game import catalogue
from other_code import stream_team_scores_wrongly
from pyspark.sql import SparkSession
from typed import parity

from lakehouse.lake import create_lake, open_lake
from lakehouse.runs import runs
from lakehouse.settings import load_settings
from lakehouse.versions import as_noted, at_live, make_live, make_previous_live
from serving.views import view

SCORES = ("--result", "team_scores")
TRUE_SCORES = [3, 12, 21, 30]


def scores(lake: Path, version: str = "") -> list[int]:
    done = parity("show", f"team_scores{version}", "--lake", lake, "--format", "jsonl")
    assert done.exit_code == 0, done.stderr
    return [json.loads(line)["bubbles"] for line in done.stdout.splitlines()]


@pytest.fixture(scope="module")
def lake(spark: SparkSession, tmp_path_factory: pytest.TempPathFactory) -> Path:  # noqa: ARG001
    """A lake whose stream was written by code with a bug."""
    home = tmp_path_factory.mktemp("reprocessing")
    (home / "landing").mkdir()
    pops = [pop(f"e{n}", n * 20, bubbles=n, received_at=at(n * 20 + 1)) for n in range(12)]
    land(home / "landing", "1.jsonl", [*pops, heartbeat("beat", 900)])
    assert parity("ingest", "--lake", home / "lake", "--landing", home / "landing").exit_code == 0
    stream_team_scores_wrongly(home / "lake", home / "other")
    return home / "lake"


@pytest.fixture(scope="module")
def replayed(lake: Path) -> Path:
    done = parity("replay", "--lake", lake, *SCORES)
    assert done.exit_code == 0, done.stderr
    assert "team_scores@2 has caught up" in done.stderr
    return lake


def test_the_reconciliation_finds_the_bug_and_the_stream_does_not_go_on_with_other_code(lake: Path) -> None:
    found = parity("reconcile", "--lake", lake, *SCORES, "--recompute", "--format", "json")
    assert found.exit_code == 1
    [judged] = json.loads(found.stdout)["results"]
    assert judged["by_cause"] == {"logic drift": 4}
    [by] = {(one["candidate_code"], one["batch_code"]) for one in judged["differences"]}
    assert by == (*judged["candidate_code"], *judged["batch_code"]) and by[0] != by[1], "which code made which row"
    refused = parity("stream", "--lake", lake, *SCORES)
    assert refused.exit_code == 2
    assert "was begun by other code" in refused.stderr and "parity replay --lake" in refused.stderr


def test_the_new_version_is_computed_beside_the_live_one(replayed: Path) -> None:
    assert scores(replayed) == [score + 1 for score in TRUE_SCORES]
    assert scores(replayed, "@2") == TRUE_SCORES
    assert {run.job for run in runs(open_lake(replayed)) if run.results == ["team_scores@2"]} == {"replay"}
    listed = json.loads(parity("versions", "--lake", replayed, "--format", "json").stdout)
    states = [(each["version"], each["state"], each["lag_versions"]) for each in listed]
    assert states == [(1, "live", 0), (2, "beside", 0)]
    assert len({each["code"] for each in listed}) == 2
    text = parity("versions", "--lake", replayed).stdout
    assert "team_scores@1" in text and "0 commits" in text


def test_the_comparison_says_what_a_swap_will_change(replayed: Path) -> None:
    done = parity(
        "compare", "--lake", replayed, "--left", "team_scores", "--right", "team_scores@2", "--format", "json"
    )
    assert done.exit_code == 1, done.stderr
    found = json.loads(done.stdout)
    assert (found["equal"], found["differing"], found["only_left"], found["only_right"]) == (0, 4, 0, 0)
    assert found["values"] == [{"name": "bubbles", "rows": 4, "sum": -4.0, "greatest": 1.0}]
    assert found["samples"][0]["left"]["bubbles"] == 4 and found["samples"][0]["right"]["bubbles"] == 3
    text = parity("compare", "--lake", replayed, "--left", "team_scores", "--right", "team_scores@2").stdout
    assert "bubbles: 4 → 3" in text and "bubbles: 4 rows, -4 in all, at most 1 in one" in text


def test_a_swap_is_seen_at_once_and_as_a_whole_and_can_be_undone(replayed: Path) -> None:
    assert parity("swap", "--lake", replayed, *SCORES, "--to", "2").exit_code == 0
    assert scores(replayed) == TRUE_SCORES
    fixed = parity("reconcile", "--lake", replayed, *SCORES, "--recompute")
    assert fixed.exit_code == 0, fixed.stdout
    assert "team_scores@2" in fixed.stdout
    assert parity("stream", "--lake", replayed, *SCORES).exit_code == 0, "the live version goes on with this code"
    assert parity("swap", "--lake", replayed, *SCORES, "--back").exit_code == 0
    assert scores(replayed) == [score + 1 for score in TRUE_SCORES]


def test_a_reader_that_polls_during_swaps_sees_one_version_or_the_other(spark: SparkSession, replayed: Path) -> None:
    opened, settings = open_lake(replayed), load_settings()
    declared = catalogue()["team_scores"]
    stop, seen = threading.Event(), []

    def poll() -> None:
        while not stop.is_set():
            own, given = as_noted(opened, at_live(opened, declared), settings)
            seen.append([row.bubbles for row in view(spark, opened, own, given, layer="kappa").collect()])

    def wait_for_a_whole_read() -> None:
        reads = len(seen)
        while len(seen) < reads + 2 and reader.is_alive():
            stop.wait(0.05)

    reader = threading.Thread(target=poll)
    reader.start()
    try:
        for _ in range(4):
            make_live(opened, replace(declared, version=2))
            wait_for_a_whole_read()
            make_previous_live(opened, "team_scores")
            wait_for_a_whole_read()
    finally:
        stop.set()
        reader.join()
    assert {tuple(answer) for answer in seen} == {tuple(TRUE_SCORES), tuple(score + 1 for score in TRUE_SCORES)}


@pytest.mark.parametrize(
    ("command", "said"),
    [
        (("replay", "--result", "team_scores@2"), "names a version. Name the result alone"),
        (("replay", "--result", "team_scores", "--from-version", "99"), "The log has no version 99; it has 0 to 1"),
        (("replay", "--result", "team_scores", "--log", "2"), "has no log 2. Run `parity reingest --as-log 2` first"),
        (("replay", "--result", "scores"), "There is no result 'scores'"),
        (("replay", "--result", "team_scores", "--as-version", "1"), "team_scores@1 exists"),
        (("replay", "--result", "lifetime_totals", "--way", "steps"), "no settled history"),
        (("compare", "--left", "team_scores@1", "--right", "team_scores@7"), "team_scores has no version 7"),
        (("compare", "--left", "team_scores@1", "--right", "level_ups"), "are different results"),
        (("swap", "--result", "team_scores", "--to", "7"), "it has 1, 2"),
        (("swap", "--result", "team_scores"), "either which version becomes live"),
        (("swap", "--result", "level_ups", "--back"), "never swapped"),
        (("retire", "--result", "team_scores@1"), "team_scores@1 is live"),
        (("retire", "--result", "team_scores"), "Name the version to remove"),
        (("reingest", "--as-log", "1"), "Log 1 is the one that `parity ingest` writes"),
        (("show", "team_scores@x"), "There is no result 'team_scores@x'"),
    ],
)
def test_a_mistake_is_refused_with_a_sentence(replayed: Path, command: tuple[str, ...], said: str) -> None:
    done = parity(*command, "--lake", replayed)
    assert done.exit_code == 2, done.output
    assert said in " ".join(done.stderr.split())
    assert "Traceback" not in done.output


@pytest.mark.parametrize("command", [("requeue",), ("reingest", "--as-log", "2"), ("maintain",), ("versions",)])
def test_without_a_log_there_is_nothing_to_do(tmp_path: Path, command: tuple[str, ...]) -> None:
    create_lake(tmp_path / "new")
    done = parity(*command, "--lake", tmp_path / "new")
    assert done.exit_code == 2, done.output
    assert "has no log yet. Run `parity ingest` first." in " ".join(done.stderr.split())


def test_a_version_that_is_behind_is_swapped_only_by_force_and_one_that_is_not_live_can_go(replayed: Path) -> None:
    landing = replayed.parent / "landing"
    land(landing, "2.jsonl", [pop("more", 2000, bubbles=5), heartbeat("beat 2", 3000)])
    assert parity("ingest", "--lake", replayed, "--landing", landing).exit_code == 0
    assert parity("swap", "--lake", replayed, *SCORES, "--to", "2").exit_code == 0
    assert parity("stream", "--lake", replayed, *SCORES).exit_code == 0
    behind = parity("swap", "--lake", replayed, *SCORES, "--to", "1")
    assert behind.exit_code == 2 and "has not caught up" in " ".join(behind.stderr.split())
    assert parity("swap", "--lake", replayed, *SCORES, "--to", "1", "--force").exit_code == 0
    assert len(scores(replayed)) == len(TRUE_SCORES)
    assert "live, by force" in parity("versions", "--lake", replayed).stdout
    page = replayed.parent / "forced.html"
    assert parity("reconcile", "--lake", replayed, *SCORES, "--report", page).exit_code == 1
    assert (
        "team_scores@1 was made live by force at log version 1, when team_scores@2 was at log version 2"
        in page.read_text()
    )
    assert parity("swap", "--lake", replayed, *SCORES, "--back").exit_code == 0
    assert scores(replayed) == [*TRUE_SCORES, 5]
    assert parity("retire", "--lake", replayed, "--result", "team_scores@1").exit_code == 0
    gone = parity("swap", "--lake", replayed, *SCORES, "--back")
    assert gone.exit_code == 2 and "has been retired" in " ".join(gone.stderr.split())
    assert not (replayed / "tables" / "kappa_team_scores@1").exists()
    assert scores(replayed) == [*TRUE_SCORES, 5]
