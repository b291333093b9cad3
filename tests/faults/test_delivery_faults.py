"""Delivery: what phones and networks do to events

Copies, other orders, storms of late events, backlogs, bursts, and a source that lags behind.
"""

import random
from collections import Counter
from collections.abc import Sequence
from pathlib import Path

import pytest
from deliveries import heartbeat, land, pop
from logged import rows
from observations import Observe
from one_run import HOT, SCORES, SESSIONS, answer, cut_into, ids, one_run, repairs
from proof import proven
from pyspark.sql import SparkSession

from lakehouse.arrivals import DUPLICATE, EVENT
from lakehouse.changelogs import changelog_name
from lakehouse.lake import Lake, create_lake
from lakehouse.log import position
from lakehouse.settings import Settings
from lakehouse.tables import read_table
from reconciliation.verdict import Verdict
from simulator.game import simulate

DAY, HOUR, MINUTE = 86_400, 3_600, 60
ALL = (SCORES, SESSIONS, HOT)


def players(seconds: Sequence[float], *, name: str = "e") -> list[str]:
    """A pop at each of these times, of six players of two teams; two of a team within a minute make it hot."""
    return [
        pop(f"{name} {number}", second, bubbles=400, team=f"team {number // 2 % 2}", player=f"player {number % 6}")
        for number, second in enumerate(seconds)
    ]


def equal_keys(verdict: Verdict) -> str:
    assert all(each.equal for each in verdict.results)
    return ", ".join(f"{each.equal} of {each.result}" for each in verdict.results)


def test_copies_that_come_days_later_in_other_files_and_micro_batches_count_once(
    spark: SparkSession, lake: Lake, landing: Path, settings: Settings, observe: Observe
) -> None:
    days = [players([day * DAY + 20 * number for number in range(12)], name=f"day {day}") for day in range(4)]
    for day, lines in enumerate(days):
        again = [line for earlier in days[:day] for line in earlier]
        land(landing, f"{day}.jsonl", [*lines, *again, lines[0]])
    land(landing, "4.jsonl", [heartbeat("beat", 5 * DAY), *days[0]])
    settings = cut_into(settings, 3)
    one_run(spark, lake, landing, ALL, settings, files_per_batch=1)
    copies = ids(lake, DUPLICATE)
    assert len(copies) == 12 * (3 + 2 + 1) + 4 + 12
    assert Counter(copies)["day 0 0"] == 5
    assert position(lake).seq == 4 * 12 + 1
    verdict = proven(spark, lake, ALL, settings)
    assert [each.late_events for each in verdict.results] == [0, 0, 0]
    observe(
        "Copies up to four days later, in other files and micro-batches",
        f"All {len(copies)} copies of 48 events are kept apart, none counts and none is late. Settled keys that agree: "
        f"{equal_keys(verdict)}.",
    )


@pytest.mark.chaos
def test_any_order_of_the_same_lines_settles_on_the_same_answers(
    spark: SparkSession, tmp_path: Path, settings: Settings, observe: Observe
) -> None:
    lines = players([25 * number for number in range(48)])
    shuffled = random.Random(8).sample(lines, len(lines))
    answers, late = [], []
    for name, order in (("in order", lines), ("backwards", lines[::-1]), ("shuffled", shuffled)):
        lake, landing = create_lake(tmp_path / name / "lake"), tmp_path / name / "landing"
        landing.mkdir()
        for number in range(2):
            land(landing, f"{number}.jsonl", order[number * 24 : number * 24 + 24])
        land(landing, "2.jsonl", [heartbeat("beat", DAY)])
        one_run(spark, lake, landing, [SCORES, SESSIONS], cut_into(settings, 2), files_per_batch=1)
        answers.append([answer(spark, lake, result) for result in (SCORES, SESSIONS)])
        late.append(repairs(lake, SESSIONS))
    verdict = proven(spark, lake, [SCORES, SESSIONS], cut_into(settings, 2))
    assert answers[1] == answers[0] and answers[2] == answers[0] and all(answers[0])
    assert late[0] == 0 < min(late[1:])
    observe(
        "The same 48 events in order, backwards and shuffled",
        f"In order nothing is repaired, backwards {late[1]} sessions are, shuffled {late[2]}. All three settle on the same "
        f"answers: {equal_keys(verdict)}.",
    )


def test_a_storm_in_which_half_of_the_events_come_a_day_late_is_repaired(
    spark: SparkSession, lake: Lake, landing: Path, settings: Settings, observe: Observe
) -> None:
    lines = players([30 * number for number in range(80)])
    land(landing, "1.jsonl", [*lines[::2], heartbeat("beat", DAY)])
    land(landing, "2.jsonl", lines[1::2])
    settings = cut_into(settings, 1)
    one_run(spark, lake, landing, ALL, settings, files_per_batch=1)
    verdict = proven(spark, lake, ALL, settings)
    assert [each.late_events for each in verdict.results] == [40, 40, 40]
    assert repairs(lake, SESSIONS) > 0
    observe(
        "A late storm: half of the events come a day late, at once",
        f"40 of 80 events are late. They repair {repairs(lake, SCORES)} scores and {repairs(lake, SESSIONS)} sessions in one "
        f"micro-batch. Settled keys that agree: {equal_keys(verdict)}.",
    )


@pytest.mark.chaos
def test_a_backlog_of_a_day_is_the_same_log_in_one_micro_batch_and_in_many(
    spark: SparkSession, tmp_path: Path, settings: Settings, observe: Observe
) -> None:
    landing = tmp_path / "landing"
    simulate(landing, events=600, senders=20, files=48)
    logs, answers = [], []
    for files_per_batch in (100, 16):
        lake = create_lake(tmp_path / str(files_per_batch))
        one_run(spark, lake, landing, [SCORES], settings, files_per_batch=files_per_batch)
        logs.append(rows(lake, EVENT, "seq", "event_id", "event_time", "high_water", "file", "line"))
        answers.append(answer(spark, lake, SCORES))
        verdict = proven(spark, lake, [SCORES], settings)
    assert (logs[0], answers[0]) == (logs[1], answers[1])
    [found] = verdict.results
    assert position(lake).batch == 2 and len(logs[0]) == 600
    assert 0 < found.late_events < 300
    observe(
        "A backlog of a day in 48 small files, at once",
        "In one micro-batch and in three it gives the same log, row by row, and the same answers. The mark runs along within a "
        f"micro-batch: {found.late_events} of 600 events are late, not all but the newest. {found.equal} settled keys agree.",
    )


def test_a_burst_of_events_of_one_instant_counts_whole(
    spark: SparkSession, lake: Lake, landing: Path, settings: Settings, observe: Observe
) -> None:
    land(landing, "1.jsonl", players([30] * 300, name="first burst"))
    land(landing, "2.jsonl", [*players([7200] * 300, name="second burst"), heartbeat("beat", DAY)])
    settings = cut_into(settings, 1)
    one_run(spark, lake, landing, [SCORES, HOT], settings, files_per_batch=1)
    verdict = proven(spark, lake, [SCORES, HOT], settings)
    events = SCORES.schema.names.index("events")
    assert [row[events] for row in answer(spark, lake, SCORES)] == [150] * 4
    assert [each.late_events for each in verdict.results] == [0, 0]
    observe(
        "Bursts: 300 events of one millisecond, then silence, then 300 more",
        f"All 600 count, none is late, and two results agree: {equal_keys(verdict)}.",
    )


def test_a_source_that_is_an_hour_behind_the_others_is_late_and_repaired(
    spark: SparkSession, lake: Lake, landing: Path, settings: Settings, observe: Observe
) -> None:
    """In each of six files ten minutes of the fast source, and the ten minutes of the slow one an hour before that."""
    for number in range(6):
        minutes = [HOUR + (10 * number + minute) * MINUTE for minute in range(10)]
        fast = [pop(f"fast {second}", second, team="fast", player="alice") for second in minutes]
        slow = [pop(f"slow {second}", second - HOUR, team="slow", player="bob") for second in minutes]
        land(landing, f"{number}.jsonl", [*fast, *slow])
    settings = cut_into(settings, 3)
    one_run(spark, lake, landing, [SCORES, SESSIONS], settings, files_per_batch=1)
    revisions = read_table(spark, lake, changelog_name(SCORES)).groupBy("team_id", "cause").count().collect()
    causes = {(row.team_id, row.cause): row["count"] for row in revisions}
    assert causes == {("fast", "on_time"): 60, ("slow", "on_time"): 60}
    assert repairs(lake, SESSIONS) > 0
    verdict = proven(spark, lake, [SCORES, SESSIONS], settings)
    assert [each.late_events for each in verdict.results] == [60, 60]
    observe(
        "One source an hour behind the others",
        f"There is one mark: all 60 events of the slow source are late. They repair {repairs(lake, SCORES)} scores and "
        f"{repairs(lake, SESSIONS)} sessions; of windows the engine counts both sources. Settled keys that agree: "
        f"{equal_keys(verdict)}.",
    )
