"""Whose cost a run is: by result and version, with what was killed, and without what cannot be told apart."""

import pytest

from lakehouse.runs import Job, Outcome, Run
from reconciliation.accounts import account, cost_of_a_batch_run, together


def run(job: Job, cpu: float, *results: str, outcome: Outcome = "ended") -> Run:
    return Run(job, list(results), "2026-03-01T00:00:00+00:00", outcome=outcome, cpu_seconds=cpu)


def test_a_run_of_many_results_is_not_the_cost_of_one() -> None:
    noted = [run("stream", 110, "a@1", "b@1", "c@1"), run("stream", 3, "d@1"), run("recompute", 1.8, "a@1")]
    assert together(noted, ["a@1"]) == {"a@1", "b@1", "c@1"}
    assert together(noted, ["d@1"]) == {"d@1"}
    assert account(noted, "stream", ["d@1"]).cpu_seconds == 3


def test_results_that_ran_together_are_followed_from_run_to_run() -> None:
    noted = [run("stream", 1, "a@1", "b@1"), run("stream", 1, "b@1", "c@1"), run("stream", 1, "d@1", "e@1")]
    assert together(noted, ["a@1"]) == {"a@1", "b@1", "c@1"}


def test_another_version_of_a_result_is_another_result() -> None:
    noted = [run("stream", 5, "a@1"), run("stream", 70, "a@2"), run("recompute", 2, "a@1"), run("recompute", 9, "a@2")]
    assert account(noted, "stream", ["a@1"]).cpu_seconds == 5
    assert cost_of_a_batch_run(noted, ["a@2"]) == (9, [])


def test_a_note_of_names_without_versions_is_nobody_s() -> None:
    assert account([run("stream", 5, "a")], "stream", ["a@1"]).cpu_seconds is None


def test_a_replay_is_not_the_cost_of_the_stream() -> None:
    noted = [run("stream", 5, "a@2"), run("replay", 70, "a@2")]
    assert account(noted, "stream", ["a@2"]).cpu_seconds == 5
    assert account(noted, "replay", ["a@2"]).cpu_seconds == 70


def test_runs_that_were_killed_or_failed_count() -> None:
    noted = [
        run("stream", 4, "a@1", outcome="no end noted"),
        run("stream", 2, "a@1", outcome="failed"),
        run("stream", 5, "a@1"),
    ]
    found = account(noted, "stream", ["a@1"])
    assert (found.cpu_seconds, len(found.runs), found.unended) == (11, 3, 1)


def test_what_serves_all_results_is_counted_for_each() -> None:
    assert account([run("legacy", 6)], "legacy", ["a@1"]).cpu_seconds == 6


@pytest.mark.parametrize(
    ("noted", "expected"),
    [
        ([run("recompute", 2, "a@1"), run("recompute", 3, "b@1")], (5.0, [])),
        ([run("recompute", 2, "a@1"), run("recompute", 4, "a@1"), run("recompute", 3, "b@1")], (6.0, [])),
        ([run("recompute", 1, "a@1", outcome="no end noted"), run("recompute", 2, "a@1"), run("recompute", 3, "b@1")], (6.0, [])),
        ([run("recompute", 2, "a@1")], (None, ["b@1"])),
        ([run("recompute", 2, "a@1"), run("recompute", 3, "b@1", outcome="no end noted")], (None, ["b@1"])),
    ],
    ids=["one run each", "the mean of several", "with what a kill cost", "one never ran", "one never ended"],
)  # fmt: skip
def test_a_batch_run_computes_every_result_once(noted: list[Run], expected: tuple[float | None, list[str]]) -> None:
    assert cost_of_a_batch_run(noted, ["a@1", "b@1"]) == expected
