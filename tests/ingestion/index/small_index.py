"""The index with small sizes, so that few ids already make many runs, and merges that take several puts; and its model."""

import random
from collections.abc import Iterable
from pathlib import Path

import numpy as np
import pytest

from ingestion.index import IdIndex, Pending
from ingestion.index.sorted_ids import Longs
from ingestion.index.state import STATE

Id = tuple[int, int]
Model = dict[Id, int]
Columns = tuple[Longs, Longs, Longs]
SIZES = {
    "ingestion.index.sorted_ids.FENCE": 4,
    "ingestion.index.run.FENCE": 4,
    "ingestion.index.run.SLICE": 16,
    "ingestion.index.merge.SLICE": 16,
    "ingestion.index.shelf.SLICE": 16,
    "ingestion.index.shelf.PACE": 2,
    "ingestion.index.shelf.LOWEST_TIER": 8,
    "ingestion.index.id_index.PIECE": 64,
    "ingestion.index.pending.PIECE": 64,
}
LEAST, GREATEST = np.iinfo(np.int64).min, np.iinfo(np.int64).max
EDGES = (LEAST, LEAST + 1, -1, 0, 1, GREATEST - 1, GREATEST)


def make_small(patch: pytest.MonkeyPatch) -> None:
    for name, size in SIZES.items():
        patch.setattr(name, size)


def draw_id(chance: random.Random) -> Id:
    """Half of them have `low` in common with others, so that only `high` tells them apart."""
    low = chance.choice(EDGES) if chance.random() < 0.5 else chance.randint(LEAST, GREATEST)
    return chance.randint(LEAST, GREATEST), low


def draw_new(chance: random.Random, count: int, known: Model) -> Model:
    new = {draw_id(chance): chance.randint(LEAST, GREATEST) for _ in range(count)}
    return {each: content for each, content in new.items() if each not in known}


def columns(ids: Model) -> Columns:
    high, low = ids_columns(ids)
    return high, low, np.array(list(ids.values()), np.int64)


def ids_columns(ids: Iterable[Id]) -> tuple[Longs, Longs]:
    table = np.array(list(ids), np.int64).reshape(-1, 2)
    return table[:, 0].copy(), table[:, 1].copy()


def assert_knows_exactly(index: IdIndex | Pending, model: Model, chance: random.Random) -> None:
    """All of the model's ids with their contents, and none that have `low` or `high` in common with them."""
    strangers = [
        *((high, chance.choice(EDGES)) for high, _ in model),
        *((chance.randint(LEAST, GREATEST), low) for _, low in model),
        *(draw_id(chance) for _ in range(50)),
    ]
    asked = [*model, *(each for each in strangers if each not in model)]
    order = chance.sample(range(len(asked)), len(asked))
    known, content = index.find(*ids_columns(asked[place] for place in order))
    answers = {asked[place]: int(content[row]) for row, place in enumerate(order) if known[row]}
    assert answers == model
    assert not content[~known].any()


def assert_no_other_files(folder: Path, index: IdIndex) -> None:
    assert {file.name for file in folder.iterdir()} - {STATE} == index._shelf.files()
