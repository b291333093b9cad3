"""Under the policy `drop` the layers differ, and every difference is attributed to the late events behind it, by id."""

from datetime import timedelta

import pytest
from game import catalogue
from judging import fresh_lake
from logs import WINDOWS, Arrival, exact, on_time_answer, rows_of, write_log
from pyspark.sql import SparkSession

from batch_layer.recompute import recompute
from lakehouse.batches import Interval
from lakehouse.changelogs import boundary, read_kappa
from lakehouse.lake import Lake
from lakehouse.settings import Lateness, load_settings
from reconciliation.pins import pin
from reconciliation.reconcile import reconciled
from speed_layer.stream import stream

ALLOWED = timedelta(seconds=5)
SETTINGS = load_settings().model_copy(update={"lateness": Lateness(allowed=ALLOWED, policy="drop")})
RESULTS = catalogue(WINDOWS)
UNTOUCHED = {"lifetime_totals"}  # nothing is late for a result without an end

LOG = [
    [
        *(Arrival(f"pop {n}", 1_000 * n, "blue", "alice", 30, reaction_ms=100 + n) for n in range(9)),
        Arrival("bob 1", 9_000, "blue", "bob", 100, reaction_ms=5),
        Arrival("shown", 10_000, player="bob", kind="offer_shown", offer="o1"),
        Arrival("bob 2", 19_000, "blue", "bob", 70),
    ],
    [Arrival("beat 1", 400_000, kind="heartbeat")],
    [
        Arrival("late pop", 8_500, "blue", "alice", 200, reaction_ms=900),  # fills a streak, levels up, is hot
        Arrival("late bridge", 14_000, "blue", "bob", 1, reaction_ms=1),  # joins two sessions
        Arrival("late click", 12_000, player="bob", kind="offer_clicked", offer="o1"),
        Arrival("late offer", 11_000, player="alice", kind="offer_shown", offer="o2"),
        Arrival("late league", 500, player="alice", kind="league_changed", league="gold"),
        Arrival("late stranger", 15_000, "blue", "carol", 3),  # somebody of whom nothing came in time
    ],
    [Arrival("beat 2", 800_000, kind="heartbeat")],
]
LATE = {arrival.event_id for arrival in LOG[2]}


@pytest.fixture(scope="module")
def lake(spark: SparkSession) -> Lake:
    lake = fresh_lake()
    write_log(lake, LOG, horizon=SETTINGS.retention.horizon)
    stream(spark, lake, list(RESULTS.values()), SETTINGS)
    return lake


@pytest.mark.parametrize("name", RESULTS)
def test_every_difference_is_due_to_named_late_events(spark: SparkSession, lake: Lake, name: str) -> None:
    result = RESULTS[name]
    recompute(spark, lake, result, SETTINGS)
    seen = rows_of(read_kappa(spark, lake, result, boundary(lake, result)).select(*exact(result)), result)
    assert seen == on_time_answer(name, LOG, ALLOWED), "the stream is to be right but for what it dropped"
    found = reconciled(spark, lake, result, SETTINGS, pin(lake, result, "kappa"), interval=Interval(), tolerance={})
    if name in UNTOUCHED:
        assert (found.differing, found.late_events) == (0, 0)
        return
    assert found.differing > 0
    assert found.by_cause == {"late": found.differing}
    assert found.unexplained == 0
    assert not found.engine_wrong
    for difference in found.differences:
        assert difference.event_ids and set(difference.event_ids) <= LATE, difference
