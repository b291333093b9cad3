"""The game is one pipeline among others: what runs every pipeline names no kind, result or field of it."""

import re
import subprocess
from pathlib import Path

import pytest
from game import GAME

PROJECT = Path(__file__).parent.parent
CORE = (
    *(
        "transformations",
        "lakehouse",
        "ingestion",
        "speed_layer",
        "batch_layer",
        "reconciliation",
        "serving",
        "quality",
        "chaos",
        "cli",
    ),
    *("dags", "infra", "parity.toml", "pyproject.toml", "Makefile"),
)
BESIDE = ("simulator",)
"""Where the game has a package of its own, named like it, beside what is everybody's."""
NAMES = sorted({*GAME.declared, *GAME.fields(), *(kind.name for kind in GAME.kinds if kind.name != "heartbeat")})


def files() -> list[str]:
    tracked = subprocess.run(
        ["git", "ls-files", *CORE, *BESIDE], cwd=PROJECT, capture_output=True, text=True, check=True
    )
    own = tuple(f"{folder}/{GAME.name}/" for folder in BESIDE)
    return [file for file in tracked.stdout.splitlines() if not file.startswith(own)]


def named_in(text: str) -> set[str]:
    return {found[0] for found in re.finditer(rf"(?<![A-Za-z0-9])({'|'.join(NAMES)})(?![A-Za-z0-9])", text)}


@pytest.mark.parametrize("file", files())
def test_it_names_nothing_of_the_game(file: str) -> None:
    assert named_in((PROJECT / file).read_text(errors="replace")) == set()


def test_a_name_is_found_within_others() -> None:
    assert named_in("kappa_team_scores@1, `player_id`") == {"team_scores", "player_id"}
    assert not named_in("colleague, teams_scores")
