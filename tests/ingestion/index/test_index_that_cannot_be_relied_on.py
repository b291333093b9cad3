"""What is missing, torn, damaged or of another log begins anew with a reason. None of it is ever asked."""

import os
import random
import shutil
import stat
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from seeds import chance
from small_index import (
    Model,
    assert_knows_exactly,
    assert_no_other_files,
    columns,
    draw_new,
    make_small,
)

from ingestion.index import Covered, IdIndex, Pending, Unusable
from ingestion.index.sorted_ids import Longs
from ingestion.index.state import STATE

Harm = Callable[[Path], None]


@pytest.fixture
def drawn() -> random.Random:
    return chance("an index that cannot be relied on")


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    make_small(monkeypatch)
    return tmp_path / "made" / "by the index"


def filled(folder: Path, drawn: random.Random, puts: int = 5, *, size: int = 40) -> Model:
    """An index of several runs with a merge between them, and what it knows."""
    index, known = IdIndex.open(folder, lake="lake", log=1), Model()
    for number in range(1, puts + 1):
        new = draw_new(drawn, size, known)
        index.put(*columns(new), seq=number, token=f"token {number}")
        known |= new
    index.close()
    return known


def largest_run(folder: Path) -> Path:
    return max(folder.glob("*.run"), key=lambda file: (file.stat().st_size, file.name))


def change_byte(file: Path, place: int) -> None:
    content = bytearray(file.read_bytes())
    content[place] ^= 1
    file.write_bytes(content)


def cut_run(folder: Path) -> None:
    os.truncate(largest_run(folder), largest_run(folder).stat().st_size - 8)


def change_header(folder: Path) -> None:
    change_byte(largest_run(folder), 9)


def zero_header(folder: Path) -> None:
    with largest_run(folder).open("rb+") as opened:
        opened.write(bytes(4096))


def empty_run(folder: Path) -> None:
    os.truncate(largest_run(folder), 0)


def remove_run(folder: Path) -> None:
    largest_run(folder).unlink()


def cut_state(folder: Path) -> None:
    os.truncate(folder / STATE, (folder / STATE).stat().st_size - 1)


def empty_state(folder: Path) -> None:
    os.truncate(folder / STATE, 0)


def change_state(folder: Path) -> None:
    change_byte(folder / STATE, (folder / STATE).stat().st_size // 2)


def remove_state(folder: Path) -> None:
    (folder / STATE).unlink()


@pytest.mark.parametrize(
    ("harm", "reason"),
    [
        (cut_run, "run is torn"),
        (change_header, "run is torn"),
        (zero_header, "run is torn"),
        (empty_run, "run cannot be read"),
        (remove_run, "run cannot be read"),
        (cut_state, "state file is torn"),
        (empty_state, "state file is torn"),
        (change_state, "state file is torn"),
        (remove_state, "there was none"),
    ],
)
def test_a_torn_index_begins_anew_and_says_why(folder: Path, drawn: random.Random, harm: Harm, reason: str) -> None:
    filled(folder, drawn, puts=3)
    harm(folder)
    begins_anew_and_can_be_used(folder, drawn, reason, lake="lake", log=1)


@pytest.mark.parametrize(("lake", "log"), [("another lake", 1), ("lake", 2)])
def test_an_index_of_another_log_begins_anew(folder: Path, drawn: random.Random, lake: str, log: int) -> None:
    filled(folder, drawn)
    reason = f"it is of log 1 of lake lake, not of log {log} of lake {lake}"
    begins_anew_and_can_be_used(folder, drawn, reason, lake=lake, log=log)


def begins_anew_and_can_be_used(folder: Path, drawn: random.Random, reason: str, *, lake: str, log: int) -> None:
    index = IdIndex.open(folder, lake=lake, log=log)
    assert index.begun_anew is not None and reason in index.begun_anew
    assert index.covered is None and not len(index)
    assert_no_other_files(folder, index)
    new = draw_new(drawn, 30, {})
    index.put(*columns(new), seq=30, token="again")
    index.close()
    again = IdIndex.open(folder, lake=lake, log=log)
    assert again.begun_anew is None and again.covered == Covered(lake=lake, log=log, seq=30, token="again")
    assert_knows_exactly(again, new, drawn)


def test_after_another_start_of_the_machine_every_byte_of_a_run_counts(folder: Path, drawn: random.Random) -> None:
    """Only the rest of the header's page means nothing. A sound index stays."""
    known = filled(folder, drawn, puts=1)
    size = largest_run(folder).stat().st_size
    for place in (*range(28), *range(4096, size, 7)):
        copy = folder.with_name(f"changed at {place}")
        shutil.copytree(folder, copy)
        change_byte(largest_run(copy), place)
        assert IdIndex.open(copy, lake="lake", log=1, boot="another").begun_anew is not None, place
    index = IdIndex.open(folder, lake="lake", log=1, boot="another")
    assert index.begun_anew is None
    assert_knows_exactly(index, known, drawn)


def test_ids_that_have_changed_places_are_noticed_after_another_start(folder: Path, drawn: random.Random) -> None:
    """Two contents that were exchanged leave every column its sum."""
    filled(folder, drawn, puts=1)
    run = largest_run(folder)
    words = np.fromfile(run, np.int64)
    count = int(words[1])
    contents = words[512 + 2 * count :][:count]
    contents[[0, 1]] = contents[[1, 0]]
    words.tofile(run)
    index = IdIndex.open(folder, lake="lake", log=1, boot="another")
    assert index.begun_anew is not None and "is damaged" in index.begun_anew


def test_damage_that_a_merge_meets_is_no_answer(folder: Path, drawn: random.Random) -> None:
    filled(folder, drawn, puts=3)
    change_byte(largest_run(folder), 4096 + 3)
    index = IdIndex.open(folder, lake="lake", log=1)
    with pytest.raises(Unusable, match="one of them is damaged"):
        for number in range(4, 20):
            index.put(*columns(draw_new(drawn, 40, {})), seq=number, token=f"token {number}")
    again = IdIndex.open(folder, lake="lake", log=1)
    assert again.covered is None and not len(again)
    assert_no_other_files(folder, again)


def test_nobody_else_can_read_it(folder: Path, drawn: random.Random) -> None:
    before = os.umask(0o022)
    try:
        filled(folder, drawn)
    finally:
        os.umask(before)
    assert stat.S_IMODE(folder.stat().st_mode) == 0o700
    assert {stat.S_IMODE(file.stat().st_mode) for file in folder.iterdir()} == {0o600}


def test_files_of_others_stay(folder: Path, drawn: random.Random) -> None:
    filled(folder, drawn)
    (folder / "notes.txt").write_text("not ours")
    remove_state(folder)
    IdIndex.open(folder, lake="lake", log=1)
    assert {file.name for file in folder.iterdir()} == {STATE, "notes.txt"}


def test_a_put_of_what_is_covered_already_is_refused(folder: Path, drawn: random.Random) -> None:
    known = filled(folder, drawn)
    index = IdIndex.open(folder, lake="lake", log=1)
    with pytest.raises(ValueError, match="covers more than seq 4"):
        index.put(*columns(draw_new(drawn, 9, known)), seq=4, token="earlier")
    assert_knows_exactly(index, known, drawn)


@pytest.mark.parametrize("column", [np.zeros(3, np.uint64), np.zeros(2, np.int64), np.zeros((3, 1), np.int64)])
def test_columns_of_another_form_are_refused(folder: Path, column: Longs) -> None:
    index, fine = IdIndex.open(folder, lake="lake", log=1), np.zeros(3, np.int64)
    for ask in (
        lambda: index.find(fine, column),
        lambda: index.put(fine, column, fine, seq=1, token=""),
        lambda: Pending(index).add(fine, fine, column),
    ):
        with pytest.raises(ValueError, match="columns of int64 of one length"):
            ask()
    assert not len(index)
