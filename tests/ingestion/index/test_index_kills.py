"""A SIGKILL at every named moment of a put: the next process finds the state before or after it, and nothing else."""

import os
import random
import signal
import subprocess
import sys
from pathlib import Path
from typing import get_args

import pytest
from seeds import chance
from small_index import Model, assert_knows_exactly, assert_no_other_files, columns, make_small
from struck_puts import ids_of

from ingestion.index import Covered, IdIndex
from ingestion.index.moment import Name

HERE = Path(__file__).parent
PROJECT, TESTS = HERE.parents[2], HERE.parents[1]
LAST = 60
REPLACED = ("state.replaced", "run.removed")
"""Moments at which the put has happened already, though it has not returned."""


def struck(folder: Path, first: int, moment: str, nth: int) -> int:
    """The last put that returned before the kill."""
    ended = subprocess.run(
        [sys.executable, HERE / "struck_puts.py", folder, str(first), str(LAST), moment, str(nth)],
        env={**os.environ, "PYTHONPATH": os.pathsep.join(map(str, (PROJECT, TESTS, HERE)))},
        capture_output=True,
        text=True,
    )
    assert ended.returncode == -signal.SIGKILL, f"{moment} was not reached {nth} times: {ended.stderr}"
    return int(ended.stdout.split()[-1]) if ended.stdout else first - 1


def ids_up_to(last: int) -> Model:
    return {each: content for number in range(1, last + 1) for each, content in ids_of(number).items()}


def seq_of_what_is_found(folder: Path, drawn: random.Random) -> int:
    index = IdIndex.open(folder, lake="lake", log=1)
    if index.covered is None:
        assert not len(index)
        seq = 0
    else:
        assert index.begun_anew is None
        seq = index.covered.seq
        assert index.covered == Covered(lake="lake", log=1, seq=seq, token=f"token {seq}")
    assert_knows_exactly(index, ids_up_to(seq), drawn)
    for run in index._shelf.runs.values():
        run.verify()
    assert_no_other_files(folder, index)
    index.close()
    return seq


@pytest.mark.parametrize("moment", get_args(Name))
def test_a_kill_leaves_the_state_before_or_after_the_put(
    moment: Name, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Twice in a row, the second time soon after the first; then the rest is put as if nothing had been."""
    make_small(monkeypatch)
    drawn = chance(f"a kill of the index, {moment}")
    folder, seq = tmp_path / "index", 0
    for nth in (drawn.randrange(1, 12), drawn.randrange(1, 4)):
        returned = struck(folder, seq + 1, moment, nth)
        seq = seq_of_what_is_found(folder, drawn)
        assert seq == returned + (moment in REPLACED), f"put {returned} has returned, {moment} {nth} times"
    index = IdIndex.open(folder, lake="lake", log=1)
    for number in range(seq + 1, LAST + 1):
        index.put(*columns(ids_of(number)), seq=number, token=f"token {number}")
    index.close()
    assert seq_of_what_is_found(folder, drawn) == LAST
