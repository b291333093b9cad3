"""Lambda against Kappa by the notes of runs: which is cheaper, at which interval they cost the same, and what is missing."""

from datetime import timedelta

import pytest

from lakehouse.runs import Job, Outcome, Run
from reconciliation.architectures import Bill, billed
from reconciliation.prices import expense

DAY = timedelta(days=1)


def run(job: Job, cpu: float, *results: str, outcome: Outcome = "ended", whole: bool = True, after: str = "") -> Run:
    """`after` are the jobs that its process had done before."""
    return Run(
        job,
        list(results),
        "2026-03-01T00:00:00+00:00",
        outcome=outcome,
        whole=whole,
        warmed_by=after.split(),
        cpu_seconds=cpu,
    )


def of(noted: list[Run], *ids: str, covered: timedelta = DAY, every: timedelta = DAY) -> Bill:
    return billed(noted, ids or ("a@1",), covered=covered, every=every)


MEASURED = [run("stream", 100, "a@1"), run("recompute", 20, "a@1"), run("legacy", 10)]


def test_lambda_pays_for_its_speed_layer_and_for_every_run_of_batch() -> None:
    assert of(MEASURED).lambda_ == 30 and of(MEASURED).kappa == 100
    assert of(MEASURED, covered=3 * DAY).lambda_ == 70
    assert of(MEASURED, every=timedelta(hours=6)).lambda_ == 90


def test_a_log_that_is_shorter_than_the_interval_needs_one_run_all_the_same() -> None:
    assert of(MEASURED, covered=timedelta(hours=1)).lambda_ == 30


@pytest.mark.parametrize("covered", [DAY, 5 * DAY, timedelta(hours=30)])
def test_at_the_interval_where_they_cost_the_same_they_do(covered: timedelta) -> None:
    same_at = of(MEASURED, covered=covered).same_at
    assert same_at is not None
    there = of(MEASURED, covered=covered, every=same_at)
    assert there.lambda_ == pytest.approx(there.kappa)
    assert of(MEASURED, covered=covered, every=same_at * 0.9).cheaper == "kappa"
    assert of(MEASURED, covered=covered, every=same_at * 1.1).cheaper == "lambda"


def test_a_speed_layer_that_costs_as_much_as_the_stream_makes_lambda_dearer_at_any_interval() -> None:
    found = of([run("stream", 10, "a@1"), run("recompute", 1, "a@1"), run("legacy", 10)])
    assert found.same_at is None and found.cheaper == "kappa"
    assert "At no interval of batch does Lambda cost less" in expense(found)


def test_the_sentence_has_both_architectures_the_schedule_and_the_interval() -> None:
    said = expense(of(MEASURED, every=timedelta(hours=12)))
    assert "with a batch run every 12 hours" in said
    assert "Kappa (the stream with its repairs) used 100 s of CPU" in said
    assert "Lambda 50 s, 10 s for the old speed layer and 20 s for each batch run" in said
    assert "cost the same with a batch run every 5.3 h" in said


def test_killed_runs_are_in_the_cost_and_told() -> None:
    killed = [*MEASURED, run("stream", 30, "a@1", outcome="no end noted"), run("legacy", 5, outcome="no end noted")]
    found = of(killed)
    assert (found.kappa, found.lambda_, found.unended) == (130, 35, 2)
    assert "2 runs without an end count as far as known" in expense(found)


def test_what_ran_together_is_compared_together() -> None:
    noted = [run("stream", 110, "a@1", "b@1"), run("recompute", 2, "a@1"), run("recompute", 3, "b@1"), run("legacy", 1)]
    found = of(noted)
    assert (found.kappa, found.batch, found.results) == (110, 5, ("a@1", "b@1"))
    assert "for 2 results (1 result more than were asked for" in expense(found)


def test_a_batch_layer_that_ran_over_an_interval_is_told() -> None:
    noted = [run("stream", 10, "a@1"), run("recompute", 2, "a@1", whole=False), run("legacy", 1)]
    assert "over an interval only" in expense(of(noted))


@pytest.mark.parametrize(
    ("noted", "said"),
    [
        ([], "the stream has noted no run of a@1 and the batch layer has noted no run of a@1 that ended"),
        (MEASURED[1:], "the stream has noted no run of a@1"),
        ([MEASURED[0], MEASURED[2]], "the batch layer has noted no run of a@1 that ended"),
        ([*MEASURED, run("replay", 9, "a@1")], "a@1 was built by a replay"),
        ([run("stream", 9, "a@1", "b@1"), MEASURED[1]], "the batch layer has noted no run of b@1"),
        ([MEASURED[0], run("recompute", 2, "a@1", after="stream")], "the batch layer ran in a process that other jobs"),
        ([run("stream", 9, "a@1", after="ingest legacy"), *MEASURED[1:]], "the stream ran in a process that other"),
        ([*MEASURED[:2], run("legacy", 9, after="stream")], "the old speed layer ran in a process that other"),
    ],
    ids=[
        "nothing",
        "no stream",
        "no batch",
        "a replay",
        "batch of a companion",
        "batch after the stream",
        "the stream after ingestion",
        "the control after the stream",
    ],
)
def test_what_was_not_measured_is_said_to_be_missing(noted: list[Run], said: str) -> None:
    found = of(noted)
    assert found.kappa is None and found.cheaper is None and found.same_at is None
    assert expense(found).startswith("What Lambda and Kappa cost cannot be compared: ") and said in expense(found)


def test_jobs_whose_own_kind_had_warmed_the_process_too_are_compared() -> None:
    noted = [
        run("stream", 9, "a@1", after="stream recompute"),
        run("recompute", 2, "a@1", after="stream recompute"),
        run("recompute", 2, "a@1", after="recompute"),
    ]
    assert of(noted).kappa == 9


def test_without_a_speed_layer_lambda_costs_at_least_its_batch() -> None:
    dear, cheap = of(MEASURED[:2]), of([run("stream", 15, "a@1"), MEASURED[1]])
    assert dear.lambda_ is None and dear.cheaper is None and cheap.cheaper == "kappa"
    assert "Lambda at least 20 s" in expense(dear) and "has not run here" in expense(dear)
