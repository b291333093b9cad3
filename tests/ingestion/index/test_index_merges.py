"""Merging never stalls a put, needs no memory to speak of, goes on in the next process, and keeps the runs few."""

import random
import tracemalloc
from itertools import pairwise
from pathlib import Path

import numpy as np
import pytest
from seeds import chance
from small_index import Model, assert_knows_exactly, assert_no_other_files, columns, draw_new, make_small

from ingestion.index import IdIndex
from ingestion.index.moment import Name
from ingestion.index.shelf import FAN
from ingestion.index.sorted_ids import FENCE, SortedIds


@pytest.fixture
def drawn() -> random.Random:
    return chance("merges of the index")


def put(index: IdIndex, known: Model, drawn: random.Random, count: int) -> None:
    new = draw_new(drawn, count, known)
    seq = index.covered.seq if index.covered else 0
    index.put(*columns(new), seq=seq + 1, token=f"token {seq + 1}")
    known |= new


def until_a_merge_is_half_done(folder: Path, drawn: random.Random) -> Model:
    index, known = IdIndex.open(folder, lake="lake", log=1, boot="one"), Model()
    while not any(sum(merge.taken) > 0 for merge in index._shelf.merges):
        put(index, known, drawn, 40)
    index.close()
    return known


def test_the_next_process_goes_on_with_a_merge(
    tmp_path: Path, drawn: random.Random, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Else one that puts little and ends would never finish a merge that takes long."""
    make_small(monkeypatch)
    known, finished = until_a_merge_is_half_done(tmp_path, drawn), 0
    for _ in range(40):
        index = IdIndex.open(tmp_path, lake="lake", log=1, boot="one")
        merges = {merge.to: sum(merge.taken) for merge in index._shelf.merges}
        put(index, known, drawn, 10)
        for merge in index._shelf.merges:
            assert sum(merge.taken) > merges.get(merge.to, 0)
        finished += len(merges.keys() & index._shelf.runs.keys())
        index.close()
    assert finished > 3
    assert_knows_exactly(IdIndex.open(tmp_path, lake="lake", log=1, boot="one"), known, drawn)


@pytest.mark.parametrize("what", ["another start", "draft removed", "draft cut"])
def test_a_merge_whose_draft_may_be_torn_begins_again(
    tmp_path: Path, drawn: random.Random, monkeypatch: pytest.MonkeyPatch, what: str
) -> None:
    make_small(monkeypatch)
    known = until_a_merge_is_half_done(tmp_path, drawn)
    index = IdIndex.open(tmp_path, lake="lake", log=1, boot="one")
    for merge in index._shelf.merges:
        draft = tmp_path / merge.to
        if what == "draft removed":
            draft.unlink()
        else:
            draft.write_bytes(bytes(draft.stat().st_size - (what == "draft cut")))
    index.close()
    index = IdIndex.open(tmp_path, lake="lake", log=1, boot="two" if what == "another start" else "one")
    assert index.begun_anew is None
    assert index._shelf.merges and not any(sum(merge.taken) for merge in index._shelf.merges)
    for _ in range(10):
        put(index, known, drawn, 40)
    assert_knows_exactly(index, known, drawn)
    for run in index._shelf.runs.values():
        run.verify()


def test_however_many_ids_there_are_a_put_merges_little_and_runs_are_few(
    tmp_path: Path, drawn: random.Random, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Four times the ids are one tier more: so many slices a put, and so many runs, are allowed more."""
    make_small(monkeypatch)
    slices, runs = [0], [0]

    def count(name: Name) -> None:
        slices[-1] += name == "merge.slice"

    index, known, most = IdIndex.open(tmp_path, lake="lake", log=1, moment=count), Model(), []
    for goal in (250, 1000, 4000):
        slices, runs = [0], [0]
        while len(known) < goal:
            slices.append(0)
            put(index, known, drawn, 20)
            runs.append(len(index.places))
        most.append((max(slices), max(runs)))
    for (slices_before, runs_before), (slices_after, runs_after) in pairwise(most):
        assert slices_after <= slices_before + 12 and runs_after <= runs_before + 2 * FAN, most
    assert_knows_exactly(index, known, drawn)
    assert_no_other_files(tmp_path, index)


def test_a_put_needs_no_memory_for_what_is_merged(tmp_path: Path) -> None:
    """Runs of 2.4 and 9.6 MB are merged while puts of 0.24 MB come in."""
    index, chance = IdIndex.open(tmp_path, lake="lake", log=1), np.random.default_rng(1)
    merged = 0
    for number in range(160):
        new = [chance.integers(-(2**63), 2**63, 100_000 if number < 16 else 10_000) for _ in range(3)]
        before = len(index.places)
        tracemalloc.start()
        index.put(*new, seq=number, token="")
        peak = tracemalloc.get_traced_memory()[1]
        tracemalloc.stop()
        if number >= 16:
            assert peak < 6e6
        merged += len(index.places) < before
    assert merged > 10


@pytest.mark.parametrize("count", [1, FENCE - 1, FENCE, FENCE + 1, 3 * FENCE, 10_000])
def test_the_place_of_a_question_is_that_of_a_plain_search(count: int, drawn: random.Random) -> None:
    lows = [drawn.choice((drawn.randint(-(2**63), 2**63 - 1), drawn.randint(-5, 5))) for _ in range(count)]
    low = np.array(lows, np.int64)
    ids = SortedIds.of(low, low, low)
    asked = np.sort(np.concatenate([low, low + 1, low - 1, np.array([-(2**63), 0, 2**63 - 1])]))
    assert (ids._first_not_less(asked) == np.searchsorted(ids.low, asked)).all()
