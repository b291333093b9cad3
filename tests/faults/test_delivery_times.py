"""Delivery: silence, and phones with clocks that are decades wrong"""

import json
from collections import Counter
from datetime import timedelta
from pathlib import Path
from typing import Any

from deliveries import START, at, heartbeat, land, pop
from logged import reasons, rows
from observations import Observe
from one_run import BEFORE_2000, FUTURE, SCORES, SESSIONS, ids, one_run
from proof import proven
from pyspark.sql import SparkSession

from lakehouse.arrivals import ARRIVALS, DUPLICATE, EVENT
from lakehouse.commits import newest
from lakehouse.lake import Lake
from lakehouse.log import position
from lakehouse.settings import Settings


def test_in_silence_the_last_results_stay_open_and_a_heartbeat_settles_them(
    spark: SparkSession, lake: Lake, landing: Path, settings: Settings, observe: Observe
) -> None:
    results = [SCORES, SESSIONS]
    pops = [pop(f"e{number}", 60 * number, player=f"player {number % 2}") for number in range(20)]
    land(landing, "1.jsonl", [pop("before", -7200), *pops])
    one_run(spark, lake, landing, results, settings)
    before = proven(spark, lake, results, settings)
    versions = {table: newest(lake, table) for table in lake.tables() if table.startswith((ARRIVALS, "kappa"))}
    one_run(spark, lake, landing, results, settings)  # hours later, and nothing has come
    assert {table: newest(lake, table) for table in versions} == versions
    land(landing, "2.jsonl", [heartbeat("beat", 6 * 3600)])
    one_run(spark, lake, landing, results, settings)
    after = proven(spark, lake, results, settings)
    assert [(each.equal, each.open) for each in before.results] == [(15, 6), (1, 2)]
    assert [(each.equal, each.open) for each in after.results] == [(21, 0), (3, 0)]
    observe(
        "Silence for hours, then a heartbeat",
        "Without events nothing settles and nothing is written: 6 of 21 scores and 2 of 3 sessions stay open. One heartbeat, "
        "six hours later, settles all of them.",
    )


def test_a_phone_with_a_clock_in_2099_or_1970_is_corrected_or_put_aside_and_moves_no_mark(
    spark: SparkSession, lake: Lake, landing: Path, settings: Settings, observe: Observe
) -> None:
    def phone(year: str, event_id: str, **times: Any) -> str:
        return json.dumps(
            json.loads(pop(f"{event_id} of {year}", 0)) | {"occurred_at": f"{year}-01-01T00:00:00Z"} | times
        )

    lines = []
    for year in ("2099", "1970"):
        sent = {"sent_at": f"{year}-01-01T00:00:05Z"}
        received = {"received_at": at(65)}
        lines += [
            phone(year, "undated"),
            phone(year, "sent", **sent),
            phone(year, "received", **received),
            phone(year, "both", **sent, **received),
        ]
    land(landing, "1.jsonl", [pop("sound", 0), *lines, pop("newest", 100), heartbeat("beat", 900)])
    land(landing, "2.jsonl", [*lines[3::4], pop("after", 910)])
    one_run(spark, lake, landing, [SCORES], settings, files_per_batch=1)
    assert reasons(lake) == Counter({FUTURE: 3, BEFORE_2000: 3})
    assert ids(lake, DUPLICATE) == ["both of 1970", "both of 2099"]
    events = rows(lake, EVENT, "event_id", "event_time")
    assert {time for event_id, time in events if event_id.startswith("both of")} == {START + timedelta(seconds=60)}
    assert position(lake).high_water == START + timedelta(seconds=910)
    verdict = proven(spark, lake, [SCORES], settings)
    assert verdict.results[0].late_events == 0
    observe(
        "Phones with clocks in 2099 and in 1970",
        "Where a line says when it was sent and received, its time is corrected (2 events, and 2 copies of them are found). "
        "Where either is missing it is in quarantine (3 from the future, 3 from before 2000). The mark does not move and no "
        f"other event is late; {verdict.results[0].equal} settled keys agree.",
    )
