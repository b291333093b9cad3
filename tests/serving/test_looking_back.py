"""What was served at a moment is one thing, whoever is asked: a server that is new, one that was asked before, one that followed.

It is what Spark reads at that boundary, whatever maintenance has done since; or it is refused, by all of them.
"""

from collections.abc import Callable
from contextlib import ExitStack
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
from deliveries import land, pop
from pyspark.sql import SparkSession
from served import declared, small_settings

from batch_layer.recompute import recompute
from ingestion.ingest import ingest
from lakehouse.changelogs import boundary, changelog_name, read_kappa
from lakehouse.commits import commits, committed_at
from lakehouse.compaction import compact, maintenance_session
from lakehouse.errors import NothingToCompare
from lakehouse.folding import fold
from lakehouse.lake import Lake
from lakehouse.settings import Retention, Serving, Settings
from serving.pins import Layer
from serving.reader import Reader
from speed_layer.stream import stream
from transformations.result import Result

SETTINGS: Settings = small_settings().model_copy(
    update={"serving": Serving(clear_ids=True), "retention": Retention(revisions=timedelta(minutes=30))}
)
RESULTS = declared(SETTINGS, ["team_scores", "player_sessions"])
LAYERS: tuple[Layer, ...] = ("kappa", "batch", "lambda")
ROUNDS = 4
Outcome = list[tuple[Any, ...]] | str


def land_round(landing: Path, number: int) -> None:
    """Pops of an hour, and late ones that repair what the hours before have settled."""
    late = [pop(f"late {number}.{each}", 60 * each, player=f"player {each}") for each in range(5 if number else 0)]
    new = [pop(f"new {number}.{each}", 3600 * number + 30 * each, team=f"team {each % 3}") for each in range(15)]
    land(landing, f"{number:02d}.jsonl", [*late, *new])


def moments(lake: Lake, result: Result) -> list[datetime]:
    """When each micro-batch of the stream had been committed, newest first."""
    table = changelog_name(result)
    return [committed_at(lake, table, said["version"]) for said in commits(lake, table) if "batch" in said]


def outcome(reader: Reader, result: Result, layer: Layer, moment: datetime) -> Outcome:
    try:
        rows = reader.answer(result.name, layer, as_of=moment).rows
    except NothingToCompare as refused:
        return str(refused)
    return [tuple(row.values()) for row in rows.select(result.columns).to_pylist()]


def spark_said(spark: SparkSession, reader: Reader, result: Result, moment: datetime) -> Outcome:
    pinned = reader.subjects.subject(result.name, "kappa", moment=moment).lake
    at = boundary(pinned, result)
    rows = read_kappa(spark, replace(pinned, pins=()), result, at).select(*result.columns)
    found = rows.orderBy("window_start", *result.key).collect()
    zoned = [[each.replace(tzinfo=UTC) if isinstance(each, datetime) else each for each in row] for row in found]
    return [tuple(row) for row in zoned]


def test_what_was_served_is_the_same_for_every_server_after_every_maintenance(
    spark: SparkSession, lake: Lake, landing: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("lakehouse.compaction.A_HANDFUL", 1)
    monkeypatch.setattr("lakehouse.folding.LEAST_SHARE", 0.001)
    session = maintenance_session(spark)

    def compacted() -> None:
        for result in RESULTS:
            compact(session, lake, changelog_name(result))

    def folded() -> None:
        assert all(fold(session, lake, result, SETTINGS) > 0 for result in RESULTS), "nothing was folded"

    maintained: dict[str, Callable[[], None]] = {"plain": lambda: None, "compacted": compacted, "folded": folded}
    with ExitStack() as opened:
        following, present, past = (opened.enter_context(Reader(lake, SETTINGS)) for _ in range(3))
        for number in range(ROUNDS):
            land_round(landing, number)
            ingest(spark, lake, landing, SETTINGS)
            stream(spark, lake, RESULTS, SETTINGS)
            for result in RESULTS:
                recompute(spark, lake, result, SETTINGS)
                following.answer(result.name, "lambda")
        for result in RESULTS:
            present.answer(result.name, "lambda")
            past.answer(result.name, "kappa", as_of=moments(lake, result)[-1])
        refused: dict[str, int] = dict.fromkeys(maintained, 0)
        for state, maintain in maintained.items():
            maintain()
            for result in RESULTS:
                following.answer(result.name, "lambda")
                for moment in moments(lake, result):
                    with Reader(lake, SETTINGS) as fresh:
                        for layer in LAYERS:
                            said = outcome(fresh, result, layer, moment)
                            case = f"{state}, {result.name}, {layer} at {moment}"
                            for name, other in (("following", following), ("present", present), ("past", past)):
                                assert outcome(other, result, layer, moment) == said, f"{case}: {name}"
                            if layer == "kappa" and isinstance(said, str):
                                assert "folded" in said, case
                                refused[state] += 1
                            elif layer == "kappa":
                                assert said == spark_said(spark, fresh, result, moment), case
        assert refused["plain"] == refused["compacted"] == 0 < refused["folded"] < len(RESULTS) * ROUNDS
