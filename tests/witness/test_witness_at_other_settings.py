"""The witness agrees at other windows and latenesses, under both policies, on edges, on a drawn day and on cases from outside.

Static: every answer is computed over the log as batch does it, so a setting costs a second a result and no stream. Streams
are held against batch by the laws.
"""

import json
from collections.abc import Callable, Iterator
from datetime import timedelta
from pathlib import Path

import pytest
from deliveries import land
from edges import INGESTED_AT, land_edges
from game import catalogue
from logged import fates
from outside_cases import cars, impulse
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F
from seeds import chance
from witness import HOUR, MINUTE, SECOND, WINDOWS, Row, Witness

from ingestion.ingest import ingest
from lakehouse.lake import Lake, create_lake
from lakehouse.log import log_at, newest_version
from lakehouse.settings import load_settings
from simulator.game import simulate
from transformations.result import Result

Windows = dict[str, dict[str, int]]
Judged = Callable[[int], None]

SECONDS: Windows = {
    **{name: {"size": 10 * SECOND} for name in ["team_scores", "hot_minutes"]},
    **{name: {"size": 7 * SECOND} for name in ["level_ups", "reaction_times", "league_scores"]},
    "game_pulse": {"size": 1},
    "player_pace": {"size": 50 * SECOND, "slide": 20 * SECOND},  # the slide does not divide the size
    "player_sessions": {"gap": 1},
    "active_players": {"size": 90 * SECOND},
    "pop_streaks": {"size": MINUTE},
    "offer_outcomes": {"within": 20 * SECOND},
    "click_through": {"size": 30 * SECOND, "within": 20 * SECOND},
}
HOURS: Windows = {
    **{name: {"size": HOUR} for name in ["team_scores", "level_ups", "reaction_times", "league_scores"]},
    "hot_minutes": {"size": 20 * MINUTE},
    "game_pulse": {"size": MINUTE},
    "player_pace": {"size": HOUR, "slide": 15 * MINUTE},
    "player_sessions": {"gap": HOUR},
    **{name: {"size": 24 * HOUR} for name in ["active_players", "pop_streaks"]},
    "offer_outcomes": {"within": 2 * HOUR},
    "click_through": {"size": 30 * MINUTE, "within": 10 * MINUTE},
}
CASES: dict[str, tuple[str, Windows, int]] = {
    "edges, as in the catalogue": ("edges", WINDOWS, 5 * MINUTE),
    "edges, seconds, nothing allowed": ("edges", SECONDS, 0),
    "edges, hours, ten minutes allowed": ("edges", HOURS, 10 * MINUTE),
    "a day, seconds, a second allowed": ("day", SECONDS, SECOND),
    "a day, hours, an hour allowed": ("day", HOURS, HOUR),
    "from outside, hours, twenty seconds allowed": ("outside", HOURS, 20 * SECOND),
}


@pytest.fixture(scope="module")
def landings(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    found = {name: tmp_path_factory.mktemp(name) / "landing" for name in ("edges", "day", "outside")}
    simulate(found["day"], events=1500, seed=chance("witness").randrange(10**6), senders=40, hours=3, files=6)
    for name in ("edges", "outside"):
        found[name].mkdir()
    land_edges(found["edges"])
    land(found["outside"], "cars.jsonl", [json.dumps(event) for event in cars()])
    land(found["outside"], "impulse.jsonl", [json.dumps(event) for event in impulse()])
    return found


@pytest.fixture(scope="module")
def lakes(spark: SparkSession, landings: dict[str, Path]) -> dict[str, Lake]:
    found = {}
    for name, landing in landings.items():
        found[name] = create_lake(landing.parent / "lake")
        settings = load_settings()
        ingest(
            spark,
            found[name],
            landing,
            settings,
            files_per_batch=2 if name == "edges" else 6,
            clock=lambda: INGESTED_AT,
        )
    return found


@pytest.fixture(scope="module")
def logs(spark: SparkSession, lakes: dict[str, Lake]) -> Iterator[dict[str, DataFrame]]:
    found = {name: log_at(spark, lake, newest_version(lake)).cache() for name, lake in lakes.items()}
    yield found
    for log in found.values():
        log.unpersist()


def answers(log: DataFrame, result: Result, allowed: timedelta) -> dict[str, list[Row]]:
    """All rows, the settled ones, and those over what was in time, as the witness writes them; in one Spark job."""
    [mark] = log.agg(F.max("event_time")).head() or [None]
    times = {field.name for field in result.schema if field.dataType.typeName() == "timestamp"}
    names = [*result.key, "window_start", *(name for name, error in result.errors.items() if not error)]
    columns = [F.unix_millis(name) if name in times else F.col(name) for name in names]
    settled = result.settled(F.lit(mark) - F.lit(allowed))
    everything = result.of(log).select(F.when(settled, "settled").otherwise("open"), *columns)
    in_time = result.on_time(log, allowed).where(result.present).select(F.lit("in time"), *columns)
    found: dict[str, list[Row]] = {"all": [], "settled": [], "in time": []}
    for what, *row in everything.union(in_time).collect():
        if what != "in time":
            found["all"].append(tuple(row))
        if what != "open":
            found[what].append(tuple(row))
    return found


@pytest.mark.parametrize("case", CASES)
def test_at_other_settings_every_result_is_what_the_witness_says(
    landings: dict[str, Path], logs: dict[str, DataFrame], case: str, judged: Judged
) -> None:
    where, windows, allowed = CASES[case]
    witness = Witness(landings[where], ingested_at=round(INGESTED_AT.timestamp() * 1000), windows=windows)
    durations = {
        result: {name: timedelta(milliseconds=length) for name, length in each.items()}
        for result, each in windows.items()
    }
    for name, result in catalogue(durations).items():
        found = answers(logs[where], result, timedelta(milliseconds=allowed))
        rows = witness.rows(name)
        said = {
            "all": rows,
            "settled": witness.settled(name, rows, allowed=allowed),
            "in time": witness.rows(name, dropping=allowed),
        }
        for what, expected in said.items():
            got = sorted(found[what], key=str)
            differing = set(got) ^ set(expected)
            assert got == sorted(expected, key=str), f"{name}, {what}: {sorted(differing, key=str)[:10]}"
            judged(len(expected))


@pytest.mark.parametrize("where", ["edges", "day", "outside"])
def test_every_line_has_the_fate_that_the_witness_says(
    landings: dict[str, Path], lakes: dict[str, Lake], where: str
) -> None:
    counts = Witness(landings[where], ingested_at=round(INGESTED_AT.timestamp() * 1000)).counts()
    counts.pop("conflicts")
    assert fates(lakes[where]) == counts
