"""The verdict of a run is told once for each result, and compared again when it is asked for again. Nothing needs Spark."""

import json
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from lakehouse.lake import Lake, create_lake
from reconciliation.kept import SHOWN, keep_verdict, page_of, told_verdict
from reconciliation.sentences import agreement
from reconciliation.verdict import Audit, AuditBucket, Difference, ResultVerdict, Verdict

RUN = "reconciliation.one"
AGREES = ResultVerdict(
    result="team_scores", version=2, candidate="kappa", log_version=3, high_water="", settled_before="",
    keys=90, compared=90, equal=90, differing=0, open=0, open_equal=0, behind=0, beyond_horizon=0,
    by_cause={}, unexplained=0, duplicate_revisions=0, engine_alone=None, engine_wrong=None, late_events=0,
    candidate_code=["a"], batch_code=["a"], too_few=False,
)  # fmt: skip
CELL = Difference({"team_id": "blue"}, "x", "y", {"bubbles": 1}, None, ["bubbles"], ["lost"], ["e1"], 1, None)
DIFFERS = replace(AGREES, result="level_ups", equal=80, differing=10, by_cause={"lost": 10}, differences=[CELL] * 10)
OPEN = replace(AGREES, result="game_pulse", compared=0, equal=0, open=90, too_few=True)
UNBALANCED = Audit(1, [AuditBucket("2026-03-01T10", 2, 1, 0, 0)], {})


def verdict(*results: ResultVerdict, audit: Audit | None = None) -> Verdict:
    at = "2026-03-01T10:00:00+00:00"
    return Verdict("id", at, "kappa", "correct", list(results), audit or Audit(1, [], {}), 0.1)


@pytest.fixture
def lake(tmp_path: Path) -> Lake:
    lake = create_lake(tmp_path / "lake")
    keep_verdict(
        lake, RUN, verdict(AGREES, DIFFERS, OPEN), page_of(lake, RUN, ["team_scores", "level_ups", "game_pulse"])
    )
    return lake


def said(lake: Lake) -> dict[str, Any]:
    return dict(json.loads((lake.path / "reports" / f"{RUN}.json").read_text()))


@pytest.mark.parametrize("one", [AGREES, DIFFERS, OPEN])
def test_each_result_is_told_by_itself_as_it_was_found(lake: Lake, one: ResultVerdict) -> None:
    told = told_verdict(lake, RUN, [one.result])
    assert told == verdict(replace(one, differences=one.differences[:SHOWN]))
    assert told.exit_code == verdict(one).exit_code


def test_a_verdict_is_told_once(lake: Lake) -> None:
    assert told_verdict(lake, RUN, ["level_ups"]) is not None
    assert told_verdict(lake, RUN, ["level_ups"]) is None, "who asks again wants it compared again"
    assert told_verdict(lake, RUN, ["team_scores"]) is not None


@pytest.mark.parametrize(("run", "asked"), [("other.run", ["team_scores"]), (RUN, ["team_scores", "player_pace"])])
def test_what_the_run_has_not_judged_is_not_told(lake: Lake, run: str, asked: list[str]) -> None:
    assert told_verdict(lake, run, asked) is None


def test_an_audit_that_does_not_balance_is_in_the_verdict_of_every_result(lake: Lake) -> None:
    keep_verdict(lake, RUN, verdict(AGREES, audit=UNBALANCED), page_of(lake, RUN, ["team_scores"]))
    keep_verdict(lake, "other", verdict(AGREES, audit=UNBALANCED), page_of(lake, "other", ["team_scores"]))
    told = told_verdict(lake, "other", ["team_scores"])
    assert told is not None and told.exit_code == 1 and "does not balance" in agreement(told)


def test_a_result_that_is_compared_again_takes_its_place_in_the_run(lake: Lake) -> None:
    again = replace(OPEN, compared=90, equal=90, open=0, too_few=False)
    page = page_of(lake, RUN, ["game_pulse"])
    assert page.name == f"{RUN}.game_pulse.html", "the report of the run is of all its results"
    keep_verdict(lake, RUN, verdict(again), page)
    kept = said(lake)
    assert [(each["result"], each["status"]) for each in kept["results"]] == [
        ("team_scores", "agree"), ("level_ups", "differ"), ("game_pulse", "agree"),
    ]  # fmt: skip
    assert [each["report"] for each in kept["results"]] == [f"{RUN}.html", f"{RUN}.html", page.name]
    assert kept["status"] == "differ" and "too few" not in kept["sentence"]

    mended = replace(DIFFERS, equal=90, differing=0, by_cause={}, differences=[])
    keep_verdict(lake, RUN, verdict(mended), page_of(lake, RUN, ["level_ups"]))
    assert (said(lake)["status"], said(lake)["heading"]) == ("agree", "The layers agree")


def test_a_run_that_is_begun_anew_is_told_anew(lake: Lake) -> None:
    names = ["team_scores", "level_ups", "game_pulse"]
    assert told_verdict(lake, RUN, ["level_ups"]) is not None
    keep_verdict(lake, RUN, verdict(AGREES, DIFFERS, OPEN), page_of(lake, RUN, names))
    assert page_of(lake, RUN, names).name == f"{RUN}.html"
    assert told_verdict(lake, RUN, ["level_ups"]) is not None


def test_tasks_that_tell_at_once_do_not_lose_each_others_mark(tmp_path: Path) -> None:
    lake = create_lake(tmp_path / "lake")
    names = [f"result_{number}" for number in range(40)]
    keep_verdict(lake, RUN, verdict(*(replace(AGREES, result=name) for name in names)), page_of(lake, RUN, names))
    with ThreadPoolExecutor(8) as tasks:
        told = list(tasks.map(lambda name: told_verdict(lake, RUN, [name]), names))
    assert None not in told and all(each["told"] for each in said(lake)["results"])
