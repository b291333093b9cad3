"""The batch layer: intervals, pinned versions, failures half-way; and the view that merges it with the speed layer."""

import shutil
from collections.abc import Callable
from datetime import timedelta
from pathlib import Path
from typing import Any, NoReturn

import pytest
from deliveries import START, heartbeat, land, pop
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F
from typer.testing import CliRunner

import batch_layer.recompute
from batch_layer.recompute import recompute
from cli.main import app
from ingestion.ingest import ingest
from lakehouse.arrivals import ARRIVALS
from lakehouse.batches import Coverage, Interval, batch_name, coverage, refuse_going_back, run_at, with_run
from lakehouse.commits import newest
from lakehouse.errors import GoesBack, NothingToCompare, ParityError, SettingsChanged
from lakehouse.lake import Lake, create_lake
from lakehouse.log import Position, position
from lakehouse.settings import Lateness, load_settings
from lakehouse.tables import read_table
from pipelines.game.results.team_scores import team_scores
from serving.pins import cut_off
from serving.views import view
from speed_layer.stream import stream
from transformations.durations import to_millis
from transformations.result import Result

RESULT = team_scores()
SETTINGS = load_settings()

# One commit of the log each: versions 1, 2 and 3. Windows are a minute, 5 minutes are allowed.
COMMITS = {
    "1.jsonl": [pop("a", 0, bubbles=1), pop("b", 60, bubbles=2), pop("c", 120, bubbles=3)],
    "2.jsonl": [heartbeat("beat", 430)],  # settles all that ends until 130 s
    "3.jsonl": [pop("late", 10, bubbles=10), pop("too", 70, bubbles=20), pop("open", 125, bubbles=30), pop("d", 435)],
}


def moment(seconds: float) -> Any:
    return START + timedelta(seconds=seconds)


def bubbles(rows: DataFrame) -> dict[int, int]:
    """The bubbles of each window, which is named by its start in seconds."""
    shown = rows.select(F.unix_millis("window_start").alias("start"), "bubbles").collect()
    found = {(row.start - to_millis(START)) // 1000: row.bubbles for row in shown}
    assert len(found) == len(shown), "two rows for one window"
    return found


def stored(spark: SparkSession, lake: Lake) -> dict[int, tuple[int, int]]:
    """Bubbles and log version of each window in the batch table."""
    columns = ["unix_millis(window_start) as start", "bubbles", "log_version"]
    rows = read_table(spark, lake, batch_name(RESULT)).selectExpr(*columns).collect()
    return {(row.start - to_millis(START)) // 1000: (row.bubbles, row.log_version) for row in rows}


@pytest.fixture(scope="module")
def log(spark: SparkSession, tmp_path_factory: pytest.TempPathFactory) -> Lake:
    base = tmp_path_factory.mktemp("log")
    (base / "landing").mkdir()
    for name, lines in COMMITS.items():
        land(base / "landing", name, lines)
    lake = create_lake(base / "lake")
    ingest(spark, lake, base / "landing", SETTINGS, files_per_batch=1)
    return lake


@pytest.fixture
def lake(log: Lake, tmp_path: Path) -> Lake:
    """A lake with a log of three commits, and nothing else."""
    return Lake(shutil.copytree(log.path, tmp_path / "lake"))


def test_everything_is_computed_at_the_newest_version(spark: SparkSession, lake: Lake) -> None:
    assert recompute(spark, lake, RESULT, SETTINGS) == 3
    assert stored(spark, lake) == {0: (11, 3), 60: (22, 3), 120: (33, 3), 420: (1, 3)}


def test_the_version_of_the_log_can_be_pinned(spark: SparkSession, lake: Lake) -> None:
    assert recompute(spark, lake, RESULT, SETTINGS, log_version=1) == 1
    assert stored(spark, lake) == {0: (1, 1), 60: (2, 1), 120: (3, 1)}


def test_an_interval_replaces_its_windows_only(spark: SparkSession, lake: Lake) -> None:
    recompute(spark, lake, RESULT, SETTINGS, log_version=1)
    recompute(spark, lake, RESULT, SETTINGS, interval=Interval(moment(60), moment(120)))
    assert stored(spark, lake) == {0: (1, 1), 60: (22, 3), 120: (3, 1)}
    recompute(spark, lake, RESULT, SETTINGS, interval=Interval(moment(120), None))
    assert stored(spark, lake) == {0: (1, 1), 60: (22, 3), 120: (33, 3), 420: (1, 3)}


def test_an_interval_takes_the_windows_that_start_in_it(spark: SparkSession, lake: Lake) -> None:
    """And all of them: one that reaches beyond its end is not cut."""
    recompute(spark, lake, RESULT, SETTINGS, interval=Interval(moment(1), moment(121)))
    assert stored(spark, lake) == {60: (22, 3), 120: (33, 3)}


def test_an_interval_without_events_becomes_empty(spark: SparkSession, lake: Lake) -> None:
    recompute(spark, lake, RESULT, SETTINGS)
    recompute(spark, lake, RESULT, SETTINGS, interval=Interval(moment(60), None), log_version=0, go_back=True)
    assert stored(spark, lake) == {0: (11, 3)}


def test_an_interval_that_ends_before_it_starts_is_refused() -> None:
    with pytest.raises(ParityError, match="Give --from a time before --to"):
        Interval(moment(60), moment(60))


@pytest.mark.parametrize("version", [4, -1])
def test_an_unknown_version_of_the_log_is_refused(spark: SparkSession, lake: Lake, version: int) -> None:
    with pytest.raises(ParityError, match=f"The log has no version {version}; it has 0 to 3"):
        recompute(spark, lake, RESULT, SETTINGS, log_version=version)
    assert not lake.has(batch_name(RESULT))


def test_other_settings_than_those_of_the_lake_are_refused(spark: SparkSession, lake: Lake) -> None:
    recompute(spark, lake, RESULT, SETTINGS)
    other = SETTINGS.model_copy(update={"lateness": Lateness(allowed=timedelta(minutes=1))})
    with pytest.raises(SettingsChanged, match="the lake has '5 minutes', the settings say '1 minute'"):
        recompute(spark, lake, RESULT, other)


def seconds(first: int | None, end: int | None) -> Interval:
    return Interval(*(None if each is None else moment(each) for each in (first, end)))


@pytest.mark.parametrize(
    ("first", "then", "refused"),
    [
        ([(None, None, 3)], (None, None, 2), True),
        ([(None, None, 3)], (0, 60, 1), True),
        ([(0, 60, 3)], (None, None, 2), True),
        ([(None, None, 1), (60, 120, 3)], (0, 61, 2), True),
        ([(None, None, 1), (60, 120, 3)], (119, None, 2), True),
        ([(None, None, 1), (60, 120, 3)], (None, 60, 2), False),
        ([(None, None, 1), (60, 120, 3)], (120, 180, 2), False),
        ([(60, 120, 3), (None, None, 3), (60, 120, 2)], (60, 120, 2), False),
        ([(None, None, 2)], (0, 60, 2), False),
    ],
    ids=[
        "all again",
        "a part",
        "all, of which a part is later",
        "one that reaches into a later part",
        "one that begins in a later part",
        "one that ends where a later part begins",
        "one that begins where a later part ends",
        "one whose later rows are replaced already",
        "the same version",
    ],
)
def test_a_run_that_would_go_back_in_time_is_refused(
    first: list[tuple[int | None, int | None, int]], then: tuple[int | None, int | None, int], refused: bool
) -> None:
    def run(start: int | None, end: int | None, version: int) -> Coverage:
        return run_at(seconds(start, end), Position(version), version)

    covered: list[Coverage] = []
    for each in first:
        covered = with_run(run(*each), covered)
    if refused:
        with pytest.raises(GoesBack, match=r"later version of the log than \d .*at 3.*Nothing was written.*--go-back"):
            refuse_going_back(RESULT, run(*then), covered)
    else:
        refuse_going_back(RESULT, run(*then), covered)


def test_a_refused_run_writes_nothing_and_one_that_is_told_to_goes_back(spark: SparkSession, lake: Lake) -> None:
    recompute(spark, lake, RESULT, SETTINGS)
    before, version = stored(spark, lake), newest(lake, batch_name(RESULT))
    with pytest.raises(GoesBack):
        recompute(spark, lake, RESULT, SETTINGS, interval=seconds(60, 120), log_version=1)
    assert (stored(spark, lake), newest(lake, batch_name(RESULT))) == (before, version)
    recompute(spark, lake, RESULT, SETTINGS, interval=seconds(60, 120), log_version=1, go_back=True)
    assert stored(spark, lake) == before | {60: (2, 1)}


def test_a_run_that_is_overtaken_by_a_later_one_is_refused_when_it_wants_to_write(
    spark: SparkSession, lake: Lake, monkeypatch: pytest.MonkeyPatch
) -> None:
    def overtaken(*_: object) -> None:
        monkeypatch.undo()
        recompute(spark, lake, RESULT, SETTINGS, interval=seconds(60, None))

    monkeypatch.setattr(batch_layer.recompute, "failpoint", overtaken)
    with pytest.raises(GoesBack):
        recompute(spark, lake, RESULT, SETTINGS, log_version=1)
    assert stored(spark, lake) == {60: (22, 3), 120: (33, 3), 420: (1, 3)}


def test_of_several_results_none_is_written_if_one_is_refused(spark: SparkSession, lake: Lake) -> None:
    recompute(spark, lake, RESULT, SETTINGS)
    done = CliRunner().invoke(
        app, ["recompute", "--lake", str(lake.path), "--result", "game_pulse", "--result", "team_scores",
              "--log-version", "2", "--to", "2026-03-02"],
    )  # fmt: skip
    assert done.exit_code == 2 and "batch_team_scores@1 was computed at a later version of the log" in done.stderr
    assert not lake.has("batch_game_pulse@1")


def test_what_is_covered_is_known_though_the_commits_of_all_runs_but_the_last_are_gone(
    spark: SparkSession, lake: Lake
) -> None:
    for interval, version in ((seconds(None, None), 2), (seconds(60, 120), 3), (seconds(120, 180), 3)):
        recompute(spark, lake, RESULT, SETTINGS, interval=interval, log_version=version)
    before, until = coverage(lake, RESULT), cut_off(RESULT, coverage(lake, RESULT), SETTINGS)
    assert [(run.interval, run.log_version) for run in before] == [
        (seconds(120, 180), 3), (seconds(60, 120), 3), (seconds(None, None), 2),
    ]  # fmt: skip
    for name in (batch_name(RESULT), ARRIVALS):
        for commit in sorted(Path(lake.table(name), "_delta_log").glob("*.json"))[:-1]:
            commit.unlink()
    assert coverage(lake, RESULT) == before and until == moment(135)
    assert cut_off(RESULT, coverage(lake, RESULT), SETTINGS) == until


def stops_before_it_writes(*_: object) -> NoReturn:
    raise RuntimeError("died half-way")


def fails_on_a_row(result: Result, events: DataFrame) -> DataFrame:
    """The result, but with a row whose computation fails."""
    broken = F.when(F.col("window_start") == F.lit(moment(60)), F.raise_error(F.lit("died half-way")))
    return result.computed(result.placed(events)).withColumn(
        "players", F.coalesce(broken.cast("int"), F.col("players"))
    )


@pytest.mark.parametrize(
    "break_it",
    [
        lambda patch: patch.setattr(batch_layer.recompute, "failpoint", stops_before_it_writes),
        lambda patch: patch.setattr(Result, "of", fails_on_a_row),
    ],
    ids=["before it writes", "on a row"],
)
def test_a_failure_half_way_leaves_the_old_result(
    spark: SparkSession, lake: Lake, monkeypatch: pytest.MonkeyPatch, break_it: Callable[[pytest.MonkeyPatch], None]
) -> None:
    recompute(spark, lake, RESULT, SETTINGS, log_version=1)
    before, version = stored(spark, lake), newest(lake, batch_name(RESULT))
    break_it(monkeypatch)
    with pytest.raises(Exception, match="died half-way"):
        recompute(spark, lake, RESULT, SETTINGS)
    assert newest(lake, batch_name(RESULT)) == version
    assert stored(spark, lake) == before


def test_a_layer_that_has_not_run_has_no_view(spark: SparkSession, lake: Lake) -> None:
    for layer in ("batch", "lambda"):
        with pytest.raises(NothingToCompare, match=r"Run `parity recompute`"):
            view(spark, lake, RESULT, SETTINGS, layer=layer)


@pytest.fixture(scope="module")
def both(spark: SparkSession, log: Lake, tmp_path_factory: pytest.TempPathFactory) -> Lake:
    """The stream has caught up; batch ran before the late events came, when all until 130 s was settled."""
    lake = Lake(shutil.copytree(log.path, tmp_path_factory.mktemp("both") / "lake"))
    stream(spark, lake, [RESULT], SETTINGS)
    recompute(spark, lake, RESULT, SETTINGS, log_version=2)
    return lake


def test_the_lambda_view_is_batch_before_the_cut_off_and_kappa_behind_it(spark: SparkSession, both: Lake) -> None:
    def seen(layer: Any) -> dict[int, int]:
        return bubbles(view(spark, both, RESULT, SETTINGS, layer=layer))

    assert cut_off(RESULT, coverage(both, RESULT), SETTINGS) == moment(130)
    assert seen("batch") == {0: 1, 60: 2, 120: 3}
    assert seen("kappa") == {0: 11, 60: 22, 120: 33, 420: 1}
    assert seen("lambda") == {0: 1, 60: 2, 120: 33, 420: 1}


def test_what_is_settled_can_be_asked_for_alone(spark: SparkSession, both: Lake) -> None:
    for layer, settled in (("batch", {0: 1, 60: 2}), ("kappa", {0: 11, 60: 22}), ("lambda", {0: 1, 60: 2})):
        assert bubbles(view(spark, both, RESULT, SETTINGS, layer=layer, settled_only=True)) == settled, layer


@pytest.mark.parametrize(
    ("runs", "reached"),
    [
        ([(None, None, 2)], 130),
        ([(None, None, 1)], -180),
        ([(None, 60, 2)], 60),
        ([(None, 60, 2), (60, None, 2)], 130),
        ([(None, 60, 2), (61, None, 2)], 60),
        ([(None, None, 2), (0, 60, 3)], 130),
        ([(None, None, 2), (None, 60, 3)], 130),
        ([(None, None, 1), (None, None, 3)], 135),
        ([(None, None, 3), (None, None, 1)], -180),
        ([(None, None, 0), (None, None, 2)], 130),
        ([(None, None, 3), (0, 60, 1)], 0),
    ],
    ids=[
        "all",
        "all of an early version",
        "until 60 s",
        "two that meet",
        "two with a gap",
        "a part again",
        "a first part again",
        "all again",
        "all again at an early version",
        "all, after it had run on an empty log",
        "a part again at a version where it was not settled",
    ],
)
def test_the_cut_off_is_the_end_of_what_batch_has_settled_without_a_gap(
    lake: Lake, runs: list[tuple[int | None, int | None, int]], reached: int
) -> None:
    def at(seconds: int | None) -> Any:
        return None if seconds is None else moment(seconds)

    newest_first = [
        run_at(Interval(at(first), at(end)), position(lake, version), version) for first, end, version in reversed(runs)
    ]
    assert cut_off(RESULT, newest_first, SETTINGS) == moment(reached)
