"""A week of operation under Airflow's own scheduler, with the time as an input; the tests follow one another.

    pytest tests/week -n0

The worker's log at the end shows every command with what it took. Faults are part of the story: each is seen by the check that
watches for it before it is mended, so that the green of the end is one that could have been red.
"""

import json
import os
from collections.abc import Iterator
from pathlib import Path

import pytest
from arrivals import at
from checks import DAYS, differing, disagreeing, not_met, unpublished, unsettled
from damage import spoil
from story import Week

MON, TUE, WED, THU, FRI, SAT, SUN = DAYS
BEFORE = "2026-03-01"


@pytest.fixture(scope="module")
def week(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Week]:
    made = Week(tmp_path_factory.mktemp("week"))
    try:
        yield made
    finally:
        made.operation.end()
        os.write(1, made.operation.said().encode())


def test_monday_the_first_night_computes_and_publishes_what_there_is(week: Week) -> None:
    week.monday()
    assert week.by_day("batch_recompute") == {MON: ["success"]}
    assert week.by_day("reconciliation") == {BEFORE: ["success"], MON: ["success"]}
    assert [each["status"] for each in week.qualities()] == ["met"]
    assert unpublished(week.operation.ask("published"))[0].endswith(TUE)


def test_tuesday_a_stream_that_is_refused_is_tried_again(week: Week) -> None:
    week.tuesday()
    [tried] = [run for run in week.runs("stream_increment") if run["tasks"]["stream"][1] > 1]
    assert tried["state"] == "success" and tried["tasks"] == {"ingest": ["success", 1], "stream": ["success", 2]}
    assert week.by_day("reconciliation")[TUE] == ["success"]


def test_thursday_what_is_killed_in_the_middle_of_the_night_is_made_good(week: Week) -> None:
    week.wednesday()
    week.the_night_of_the_kill()
    [*_, night] = week.runs("batch_recompute")
    assert night["day"] == WED and night["state"] == "success" and night["tasks"]["recompute"][1] == 2
    assert week.by_day("reconciliation")[WED] == ["success"]
    # What the phone delivered at noon belongs to Tuesday and to Wednesday: the night has covered Tuesday again.
    assert week.by_day("reconciliation")[TUE] == ["success", "success"]
    assert week.qualities()[-1]["status"] == "met"


def test_thursday_the_control_differs_and_nobody_is_asked(week: Week) -> None:
    week.the_control_is_asked()
    [*_, control] = week.runs("reconciliation")
    assert control["type"] == "manual" and control["state"] == "failed"
    [report] = (week.operation.lake / "reports").glob("reconciliation.manual__*.json")
    said = json.loads(report.read_text())
    assert said["heading"] == "The control differs, as it should"
    assert said["results"][0]["unexplained"] == 0 < said["results"][0]["differing"]
    assert week.runs("repair_after_reconciliation") == []


def test_friday_damage_is_found_and_a_person_is_asked(week: Week) -> None:
    week.thursday()
    assert week.by_day("reconciliation")[WED] == ["success", "failed"]
    assert week.by_day("reconciliation")[THU] == ["success"]
    assert list(not_met(week.qualities()[-1])) == ["kappa_team_scores@1"]
    assert "bubbles are conserved" in not_met(week.qualities()[-1])["kappa_team_scores@1"]
    [repair] = week.runs("repair_after_reconciliation")
    assert repair["conf"]["result"] == ["team_scores@1"]


def test_friday_the_repair_is_done_and_what_failed_agrees_when_it_is_done_again(week: Week) -> None:
    week.friday()
    assert "differ" in week.question["body"]
    [repair] = week.runs("repair_after_reconciliation")
    assert repair["state"] == "success"
    assert week.by_day("reconciliation")[WED] == ["success", "success"]
    [*_, night] = week.runs("batch_recompute")
    assert night["tasks"]["recompute"] == ["success", 2] and night["tasks"]["publish"] == ["success", 1]
    [kept] = [json.loads(file.read_text()) for file in (week.operation.lake / "decisions").glob("*.json")]
    assert (kept["decision"], kept["by"]) == ("Rebuild the stream", "operator")


def test_saturday_a_night_that_is_left_out_is_seen_by_every_check(week: Week) -> None:
    week.the_missed_night()
    assert FRI not in week.by_day("batch_recompute")
    assert unpublished(week.operation.ask("published"))[0].endswith(FRI)
    assert len(unsettled(week.operation.lake, at(5, "00:00"))) == 2
    assert not_met(week.qualities()[-1]) == {
        f"batch_{name}@1": ["freshness"] for name in ("player_sessions", "team_scores")
    }


def test_saturday_the_night_is_backfilled(week: Week) -> None:
    week.backfill()
    assert set(week.by_day("batch_recompute")[FRI]) == {"success"}
    assert set(week.by_day("reconciliation")[FRI]) == {"success"}
    assert unsettled(week.operation.lake, at(5, "00:00")) == []


def test_sunday_a_new_version_has_caught_up_when_it_becomes_live(week: Week) -> None:
    week.saturday()
    [replayed] = week.runs("replay_and_swap")
    assert replayed["state"] == "success"
    assert week.approval["subject"] == "Make team_scores@2 live instead of team_scores@1?"


def test_the_week_ends_with_all_days_published_settled_and_equal(week: Week) -> None:
    week.sunday()
    done = week.operation
    assert unpublished(done.ask("published")) == []
    assert unsettled(done.lake) == []
    assert differing(done.parity, done.lake, week.lines) == []
    assert disagreeing(done.parity, done.lake, done.landing) == []


def test_every_check_of_the_week_is_green_or_was_red_for_its_reason(week: Week) -> None:
    found = [each["status"] for each in week.qualities()]
    assert found == ["met", "met", "met", "not met", "not met", "met", "met"]
    failed = [(run["dag"], run["type"]) for run in week.operation.ask("runs") if run["state"] != "success"]
    assert failed == [("reconciliation", "manual"), ("data_quality", "scheduled"), ("data_quality", "scheduled")]
    kept = (week.operation.lake / "reports" / "failures.jsonl").read_text().splitlines()
    assert [json.loads(line)["dag"] for line in kept] == [
        "reconciliation",
        "reconciliation",
        "data_quality",
        "data_quality",
    ]


def test_a_batch_layer_that_lies_is_seen_in_the_lambda_view(week: Week, tmp_path: Path) -> None:
    lake = week.copy(tmp_path)
    spoil(lake, "batch_team_scores@2", at(3, "15:00"))
    [wrong, landed] = disagreeing(week.operation.parity, lake, week.operation.landing)
    assert "lambda" in wrong and "landed" in landed
