"""What commits said outlives their files as far as somebody carried it on; the rest is refused. Commit files made by hand."""

import json
from collections.abc import Mapping
from dataclasses import replace
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
from deliveries import START
from game import catalogue

from lakehouse.arrivals import ARRIVALS
from lakehouse.batches import Interval, batch_name, coverage, run_at, with_run
from lakehouse.carrying import carried_on, said_at
from lakehouse.changelogs import boundaries, changelog_name, folded_until
from lakehouse.commits import commits, committed_at, lasting, newest_at
from lakehouse.control import CONTROL
from lakehouse.errors import Forgotten, PositionForgotten, VersionRefused
from lakehouse.identity import begun_epoch, live_epoch, unused_epoch
from lakehouse.lake import Lake
from lakehouse.log import Position, known_version, newest_version, position
from lakehouse.needs import anchors
from lakehouse.notes import edited
from lakehouse.versions import forced_swap, make_live
from transformations.durations import from_millis, to_millis

SCORES = catalogue()["team_scores"]
HOUR = timedelta(hours=1)


def commit(lake: Lake, name: str, said: Mapping[str, Any] | None = None, *, operation: str = "WRITE") -> int:
    """The next commit of a table; each is made a second after the one before."""
    log = Path(lake.table(name)) / "_delta_log"
    log.mkdir(parents=True, exist_ok=True)
    version = max((int(file.stem) for file in log.glob("*.json")), default=-1) + 1
    info: dict[str, Any] = {"timestamp": 1_000 * version, "operation": operation}
    if said:
        info["userMetadata"] = json.dumps(said)
    (log / f"{version:020d}.json").write_text(json.dumps({"commitInfo": info}) + "\n")
    return version


def ingested(lake: Lake, name: str, batch: int, *, events: int = 10, rejected: int = 1) -> int:
    at = position_of(lake, name)
    counts = {"seq": at + events, "arrivals": at + events, "duplicates": batch, "quarantined": rejected * (batch + 1)}
    said = {"batch": batch, "high_water": to_millis(START) + batch, **counts, "requeued": 0, "token": f"of {batch}"}
    return commit(lake, name, said)


def position_of(lake: Lake, name: str) -> int:
    return next((int(said["seq"]) for said in commits(lake, name)), 0)


def maintained(lake: Lake, name: str, *, anchors: tuple[int, ...] = ()) -> int:
    return commit(lake, name, carried_on(lake, name, anchors=anchors), operation="OPTIMIZE")


def cleaned(lake: Lake, name: str, *, before: int) -> None:
    """As Delta does it with the checkpoint of a version: the files of all commits before it go."""
    for file in (Path(lake.table(name)) / "_delta_log").glob("*.json"):
        if int(file.stem) < before:
            file.unlink()


@pytest.fixture
def log(lake: Lake) -> Lake:
    """Seven micro-batches in versions 1 to 7."""
    commit(lake, ARRIVALS)
    for batch in range(7):
        ingested(lake, ARRIVALS, batch)
    return lake


def test_a_position_outlives_its_commit_through_any_number_of_maintenances(log: Lake) -> None:
    was = position(log)
    assert (was.version, was.seq, was.batch, was.duplicates, was.quarantined) == (7, 70, 6, 6, 7)
    for _ in range(3):
        last = maintained(log, ARRIVALS)
        cleaned(log, ARRIVALS, before=last)
        assert (position(log), newest_version(log)) == (was, 7)
        assert position(log, last) == was, "a commit of maintenance has no events"
        assert committed_at(log, ARRIVALS, 7) == from_millis(7_000)
    ingested(log, ARRIVALS, 7)
    now = position(log)
    assert (now.seq, now.batch, position(log, now.version - 1)) == (80, 7, was)


def test_what_lies_between_the_carried_is_refused_and_not_made_up(log: Lake) -> None:
    fourth = position(log, 4)
    for _ in range(2):
        cleaned(log, ARRIVALS, before=maintained(log, ARRIVALS, anchors=(4,)))
        assert (position(log, 4), position(log, 7).seq) == (fourth, 70)
        assert (position(log, 0).seq, position(log, -1).seq) == (0, 0)
        for gone in (1, 3, 5, 6):
            with pytest.raises(Forgotten, match=f"said at version {gone} is no longer known.*horizon.*later version"):
                position(log, gone)
    with pytest.raises(Forgotten, match="at 1970-01-01T00:00:05.000Z is no longer known"):
        newest_at(log, ARRIVALS, from_millis(5_000))


def test_a_version_between_two_commits_of_ingestion_is_known_from_the_first_of_them(log: Lake) -> None:
    between = maintained(log, ARRIVALS)
    ingested(log, ARRIVALS, 7)
    after = position(log)
    cleaned(log, ARRIVALS, before=maintained(log, ARRIVALS, anchors=(between,)))
    assert (position(log, between).seq, position(log)) == (70, after)
    with pytest.raises(Forgotten):
        position(log, 6)


def test_a_log_that_has_forgotten_where_it_stands_is_refused_with_the_way_out(log: Lake) -> None:
    cleaned(log, ARRIVALS, before=commit(log, ARRIVALS, operation="OPTIMIZE"))  # by somebody who carries nothing on
    for asks in (newest_version, position, lambda lake: known_version(lake, None, option="--log-version")):
        with pytest.raises(PositionForgotten, match="numbered from 1 again.*maintain --lake .* --recover-position`"):
            asks(log)


def test_a_log_without_events_is_not_taken_for_one_that_has_forgotten(lake: Lake) -> None:
    commit(lake, ARRIVALS)
    assert (position(lake).seq, newest_version(lake)) == (0, 0)


def test_a_version_whose_commit_is_gone_is_read_in_the_newest(log: Lake) -> None:
    maintenance = maintained(log, ARRIVALS)
    assert [lasting(log, ARRIVALS, version) for version in (3, 7, maintenance)] == [maintenance] * 3
    last = commit(log, ARRIVALS, carried_on(log, ARRIVALS), operation="SET TBLPROPERTIES")
    cleaned(log, ARRIVALS, before=last)
    assert lasting(log, ARRIVALS, 7) == last
    ingested(log, ARRIVALS, 7)
    (Path(log.table(ARRIVALS)) / "_delta_log" / f"{last:020d}.checkpoint.parquet").touch()
    assert (lasting(log, ARRIVALS, 7), lasting(log, ARRIVALS, last), lasting(log, ARRIVALS, last + 1)) == (
        last + 1,
        last,
        last + 1,
    )


def streamed(lake: Lake, name: str, epoch: int, batch: int, log_version: int) -> int:
    return commit(lake, name, {"epoch": epoch, "batch": batch, "log_version": log_version})


def test_a_changelog_keeps_the_last_boundary_of_every_epoch_and_its_fold(lake: Lake) -> None:
    name = changelog_name(SCORES)
    commit(lake, name)
    streamed(lake, name, 1, 0, 3)
    streamed(lake, name, 1, 1, 5)
    commit(lake, name, {"epoch": 2, "batch": 4, "log_version": 5, "restored": "monday"})  # of one that was killed
    commit(lake, name, {"folded": 3, "epoch": 1, **carried_on(lake, name)})
    begun_epoch(lake, SCORES, since=0)
    with edited(lake, SCORES.id) as note:
        note["epoch"]["number"] = 1
    for _ in range(2):
        cleaned(lake, name, before=maintained(lake, name))
    [at] = boundaries(lake, SCORES, live_epoch(lake, SCORES))
    assert (at.batch, at.log_version, at.table_version) == (1, 5, 2)
    assert folded_until(lake, SCORES, 1) == 3
    assert unused_epoch(lake, SCORES, since=0, history=None, complete=True).number == 3


def test_duplicates_of_a_version_are_known_by_the_last_micro_batch_also_after_a_requeue(lake: Lake) -> None:
    commit(lake, "duplicates")
    commit(lake, "duplicates", {"batch": 3, "judge": {}, "attempt": None})
    requeue = commit(lake, "duplicates", {"requeued": 2, "judge": {}})
    last = maintained(lake, "duplicates")
    cleaned(lake, "duplicates", before=last)
    for version in (1, requeue, last):
        said = said_at(lake, "duplicates", version, about="batch")
        assert said is not None and said["batch"] == 3
    assert said_at(lake, "duplicates", 0, about="batch") is None


def test_the_runs_of_batch_stay_known_as_long_as_anything_of_them_is_shown(lake: Lake) -> None:
    name = batch_name(SCORES)
    commit(lake, name)
    for log_version, interval in (
        (1, Interval()),
        (2, Interval(START, START + HOUR)),
        (3, Interval(START + HOUR, START + 2 * HOUR)),
        (4, Interval(START, START + HOUR)),
    ):
        run = run_at(interval, Position(log_version, high_water=START), log_version)
        covered = [each.as_dict() for each in with_run(run, coverage(lake, SCORES))]
        last = commit(lake, name, {**run.as_dict(), "covered": covered})
        cleaned(lake, name, before=last)
    assert [each.log_version for each in coverage(lake, SCORES)] == [4, 3, 1], "the second is hidden by the fourth"
    whole = run_at(Interval(), Position(5, high_water=START), 5)
    assert with_run(whole, coverage(lake, SCORES)) == [whole], "of the others nothing is left to be seen"


def standing(lake: Lake, number: int, *, log: int, reached: int) -> None:
    """A version of the result that has come to a version of a log."""
    result = replace(SCORES, version=number)
    begun_epoch(lake, result, since=0)
    with edited(lake, result.id) as note:
        note["settings"] = {"log": str(log)}
    commit(lake, changelog_name(result))
    streamed(lake, changelog_name(result), 1, 0, reached)


@pytest.mark.parametrize(
    ("live", "beside", "second_log", "behind"),
    [
        ((1, 7), (2, 1), [6], False),  # the second log was made in one go: its version 1 holds all
        ((1, 7), (2, 1), [3, 6], True),  # it has read half of it
        ((1, 7), (2, 2), [3, 6], False),
        ((1, 2), (2, 9), [0, 0, 0, 0, 0, 0, 0, 0, 0], True),  # many versions, one micro-batch
        ((2, 1), (1, 7), [6], False),
        ((2, 1), (1, 6), [6], True),
        ((1, 7), (1, 6), [], True),
        ((1, 6), (1, 7), [], False),
    ],
)
def test_a_swap_compares_how_far_versions_have_come_and_not_the_versions_of_two_logs(
    log: Lake, live: tuple[int, int], beside: tuple[int, int], second_log: list[int], behind: bool
) -> None:
    commit(log, f"{ARRIVALS}@2")
    for batch in second_log:
        ingested(log, f"{ARRIVALS}@2", batch)
    for number, (of_log, reached) in enumerate((live, beside), start=1):
        standing(log, number, log=of_log, reached=reached)
    new = replace(SCORES, version=2)
    if not behind:
        assert make_live(log, new) == 1
        assert forced_swap(log, new) is None
        return
    with pytest.raises(VersionRefused, match="has not caught up") as refused:
        make_live(log, new)
    assert ("micro-batch" in str(refused.value)) == (live[0] != beside[0])
    ends = beside[0] == 2 and second_log[-1] < live[1] - 1
    assert ("parity reingest" in str(refused.value)) == ends
    make_live(log, new, force=True)
    assert "by force at" in (forced_swap(log, new) or "")


def test_the_log_is_anchored_where_versions_begin_and_stand(log: Lake) -> None:
    standing(log, 1, log=1, reached=5)
    with edited(log, SCORES.id) as note:
        note["settings"]["from_log_version"] = "3"
        note["epoch"] |= {"since": 3, "history": 4}
    commit(log, batch_name(SCORES))
    run = run_at(Interval(), Position(6, high_water=START), 6).as_dict()
    commit(log, batch_name(SCORES), {**run, "covered": [run]})
    assert anchors(log, ARRIVALS) == {2, 4, 5, 6}
    commit(log, CONTROL)
    commit(log, CONTROL, {"batch": 0, "log_version": 1})
    assert anchors(log, ARRIVALS) == {1, 2, 4, 5, 6}
    assert anchors(replace(log, log=2), "arrivals@2") == set()
