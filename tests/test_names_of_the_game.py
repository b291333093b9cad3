"""The game is one pipeline among others: nothing but the game itself names a kind, a result or a column of it."""

import re
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest
from game import GAME, catalogue

PROJECT = Path(__file__).parent.parent
ITS_OWN = (f"pipelines/{GAME.name}/", f"simulator/{GAME.name}/", "tests/")
"""The game, and tests, most of which are of it."""
YET = ("docs/", "README.md", "benchmarks/", "notebooks/")
"""Where the game is still spoken of."""
WORDS = {
    *("before", "change", "estimate", "event_id", "events", "first_at", "greatest", "last_at", "mean", "median"),
    *("offers", "p95", "p99", "sketch", "smallest"),
}
"""Columns of the game whose names are words that others need too."""


def columns() -> Iterator[str]:
    for result in catalogue().values():
        derived = result.derived.values if result.derived else ()
        yield from (*result.key, *(value.name for value in (*result.values, *derived)))


NAMES = sorted(
    {*GAME.declared, *GAME.fields(), *(kind.name for kind in GAME.kinds), *columns()} - {"heartbeat"} - WORDS
)


def files() -> list[str]:
    tracked = subprocess.run(["git", "ls-files"], cwd=PROJECT, capture_output=True, text=True, check=True)
    return [file for file in tracked.stdout.splitlines() if not file.startswith((*ITS_OWN, *YET))]


def named_in(text: str) -> set[str]:
    return {found[0] for found in re.finditer(rf"(?<![A-Za-z0-9])({'|'.join(NAMES)})(?![A-Za-z0-9])", text)}


def offenders(among: list[str]) -> dict[str, list[str]]:
    found = {file: sorted(named_in((PROJECT / file).read_text(errors="replace"))) for file in among}
    return {file: names for file, names in found.items() if names}


def test_nothing_else_names_anything_of_the_game() -> None:
    assert offenders(files()) == {}


@pytest.mark.parametrize("place", YET)
def test_a_place_that_names_nothing_of_it_any_more_is_looked_at_like_the_others(place: str) -> None:
    tracked = subprocess.run(["git", "ls-files", place], cwd=PROJECT, capture_output=True, text=True, check=True)
    assert offenders(tracked.stdout.splitlines()), f"{place} can be left out of the list"


def test_a_name_is_found_within_others() -> None:
    assert named_in("kappa_team_scores@1, `player_id`, streak") == {"team_scores", "player_id", "streak"}
    assert not named_in("colleague, teams_scores, streaks")


def test_only_columns_are_taken_for_words_of_others() -> None:
    assert {*columns()} | {"event_id"} >= WORDS
