"""The view that folds a changelog: which revision of a row wins, and what a reader does not see."""

import random
from collections.abc import Iterator, Sequence
from datetime import timedelta
from functools import reduce
from typing import Any

import pytest
from deliveries import START
from game import catalogue
from interleavings import SIZE, Interleaving, newest_wins
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F
from pyspark.sql.types import LongType, TimestampType

from pipelines.game.results.team_scores import team_scores
from transformations.changelog import changelog_schema, kappa_view, ranking, unsuperseded
from transformations.result import Result

RESULT = team_scores()


def changelog(spark: SparkSession, rows: Sequence[dict[str, Any]]) -> DataFrame:
    """Rows of the changelog of `team_scores`; windows are named by their number."""
    schema = changelog_schema(RESULT)

    def complete(row: dict[str, Any]) -> tuple[Any, ...]:
        start = START + timedelta(seconds=SIZE * row.get("window", 0))
        told = {
            "window_start": start,
            "window_end": start + timedelta(seconds=SIZE),
            "epoch": 1,
            "deleted": False,
            **row,
        }
        return tuple(told.get(name) for name in schema.names)

    return spark.createDataFrame([complete(row) for row in rows], schema).repartition(2)


def revision(team: str, bubbles: int, version: int, *, cause: str = "on_time", **more: Any) -> dict[str, Any]:
    return {"team_id": team, "bubbles": bubbles, "log_version": version, "cause": cause, **more}


ROWS = [
    revision("only the engine", 1, 1),
    revision("only the engine", 3, 3),
    revision("only the engine", 2, 2),
    revision("repaired", 5, 2, cause="late"),
    revision("repaired", 9, 4),
    revision("repaired in the same batch", 5, 2, cause="late"),
    revision("repaired in the same batch", 9, 2),
    revision("repaired twice", 6, 4, cause="late"),
    revision("repaired twice", 5, 2, cause="late"),
    revision("repaired twice", 9, 5),
    revision("vanished", 500, 1),
    revision("vanished", 499, 3, cause="late", deleted=True),
    revision("vanished and back", 499, 3, cause="late", deleted=True),
    revision("vanished and back", 501, 4, cause="late"),
    revision("vanished in the engine", 500, 1),
    revision("vanished in the engine", 499, 2, deleted=True),
    revision("of two epochs", 1, 1, epoch=2, cause="late"),
    revision("of two epochs", 7, 1),
    revision("of another epoch", 1, 1, epoch=2),
    revision("later than the pin", 3, 3),
    revision("later than the pin", 8, 6),
    revision("repaired later than the pin", 3, 3),
    revision("repaired later than the pin", 8, 6, cause="late"),
    revision("only later than the pin", 8, 6, cause="late"),
    revision("two windows", 1, 1, window=0),
    revision("two windows", 2, 1, window=1),
]


@pytest.fixture(scope="module")
def views(spark: SparkSession) -> dict[str, dict[str, list[int]]]:
    """The bubbles that a reader sees of each team: of the live epoch 1 at version 5, and of epoch 2."""
    table = changelog(spark, ROWS)
    live = kappa_view(table, RESULT, epoch=1, log_version=5).withColumn("view", F.lit("live"))
    other = kappa_view(table, RESULT, epoch=2, log_version=5).withColumn("view", F.lit("other"))
    found: dict[str, dict[str, list[int]]] = {"live": {}, "other": {}}
    for row in live.unionByName(other).orderBy("window_start").collect():
        found[row["view"]].setdefault(row.team_id, []).append(row.bubbles)
    return found


@pytest.mark.parametrize(
    ("team", "bubbles"),
    [
        ("only the engine", 3),
        ("repaired", 5),
        ("repaired in the same batch", 5),
        ("repaired twice", 6),
        ("vanished and back", 501),
    ],
)
def test_a_repair_outranks_the_engine_and_among_equals_the_greatest_version_wins(
    views: dict[str, dict[str, list[int]]], team: str, bubbles: int
) -> None:
    assert views["live"][team] == [bubbles]


@pytest.mark.parametrize("team", ["vanished", "vanished in the engine"])
def test_what_vanished_is_not_shown(views: dict[str, dict[str, list[int]]], team: str) -> None:
    assert team not in views["live"]


def test_rows_of_other_epochs_are_invisible(views: dict[str, dict[str, list[int]]]) -> None:
    assert views["live"]["of two epochs"] == [7]
    assert "of another epoch" not in views["live"]
    assert views["other"] == {"of two epochs": [1], "of another epoch": [1]}


def test_rows_beyond_the_pinned_version_are_invisible(views: dict[str, dict[str, list[int]]]) -> None:
    assert views["live"]["later than the pin"] == [3]
    assert views["live"]["repaired later than the pin"] == [3]
    assert "only later than the pin" not in views["live"]


def test_each_window_has_its_own_row(views: dict[str, dict[str, list[int]]]) -> None:
    assert views["live"]["two windows"] == [1, 2]


def test_in_the_model_the_precedence_is_right_and_that_of_the_newest_row_is_not() -> None:
    wrong = {"repairs outrank": 0, "newest wins": 0}
    for seed in range(300):
        model = Interleaving(seed)
        for version in model.boundaries:
            right = model.right(version)
            wrong["repairs outrank"] += model.settled_part(model.view(version), version) != right
            wrong["newest wins"] += model.settled_part(model.view(version, newest_wins), version) != right
    assert wrong["repairs outrank"] == 0
    assert wrong["newest wins"] > 0


def test_the_view_follows_the_model_at_every_version_of_random_interleavings(spark: SparkSession) -> None:
    models = {f"model {seed}": Interleaving(seed) for seed in range(12)}
    table = changelog(
        spark,
        [
            revision(name, row.total, row.version, cause=row.cause, deleted=row.deleted, window=row.window)
            for name, model in models.items()
            for row in model.changelog
        ],
    )
    last = max(model.last for model in models.values())
    pinned = [
        kappa_view(table, RESULT, epoch=1, log_version=version).select(
            F.lit(version).alias("version"), "team_id", "bubbles", (F.unix_seconds("window_start")).alias("start")
        )
        for version in range(last + 1)
    ]
    seen: dict[tuple[str, int], dict[int, int]] = {}
    for row in reduce(DataFrame.union, pinned).collect():
        window = (row.start - int(START.timestamp())) // SIZE
        seen.setdefault((row.team_id, row.version), {})[window] = row.bubbles
    repaired = [row for model in models.values() for row in model.changelog if row.cause == "late"]
    assert any(row.deleted for row in repaired), "no interleaving made a result vanish"
    for name, model in models.items():
        for version in range(last + 1):
            view = seen.get((name, version), {})
            assert view == model.view(version), (name, version)
            if version in model.boundaries:
                assert model.settled_part(view, version) == model.right(version), (name, version)


FOLD_POINT, LAST = 4, 7
FOLDED = ["team_scores", "level_ups", "player_sessions", "offer_outcomes", "hot_minutes", "lifetime_totals"]
"""A window, one that can vanish, sessions, a join that prefers, one that is recomputed, one without an end."""


def any_changelog(result: Result, rng: random.Random) -> Iterator[tuple[Any, ...]]:
    """Revisions of a few keys in any order, each once: what a stream could have written, and more than that."""
    causes = ["on_time", "late"] if result.way == "engine" else ["recompute"]
    for place in range(12):
        start = START + timedelta(seconds=SIZE * (place % 3))
        for cause in causes:
            for epoch, version in [(1, version) for version in range(1, LAST + 1)] + [(2, 3)]:
                if rng.random() < 0.4:
                    continue
                longer = 0 if result.window.ends_by_itself else rng.choice([0, 3, 12])
                told: dict[str, Any] = dict.fromkeys(result.key, f"key {place // 3}")
                for value in result.values:
                    if isinstance(value.type, TimestampType):
                        told[value.name] = rng.choice([None, START + timedelta(seconds=rng.randrange(9))])
                    elif isinstance(value.type, LongType):
                        told[value.name] = rng.randrange(1000)
                told |= {"window_start": start, "window_end": start + timedelta(seconds=SIZE + longer)}
                told |= {"cause": cause, "epoch": epoch, "log_version": version, "deleted": rng.random() < 0.2}
                yield tuple(told.get(name) for name in changelog_schema(result).names)


@pytest.mark.parametrize("name", FOLDED)
def test_without_superseded_revisions_every_view_from_then_on_is_the_same(spark: SparkSession, name: str) -> None:
    result, rng = catalogue()[name], random.Random(name)
    rows = list(any_changelog(result, rng))
    schema = changelog_schema(result)
    if result.key and not isinstance(schema[result.key[-1]].dataType, type(schema["cause"].dataType)):
        pytest.fail(f"{name} has a key that is no text")
    table = spark.createDataFrame(rows, schema).repartition(2).persist()
    before = START + timedelta(seconds=2 * SIZE)
    kept = unsuperseded(table, result, epoch=1, log_version=FOLD_POINT, settled_before=before).persist()
    views = []
    for side, changelog_ in (("before", table), ("after", kept)):
        for version in range(FOLD_POINT, LAST + 1):
            for kind, part in (("all", changelog_), ("alone", changelog_.where("cause = 'on_time'"))):
                found = ranking(part, result, epoch=1, log_version=version)
                views.append(found.select(F.lit(side), F.lit(kind), F.lit(version).alias("at"), *schema.names))
    seen: dict[str, set[tuple[Any, ...]]] = {"before": set(), "after": set()}
    for side, *row in reduce(DataFrame.union, views).collect():
        assert tuple(row) not in seen[side]
        seen[side].add(tuple(row))
    assert seen["before"] == seen["after"] and len(seen["before"]) > 20
    left = {tuple(row) for row in kept.collect()}
    gone = {tuple(row) for row in table.collect()} - left
    place = {name: schema.names.index(name) for name in ("epoch", "log_version", "window_end")}
    assert len(left) == kept.count() and len(gone) > 5
    for row in gone:
        assert row[place["epoch"]] == 1 and row[place["log_version"]] <= FOLD_POINT
        assert result.window.endless or row[place["window_end"]] <= before.replace(tzinfo=None)


def test_a_revision_that_was_written_twice_stays_twice(spark: SparkSession) -> None:
    rows = [revision("blue", 1, 1), revision("blue", 1, 1), revision("blue", 2, 2), revision("blue", 3, 3)]
    kept = unsuperseded(
        changelog(spark, rows), RESULT, epoch=1, log_version=3, settled_before=START + timedelta(seconds=SIZE)
    )
    assert sorted(row.log_version for row in kept.collect()) == [1, 1, 3]
