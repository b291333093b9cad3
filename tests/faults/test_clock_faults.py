"""Clocks: the clock of ingestion steps back and forth

It bounds every time in a line, also the one at which the line says that it was received, and is written beside every line. It
orders nothing.
"""

from collections import Counter
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
from deliveries import START, at, heartbeat, land, pop
from logged import arrivals, reasons, rows
from observations import Observe
from one_run import FUTURE, RECEIVED_LATER, SCORES, ids, one_run, repairs
from proof import proven
from pyspark.sql import SparkSession

import ingestion.intake
from ingestion.ingest import ingest
from ingestion.requeue import Requeued, requeue
from lakehouse.arrivals import EVENT
from lakehouse.lake import Lake
from lakehouse.settings import ClockTolerances, Settings
from quality.validate import validate
from serving.status import lake_status
from speed_layer.stream import stream
from transformations.durations import iso, to_millis

HOUR, DAY = timedelta(hours=1), timedelta(days=1)


def standing_at(moment: datetime) -> Callable[[], datetime]:
    return lambda: moment


def assert_in_order(lake: Lake) -> None:
    """The places in the log are one sequence, and the mark never steps back."""
    found = rows(lake, EVENT, "seq", "high_water")
    assert [seq for seq, _ in found] == list(range(1, len(found) + 1))
    assert [mark for _, mark in found] == sorted(mark for _, mark in found)


def clocks(lake: Lake) -> dict[int, int]:
    """The clock of each micro-batch that has left lines."""
    table = arrivals(lake)
    found = {*zip(table["batch"].to_pylist(), map(to_millis, table["ingested_at"].to_pylist()), strict=True)}
    assert len(found) == len(dict(found)), found
    return dict(found)


def test_a_clock_that_steps_back_by_an_hour_rejects_what_is_ahead_of_it_and_a_requeue_brings_it_back(
    spark: SparkSession, lake: Lake, landing: Path, settings: Settings, observe: Observe
) -> None:
    steps = [START + 2 * HOUR, START + HOUR, START + 2 * HOUR + timedelta(minutes=5)]
    files = [
        [pop("first", 0), pop("second", 7000)],
        [pop("undated", 7100), pop("dated", 7130, received_at=at(7131)), heartbeat("beat", 7150), pop("late", 30)],
        [pop("third", 7300), heartbeat("right again", 7400)],
    ]
    for number, (moment, lines) in enumerate(zip(steps, files, strict=True)):
        land(landing, f"{number}.jsonl", lines)
        one_run(spark, lake, landing, [SCORES], settings, clock=standing_at(moment))
    assert reasons(lake) == Counter({FUTURE: 2, RECEIVED_LATER: 1})
    assert ids(lake, EVENT) == ["first", "late", "right again", "second", "third"]
    assert clocks(lake) == dict(enumerate(map(to_millis, steps)))
    tolerant = settings.model_copy(update={"clock": ClockTolerances(future=2 * HOUR)})
    assert requeue(lake, tolerant) == Requeued(accepted=3, copies=0, waiting=0)
    land(landing, "3.jsonl", [heartbeat("later", 9000)])
    one_run(spark, lake, landing, [SCORES], settings)
    assert_in_order(lake)
    verdict = proven(spark, lake, [SCORES], settings)
    assert (verdict.results[0].late_events, repairs(lake, SCORES)) == (1, 0)
    observe(
        "The clock of ingestion steps back by an hour",
        "3 lines from after what it shows are taken for lines from the future and are in quarantine, also the one that says when "
        "it was received: no line vouches for its own clock. `parity requeue` with a tolerance of two hours brings them back. "
        f"Order and mark go on, 1 event is late, and {verdict.results[0].equal} settled keys agree.",
    )


def test_a_clock_that_steps_forward_by_a_day_and_back_can_let_a_fast_phone_make_everything_late(
    spark: SparkSession, lake: Lake, landing: Path, settings: Settings, observe: Observe
) -> None:
    now = datetime.now(UTC)
    tomorrow = iso(now + DAY)
    steps = [now, now + DAY, now]
    files = [
        [pop("first", 0), pop("second", 60)],
        [pop("fast phone", 0, occurred_at=tomorrow), pop("late", 120)],
        [pop("later", 180), pop("fast phone again", 0, occurred_at=tomorrow)],
    ]
    for number, (moment, lines) in enumerate(zip(steps, files, strict=True)):
        land(landing, f"{number}.jsonl", lines)
        ingest(None, lake, landing, settings, clock=standing_at(moment))
    stream(spark, lake, [SCORES], settings)
    assert ids(lake, EVENT) == ["fast phone", "first", "late", "later", "second"]
    assert reasons(lake) == Counter({FUTURE: 1})
    assert clocks(lake) == dict(enumerate(map(to_millis, steps)))
    assert_in_order(lake)
    verdict = proven(spark, lake, [SCORES], settings)
    assert (verdict.results[0].late_events, repairs(lake, SCORES)) == (2, 0)
    assert lake_status(lake, [SCORES])["log"]["high_water"] == tomorrow
    run = validate(spark, lake, [SCORES], settings, run="fault", moment=now, log_version=None, tables=["events"])
    complaints = {each.name for table in run.tables for each in table.expectations if not each.met}
    assert complaints == {"ingested_at is not in the future", "share of late events"}
    observe(
        "The clock of ingestion steps forward by a day, and back",
        "While it is wrong, a phone that is a day fast is believed, and moves the mark by a day; afterwards it is in quarantine "
        "again. The 2 sound events that follow are late and repaired. `parity status` answers, `parity quality` says that "
        f"ingested_at is in the future, and {verdict.results[0].equal} settled keys agree.",
    )


@pytest.mark.parametrize("step", [-DAY, DAY], ids=["back", "forward"])
def test_a_retry_by_another_clock_judges_each_line_by_the_first(
    spark: SparkSession,
    lake: Lake,
    landing: Path,
    settings: Settings,
    observe: Observe,
    monkeypatch: pytest.MonkeyPatch,
    step: timedelta,
) -> None:
    """A line of noon is from the future by one of the two clocks, and an event by the other."""
    first = START if step > timedelta() else START + DAY
    noon = 12 * 3600
    land(landing, "1.jsonl", ["nonsense", pop("a", 0), pop("noon", noon), pop("a", 0), pop("b", 60, bubbles=3)])

    def died(*_: object, **__: object) -> None:
        raise RuntimeError("died here")

    with monkeypatch.context() as patched:
        patched.setattr(ingestion.intake.Intake, "_commit", died)
        with pytest.raises(RuntimeError, match="died here"):
            ingest(None, lake, landing, settings, clock=standing_at(first))
    ingest(None, lake, landing, settings, clock=standing_at(first + step))
    assert clocks(lake) == {0: to_millis(first)}
    assert ids(lake, EVENT) == (["a", "b"] if step > timedelta() else ["a", "b", "noon"])
    land(landing, "2.jsonl", [heartbeat("beat", noon + 3600)])
    one_run(spark, lake, landing, [SCORES], settings)
    verdict = proven(spark, lake, [SCORES], settings)
    assert verdict.audit.total("landed") == 6
    way = "forward" if step > timedelta() else "back"
    observe(
        f"The clock steps {way} by a day between two attempts of a micro-batch, the first of which died at its commit",
        "The second attempt judges by the clock at which the files were noted, which their manifest has kept: each of the 6 "
        f"lines has one row, and {verdict.results[0].equal} settled keys agree.",
    )
