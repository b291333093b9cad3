"""The chance of the laws: a fresh seed for every run, printed in its header and at its end, which can be given again.

    LAWS_SEED=1234 pytest tests/laws          the same logs once more
    LAWS_ROUNDS=50 pytest tests/laws          fifty logs a law instead of one (`make laws`)
    LAWS_RESULTS=team_scores pytest tests/laws     these results alone, in every law that draws its results
    LAWS_SHRINK=300 pytest tests/laws     a log that breaks a law is made small for so many seconds, and kept as an example
    JUDGE_SEED=1234 pytest tests/transformations/lines     the same landing lines once more

Every law draws from a generator of its own, named after it and its round, so one can be repeated without the others.
"""

import os
import random
import secrets
from collections.abc import Sequence
from typing import TypeVar

T = TypeVar("T")
SEED, ROUNDS, RESULTS, SHRINK = "LAWS_SEED", "LAWS_ROUNDS", "LAWS_RESULTS", "LAWS_SHRINK"
JUDGE_SEED = "JUDGE_SEED"


def choose_seed(name: str = SEED) -> int:
    """The seed of this run. It is kept in the environment, where the workers of a parallel run find the same one."""
    return int(os.environ.setdefault(name, str(secrets.randbelow(10**9))))


def rounds() -> range:
    return range(int(os.environ.get(ROUNDS, "1")))


def chance(law: str, number: int = 0, *, seed: str = SEED) -> random.Random:
    return random.Random(f"{choose_seed(seed)}/{law}/{number}")


def some(rng: random.Random, names: Sequence[T], count: int, *, named: Sequence[str] = ()) -> list[T]:
    """So many of them, drawn; where the environment names results, those of them that it names (`named` are their names)."""
    wanted = os.environ.get(RESULTS)
    if wanted:
        return [each for each, name in zip(names, named, strict=True) if name in wanted.split(",")]
    return rng.sample(list(names), min(count, len(names)))
