"""The values of both results by hand. Every test runs over a static frame and over a stream of two commits."""

from collections.abc import Iterator
from datetime import timedelta
from itertools import count
from pathlib import Path
from typing import Any

import pytest
from deliveries import START
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F

from pipelines.game.results.level_ups import level_ups
from pipelines.game.results.team_scores import team_scores
from transformations.durations import to_millis
from transformations.result import Result

RESULTS = {"team_scores": team_scores(), "level_ups": level_ups()}

COLUMNS = "event_id string, kind string, player_id string, team_id string, bubbles int, event_time timestamp"
Answer = dict[tuple[str, int], tuple[Any, ...]]
"""The values of each team and window; a window is named by its start in seconds, and so are times among the values."""
_ids = (f"id-{number:03d}" for number in count())


def pop(
    team: str, seconds: float, bubbles: int, *, player: str = "alice", event_id: str | None = None
) -> tuple[object, ...]:
    moment = START + timedelta(milliseconds=round(seconds * 1000))
    return (event_id or next(_ids), "bubbles_popped", player, team, bubbles, moment)


FIRST_COMMIT = [
    pop("blue", 0, 5),
    pop("blue", 59.999, -2),
    pop("blue", 60, 4, player="carol"),
    pop("only corrections", 10, -5),
    pop("only corrections", 20, -7),
    pop("beyond 32 bits", 10, 2**31 - 1),
    pop("beyond 32 bits", 20, 2**31 - 1, player="bob"),
    ("shown", "offer_shown", "alice", None, None, START),
    ("beat", "heartbeat", None, None, None, START),
    pop("reached and sunk", 30, -200),
    pop("reached and sunk", 20, 250),
    pop("reached and sunk", 10, 300),
    pop("just reached", 10, 499),
    pop("just reached", 20, 1),
    pop("never reached", 10, 499),
    pop("two halves", 50, 300),
    pop("two halves", 61, 300),
    pop("tie, correction first", 10, 500, event_id="tie-1-b"),
    pop("tie, correction first", 10, -300, event_id="tie-1-a"),
    pop("tie, correction first", 5, 299),
    pop("tie, correction second", 10, -300, event_id="tie-2-b"),
    pop("tie, correction second", 10, 500, event_id="tie-2-a"),
    pop("tie, correction second", 5, 299),
    pop("undone by an earlier one", 30, 500),
    pop("reached sooner", 30, 500),
]
SECOND_COMMIT = [
    pop("blue", 30, 7, player="bob"),
    pop("undone by an earlier one", 20, -1),
    pop("reached sooner", 10, 500),
    pop("two halves", 119.999, 200),
]


@pytest.fixture(scope="module")
def log(spark: SparkSession, tmp_path_factory: pytest.TempPathFactory) -> str:
    path = str(tmp_path_factory.mktemp("log") / "events")
    for commit in (FIRST_COMMIT, SECOND_COMMIT):
        spark.createDataFrame(commit, COLUMNS).coalesce(1).write.format("delta").mode("append").save(path)
    return path


@pytest.fixture(scope="module", params=["static", "stream"])
def answers(
    request: pytest.FixtureRequest, spark: SparkSession, log: str, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[dict[str, Answer]]:
    """The answer of every result, in one of the two modes of execution."""
    if request.param == "static":
        events = spark.read.format("delta").load(log)
        yield {name: collected(result.of(events), result) for name, result in RESULTS.items()}
    else:
        checkpoints = tmp_path_factory.mktemp("checkpoints")
        yield {name: streamed(spark, log, result, checkpoints / name) for name, result in RESULTS.items()}


def streamed(spark: SparkSession, log: str, result: Result, checkpoint: Path) -> Answer:
    """The last revision of every row of the result, without those that are not present."""
    source = spark.readStream.format("delta").option("maxFilesPerTrigger", 1).option("startingVersion", 0).load(log)
    batches: list[Answer] = []
    absent: list[Answer] = []

    def keep(rows: DataFrame, _batch: int) -> None:
        rows = rows.persist()
        absent.append(collected(rows.where(~F.expr(result.present)), result))
        batches.append(collected(rows.where(result.present), result))

    revisions = result.computed(result.placed(source.withWatermark("event_time", "1 hour")))
    writer = revisions.writeStream.outputMode("update").option("checkpointLocation", str(checkpoint))
    writer.foreachBatch(keep).trigger(availableNow=True).start().awaitTermination()
    assert len([batch for batch in batches if batch]) == 2, "the stream was to see two micro-batches"
    answer: Answer = {}
    for present, gone in zip(batches, absent, strict=True):
        answer = {key: values for key, values in answer.items() if key not in gone} | present
    return answer


def collected(rows: DataFrame, result: Result) -> Answer:
    times = {field.name for field in result.schema if field.dataType.typeName() == "timestamp"}
    shown = [F.unix_millis(name).alias(name) if name in times else name for name in result.columns]

    def seconds(name: str, value: Any) -> Any:
        return (value - to_millis(START)) / 1000 if name in times and value is not None else value

    answer: Answer = {}
    for row in rows.select(*shown).collect():
        values = {name: seconds(name, row[name]) for name in result.columns}
        assert values["window_end"] - values["window_start"] == 60
        key = (row.team_id, int(values["window_start"]))
        assert key not in answer, f"two rows for {key}"
        answer[key] = tuple(values[name] for name in result.value_names)
    return answer


def of_team(answer: Answer, team: str) -> dict[int, tuple[Any, ...]]:
    return {window: values for (name, window), values in answer.items() if name == team}


def test_a_score_is_sum_count_extremes_and_distinct_players(answers: dict[str, Answer]) -> None:
    assert answers["team_scores"]["blue", 0] == (10, 3, -2, 7, 2)


def test_an_event_at_the_end_of_a_window_belongs_to_the_next_one(answers: dict[str, Answer]) -> None:
    assert of_team(answers["team_scores"], "blue") == {0: (10, 3, -2, 7, 2), 60: (4, 1, 4, 4, 1)}


def test_a_score_of_corrections_alone_is_negative(answers: dict[str, Answer]) -> None:
    assert of_team(answers["team_scores"], "only corrections") == {0: (-12, 2, -7, -5, 1)}


def test_a_sum_may_exceed_32_bits(answers: dict[str, Answer]) -> None:
    assert answers["team_scores"]["beyond 32 bits", 0] == (2**32 - 2, 2, 2**31 - 1, 2**31 - 1, 2)


def test_other_kinds_score_nothing(answers: dict[str, Answer]) -> None:
    pops = {event[3] for event in FIRST_COMMIT + SECOND_COMMIT if event[1] == "bubbles_popped"}
    assert {team for team, _ in answers["team_scores"]} == pops


def test_a_level_up_stands_though_the_sum_sinks_again(answers: dict[str, Answer]) -> None:
    assert of_team(answers["level_ups"], "reached and sunk") == {0: (20,)}


def test_500_bubbles_are_enough(answers: dict[str, Answer]) -> None:
    assert of_team(answers["level_ups"], "just reached") == {0: (20,)}


def test_499_bubbles_are_not(answers: dict[str, Answer]) -> None:
    assert of_team(answers["level_ups"], "never reached") == {}


def test_a_sum_starts_anew_in_each_window(answers: dict[str, Answer]) -> None:
    assert of_team(answers["level_ups"], "two halves") == {60: (119.999,)}


def test_of_two_pops_at_one_time_the_lesser_id_comes_first(answers: dict[str, Answer]) -> None:
    assert of_team(answers["level_ups"], "tie, correction first") == {}
    assert of_team(answers["level_ups"], "tie, correction second") == {0: (10,)}


def test_a_level_up_vanishes_when_an_earlier_correction_arrives(answers: dict[str, Answer]) -> None:
    assert of_team(answers["level_ups"], "undone by an earlier one") == {}


def test_a_level_up_moves_when_an_earlier_pop_arrives(answers: dict[str, Answer]) -> None:
    assert of_team(answers["level_ups"], "reached sooner") == {0: (10,)}


def test_no_other_team_levels_up(answers: dict[str, Answer]) -> None:
    assert {team for team, _ in answers["level_ups"]} == {
        "beyond 32 bits",
        "reached and sunk",
        "just reached",
        "two halves",
        "tie, correction second",
        "reached sooner",
    }
