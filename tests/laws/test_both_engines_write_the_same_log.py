"""Both engines write the same log: from the same files, in any cut into micro-batches and blocks, with a change of engine in the
middle, and whatever happens to the index of ids in between.

Each example is a drawn world of landing files. One lake takes it in at once; its twin, which has the same secret, takes it in by
steps. Then they are compared row by row and column by column, the number of the micro-batch alone left out.
"""

import shutil
from collections.abc import Callable
from dataclasses import replace
from functools import partial
from pathlib import Path

import pytest
from engines import Engine, run_by
from index_faults import FAULTS
from landed_worlds import CLOCK, drawn_files, drawn_lines, land_all
from logged import OF_THE_CUT, assert_whole, written
from pyspark.sql import SparkSession
from seeds import chance, choose_seed, rounds

import ingestion.ingest
from ingestion.blocks import cut
from ingestion.ingest import ingest
from lakehouse.lake import Lake, create_lake
from lakehouse.log import position
from lakehouse.settings import Settings

EXAMPLES, OF_SPARK = 20, 2
SIZES = (1, 200, 3000, 4 * 1024**2)
"""Bytes of a block: a line each, some lines, several blocks a file or several files a block, all in one."""


@pytest.mark.parametrize("number", range(EXAMPLES * len(rounds())))
def test_the_embedded_engine_in_any_cut_whatever_happens_to_its_index(
    tmp_path: Path, settings: Settings, number: int, monkeypatch: pytest.MonkeyPatch, judged: Callable[[int], None]
) -> None:
    judged(compared(tmp_path, settings, monkeypatch, f"one engine, {number}", lambda *_: None))


@pytest.mark.parametrize("number", range(OF_SPARK * len(rounds())))
def test_a_change_of_engine_in_the_middle(
    spark: SparkSession,
    tmp_path: Path,
    settings: Settings,
    number: int,
    monkeypatch: pytest.MonkeyPatch,
    judged: Callable[[int], None],
) -> None:
    """The one that takes in all at once is Spark's; the other changes with every step."""

    def session(step: int) -> SparkSession | None:
        return spark if step % 2 == 0 else None

    judged(compared(tmp_path, settings, monkeypatch, f"both engines, {number}", session))


def compared(
    home: Path,
    settings: Settings,
    monkeypatch: pytest.MonkeyPatch,
    name: str,
    session: Callable[[int], SparkSession | None],
) -> int:
    """How many rows of two logs of one world were compared, which had to be equal."""
    rng = chance(name)
    contents = drawn_files(rng, drawn_lines(rng, home / "drawn"))
    landing, at_once, by_steps = home / "landing", create_lake(home / "at once"), home / "by steps"
    landing.mkdir()
    twin = replace(at_once, path=Path(shutil.copytree(at_once.path, by_steps)))
    told, first = [f"LAWS_SEED={choose_seed()}, {name}, {len(contents)} files"], 0

    def take_in(lake: Lake, step: int, files_per_batch: int) -> None:
        spark = session(step)
        engine: Engine = "embedded" if spark is None else "spark"
        ingest(spark, lake, landing, run_by(engine, settings), files_per_batch=files_per_batch, clock=lambda: CLOCK)

    step = 0
    while first < len(contents):
        count, size, files_per_batch = rng.randrange(1, 5), rng.choice(SIZES), rng.choice((1, 2, 100))
        fault = rng.choice(list(FAULTS))
        told.append(f"index {fault}, then {count} files, {files_per_batch} a micro-batch, in blocks of {size}")
        later = FAULTS[fault](rng, twin, contents[first:], settings) if first else None
        land_all(landing, contents[first : first + count], first=first)
        with monkeypatch.context() as patched:
            patched.setattr(ingestion.ingest, "cut", partial(cut, size=size))
            take_in(twin, step, files_per_batch)
        if later is not None:
            later()
        first, step = first + count, step + 1
    take_in(twin, step, 1)  # nothing has landed; the index is put right all the same
    take_in(at_once, 0, 1000)
    expected, found = (written(lake, but=OF_THE_CUT) for lake in (at_once, twin))
    differing = [pair for pair in zip(expected, found, strict=False) if pair[0] != pair[1]][:2]
    assert found == expected, (told, len(expected), len(found), differing)
    of_the_log = [replace(position(lake), version=0, batch=0, token="") for lake in (at_once, twin)]
    assert of_the_log[0] == of_the_log[1], told
    for lake in (at_once, twin):
        assert_whole(lake)
    assert of_the_log[0].seq > 50 and of_the_log[0].duplicates > 3 and of_the_log[0].quarantined > 5, told
    return len(expected)
