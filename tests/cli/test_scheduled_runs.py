"""What a scheduler types: a run fixes its log version first, keeps its report under its name, and records decisions."""

import json
from pathlib import Path

import pytest
from deliveries import heartbeat, land, pop
from typed import parity

SCORES = ("--result", "team_scores")
FIRST_DAY = ("--from", "2026-03-01", "--to", "2026-03-02")
RUN = "reconciliation.manual__2026-03-01T00:00:00+00:00"

pytestmark = pytest.mark.usefixtures("spark")


@pytest.fixture(scope="module")
def lake(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Two days: pops on the first, a heartbeat on the third. The stream has seen one commit of two."""
    home = tmp_path_factory.mktemp("scheduled")
    landing, lake = home / "landing", home / "lake"
    landing.mkdir()
    land(landing, "1.jsonl", [pop(f"e{n}", n * 20, bubbles=n) for n in range(12)])
    for command in (
        ("ingest", "--lake", lake, "--landing", landing),
        ("stream", "--lake", lake, *SCORES),
        (
            "recompute",
            "--lake",
            lake,
            *SCORES,
            "--result",
            "lifetime_totals",
            "--from",
            "2026-03-01",
            "--to",
            "2026-03-02",
        ),
    ):
        done = parity(*command)
        assert done.exit_code == 0, done.stderr
    land(landing, "2.jsonl", [heartbeat("beat", 2 * 86_400)])
    assert parity("ingest", "--lake", lake, "--landing", landing).exit_code == 0
    return lake


def pinned(*options: str | Path) -> dict[str, object]:
    done = parity("pin", *options)
    assert done.exit_code == 0, done.stderr
    return dict(json.loads(done.stdout))


def test_a_run_is_pinned_to_the_newest_version_of_the_log(lake: Path) -> None:
    found = pinned("--lake", lake, *SCORES)
    assert found == {
        "log_version": 2,
        "results": ["team_scores"],
        "live": {"team_scores": 1},
        "to_replay": {"team_scores": 2},
    }


def test_a_comparison_is_pinned_to_what_its_candidate_has_reached(lake: Path) -> None:
    assert pinned("--lake", lake, "--candidate", "kappa", *SCORES)["log_version"] == 1


@pytest.mark.parametrize(
    ("options", "told"),
    [
        (("--from", "2026-03-02", "--to", "2026-03-01"), "The interval ends before it starts"),
        (("--result", "nothing"), "There is no result 'nothing'"),
        (("--candidate", "legacy"), "The legacy control has not run"),
        (("--candidate", "@7", *SCORES), "team_scores has no version 7"),
        (("--candidate", "@1", "--result", "team_scores@1"), "names a version, and --candidate @1 too"),
    ],
)
def test_what_cannot_be_worked_on_is_told_before_anything_starts(
    lake: Path, options: tuple[str, ...], told: str
) -> None:
    done = parity("pin", "--lake", lake, *options)
    assert done.exit_code == 2
    assert told in done.stderr


def test_a_candidate_that_is_no_side_is_refused(lake: Path) -> None:
    done = parity("reconcile", "--lake", lake, "--candidate", "nobody")
    assert done.exit_code == 2
    assert "write kappa, legacy, or a version" in " ".join(done.stderr.replace("│", " ").split())


def test_a_run_keeps_its_report_and_its_verdict_under_its_name(lake: Path) -> None:
    done = parity(
        "reconcile",
        "--lake",
        lake,
        *SCORES,
        "--candidate",
        "@1",
        "--log-version",
        "1",
        "--run",
        RUN,
        "--recompute",
        *FIRST_DAY,
    )
    # At version 1 nothing is settled: the verdict is kept all the same.
    assert done.exit_code == 2, done.stderr
    kept = json.loads((lake / "reports" / f"{RUN}.json").read_text())
    assert (kept["run"], kept["status"]) == (RUN, "could not compare")
    assert kept["sentence"] == done.stdout.strip().splitlines()[-1]
    assert "could not be compared" in (lake / "reports" / f"{RUN}.html").read_text()
    assert (lake / "reports").stat().st_mode & 0o077 == 0


def test_what_a_run_has_kept_is_told_without_spark_and_compared_when_it_is_asked_for_again(lake: Path) -> None:
    """As the run of the test before has left it; its candidate had settled nothing."""
    asked = ("reconcile", "--lake", lake, *SCORES, "--candidate", "@1", "--log-version", "1", "--run", RUN, *FIRST_DAY)
    first, second = parity(*asked, "--as-kept"), parity(*asked, "--as-kept")
    assert (first.exit_code, second.exit_code) == (2, 2)
    assert "Spark starts" not in first.stderr and "Spark starts" in second.stderr
    assert first.stderr.splitlines()[-1] == second.stderr.splitlines()[-1] == "Verdict: could not compare"
    assert first.stdout.splitlines()[-1] == second.stdout.splitlines()[-1]


@pytest.mark.parametrize("name", ["../outside", "a/b", ".hidden", "", "a" * 201, "a b", "a\n"])
def test_a_run_whose_name_is_no_file_name_is_refused(lake: Path, name: str) -> None:
    done = parity("reconcile", "--lake", lake, *SCORES, "--run", name)
    assert done.exit_code == 2
    assert "cannot be the name of a run" in done.stderr


def test_a_day_without_events_is_agreement_where_batch_has_computed_it(lake: Path) -> None:
    assert parity("stream", "--lake", lake, *SCORES).exit_code == 0
    day = ("--from", "2026-03-02", "--to", "2026-03-03")
    before = parity("reconcile", "--lake", lake, *SCORES, *day)
    assert before.exit_code == 2, "batch has not computed that day"
    after = parity("reconcile", "--lake", lake, *SCORES, *day, "--recompute")
    assert after.exit_code == 0, after.stdout
    assert "the log gives team_scores no row there" in after.stdout


def test_a_result_without_windows_belongs_to_every_day(lake: Path) -> None:
    done = parity("show", "lifetime_totals", "--lake", lake, "--layer", "batch", "--format", "jsonl")
    assert [json.loads(line)["events"] for line in done.stdout.splitlines()] == [12]


def test_a_decision_is_kept_and_its_retry_writes_it_again(lake: Path) -> None:
    said = ("--run", "repair.one", "--reconciliation", RUN, "--decision", "Reject", "--by", "[b]admin[/b]")
    for _ in range(2):
        done = parity("decide", "--lake", lake, *said)
        assert done.exit_code == 0 and "[b]admin[/b] decided 'Reject'" in done.stderr
    [kept] = (lake / "decisions").glob("*.json")
    assert json.loads(kept.read_text())["reconciliation"] == RUN
    assert parity("decide", "--lake", lake, *said[:2], "--reconciliation", "../x", *said[4:]).exit_code == 2
