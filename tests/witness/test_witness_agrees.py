"""A witness that shares no code agrees with both layers, on a simulated day with all its phenomena."""

import json
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path

import pytest
from changed import CHANGES, SOURCE, everything
from game import CONTROLLED, catalogue
from logged import fates, reasons
from pyspark.sql import Row, SparkSession
from pyspark.sql import functions as F
from typed import parity
from witness import Witness

from batch_layer.recompute import recompute
from ingestion.ingest import ingest
from lakehouse.lake import Lake, create_lake
from lakehouse.settings import Serving, Settings, Stream, load_settings
from pipelines.game.results.active_players import ERROR
from serving.pins import LAYERS, Layer
from serving.reader import Reader
from serving.views import view
from simulator.delivered import Delivered
from simulator.game import simulate
from speed_layer.legacy import legacy
from speed_layer.stream import stream
from transformations.durations import iso
from transformations.result import Result

INGESTED_AT = datetime(2026, 3, 5, tzinfo=UTC)
RESULTS = catalogue()
SETTINGS: Settings = load_settings().model_copy(update={"stream": Stream(commits_per_batch=1)})


@pytest.fixture(scope="module")
def landing(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("simulated") / "landing"


@pytest.fixture(scope="module")
def delivered(landing: Path) -> Delivered:
    return simulate(landing, events=3000, seed=11, hours=6, files=6)


@pytest.fixture(scope="module")
def witness(landing: Path, delivered: Delivered) -> Witness:
    assert delivered.late > 0 < delivered.skewed, "a delivery without these would prove little"
    return Witness(landing, ingested_at=round(INGESTED_AT.timestamp() * 1000))


@pytest.fixture(scope="module")
def lake(spark: SparkSession, landing: Path, delivered: Delivered, tmp_path_factory: pytest.TempPathFactory) -> Lake:
    """A lake into which all was ingested, streamed and recomputed."""
    assert delivered.files == 6
    lake = create_lake(tmp_path_factory.mktemp("witnessed") / "lake")
    ingest(spark, lake, landing, SETTINGS, files_per_batch=2, clock=lambda: INGESTED_AT)
    stream(spark, lake, list(RESULTS.values()), SETTINGS)
    for result in RESULTS.values():
        recompute(spark, lake, result, SETTINGS)
    legacy(spark, lake, SETTINGS, answers=[RESULTS[name] for name in CONTROLLED])
    return lake


@pytest.fixture(scope="module")
def reader(lake: Lake) -> Iterator[Reader]:
    with Reader(lake, SETTINGS.model_copy(update={"serving": Serving(clear_ids=True)})) as opened:
        yield opened


FEW = {
    "level_ups": 0,
    "active_players": 3,
    "click_through": 3,
    "hot_minutes": 5,
    "offer_outcomes": 50,
    "pop_streaks": 2,
    "league_scores": 30,
}
"""How many settled rows a result has at least; all others have more than a hundred."""


def rows(spark: SparkSession, lake: Lake, result: Result, layer: Layer, *, settled: bool) -> list[tuple[object, ...]]:
    """The rows of a layer as the witness writes them: key, start of the window, values; times in milliseconds."""
    shown = view(spark, lake, result, SETTINGS, layer=layer, settled_only=settled)
    times = {field.name for field in result.schema if field.dataType.typeName() == "timestamp"}
    exact = [name for name, error in result.errors.items() if not error]
    names = [*result.key, "window_start", *exact]
    return [tuple(row) for row in shown.select(*(F.unix_millis(n) if n in times else n for n in names)).collect()]


@pytest.mark.parametrize("layer", ["kappa", "batch"])
@pytest.mark.parametrize("name", RESULTS)
def test_every_settled_row_is_what_the_witness_says(
    spark: SparkSession, lake: Lake, witness: Witness, name: str, layer: Layer
) -> None:
    said = witness.settled(name, witness.rows(name))
    assert len(said) > FEW.get(name, 100), "too few rows to compare"
    assert rows(spark, lake, RESULTS[name], layer, settled=True) == said


@pytest.mark.parametrize("name", RESULTS)
def test_batch_agrees_on_the_open_rows_too(spark: SparkSession, lake: Lake, witness: Witness, name: str) -> None:
    assert rows(spark, lake, RESULTS[name], "batch", settled=False) == witness.rows(name)


@pytest.mark.parametrize("name", RESULTS)
def test_a_reader_without_a_jvm_sees_what_spark_sees(
    spark: SparkSession, lake: Lake, reader: Reader, name: str
) -> None:
    """Every result, with its derived columns: here is the one lake in which all of them ran."""
    for layer in ("kappa", "lambda"):
        shown = view(spark, lake, RESULTS[name], SETTINGS, layer=layer)
        expected = [tuple(map(zoned, row)) for row in shown.collect()]
        found = reader.answer(name, layer).rows
        assert list(zip(*(found[column].to_pylist() for column in shown.columns), strict=True)) == expected
    in_flight = len(reader.answer(name, settled=False).rows)
    settled = view(spark, lake, RESULTS[name], SETTINGS, layer="kappa", settled_only=True).count()
    assert settled + in_flight == len(reader.answer(name).rows)
    assert settled > FEW.get(name, 100)


@pytest.mark.parametrize("name", RESULTS)
def test_parity_show_prints_what_spark_sees(spark: SparkSession, lake: Lake, name: str) -> None:
    """Every result, as every layer answers it: here is the one lake in which all of them ran."""
    for layer in LAYERS:
        shown = view(spark, lake, RESULTS[name], SETTINGS, layer=layer)
        expected = [{column: printed(value) for column, value in row.asDict().items()} for row in shown.collect()]
        done = parity("show", name, "--lake", lake.path, "--layer", layer, "--format", "jsonl")
        assert done.exit_code == 0, done.stderr
        assert [json.loads(line) for line in done.stdout.splitlines()] == expected
        assert expected, "nothing was compared"
        assert ("Spark starts" in done.stderr) == (layer == "legacy" and name not in CONTROLLED)


@pytest.mark.parametrize("limit", ["20", "0"])
@pytest.mark.parametrize("name", RESULTS)
def test_the_table_of_every_result_fits_80_columns(lake: Lake, name: str, limit: str) -> None:
    done = parity("show", name, "--lake", lake.path, "--layer", "lambda", "--limit", limit)
    assert max(map(len, done.stdout.rstrip().splitlines())) <= 80
    assert done.stdout.rstrip().endswith(
        " rows; --limit 0 shows all" if " of " in done.stdout.splitlines()[-1] else " rows"
    )


def printed(value: object) -> object:
    """A value as JSON has it."""
    return iso(value.replace(tzinfo=UTC)) if isinstance(value, datetime) else value


def zoned(value: object) -> object:
    return value.replace(tzinfo=UTC) if isinstance(value, datetime) else value


@pytest.mark.parametrize("layer", ["kappa", "batch"])
def test_a_sketch_is_within_its_error_of_the_exact_count(spark: SparkSession, lake: Lake, layer: Layer) -> None:
    hours = view(spark, lake, RESULTS["active_players"], SETTINGS, layer=layer).collect()
    assert len(hours) > 3
    for hour in hours:
        assert abs(hour.estimate - hour.players) <= ERROR * hour.players
        until_then = [
            other.estimate for other in hours if same_day(other, hour) and other.window_end <= hour.window_end
        ]
        assert max(until_then) * (1 - ERROR) <= hour.day_estimate <= sum(until_then) * (1 + ERROR)


def same_day(one: Row, other: Row) -> bool:
    return bool(one.window_start.date() == other.window_start.date())


SHOWN = (
    "a clock is wrong at 30 s already",
    "a fast clock is right",
    "finer digits are rounded",
    "the last copy wins",
    "ties slide in the order of arrival",
    "ties streak in the order of arrival",
    "of two changes the lesser id holds",
)
"""Rules for what an ordinary day hardly has; the landing of edges shows all (test_edges_are_seen.py)."""


@pytest.fixture(scope="module")
def right(landing: Path, delivered: Delivered) -> list[object]:
    assert delivered.files == 6
    return list(everything(landing, SOURCE))


@pytest.mark.parametrize("change", SHOWN)
def test_the_day_is_judged_on_its_edges(landing: Path, right: list[object], change: str) -> None:
    """With another rule the witness says something else of this very day: whoever agrees with it has the rule."""
    old, new = CHANGES[change]
    changed = everything(landing, SOURCE.replace(old, new))
    assert any(one != other for one, other in zip(changed, right, strict=True)), "nothing in the day shows it"


def test_ingestion_has_as_many_lines_of_each_fate_as_the_witness_counts(lake: Lake, witness: Witness) -> None:
    counts = witness.counts()
    assert fates(lake) == {name: counts[name] for name in ("events", "duplicates", "quarantine")}
    assert reasons(lake)["copy of an event with other content"] == counts["conflicts"] > 0


def test_the_witness_agrees_with_the_world_outside(delivered: Delivered, witness: Witness) -> None:
    assert witness.counts() == {
        "events": delivered.events,
        "duplicates": delivered.duplicates,
        "quarantine": delivered.quarantined,
        "conflicts": delivered.conflicting_copies,
    }
