"""What can happen to the index of ids between two runs of ingestion, and to the lake that it belongs to."""

import random
import shutil
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path

from landed_worlds import CLOCK, land_all

from ingestion.ingest import ingest
from lakehouse.lake import Lake, create_lake
from lakehouse.settings import Settings

Later = Callable[[], None] | None
Fault = Callable[[random.Random, Lake, Sequence[bytes], Settings], Later]
"""Strikes a lake, now or after its next run; the contents are those of files that have not landed yet."""


def nothing(_: random.Random, __: Lake, ___: Sequence[bytes], ____: Settings) -> None:
    return None


def lost(_: random.Random, lake: Lake, __: Sequence[bytes], ___: Settings) -> None:
    shutil.rmtree(lake.ids, ignore_errors=True)


def torn(rng: random.Random, lake: Lake, _: Sequence[bytes], __: Settings) -> None:
    """One of its files is cut off, or gone."""
    files = sorted(lake.ids.iterdir()) if lake.ids.is_dir() else []
    if files:
        file = rng.choice(files)
        content = file.read_bytes()
        file.write_bytes(content[: rng.randrange(len(content))])
        if rng.random() < 0.3:
            file.unlink()


def foreign(rng: random.Random, lake: Lake, coming: Sequence[bytes], settings: Settings) -> None:
    """It is the index of another lake, which has what is still to come."""
    other = create_lake(lake.path.parent / f"foreign {rng.randrange(10**9)}")
    _ingest_elsewhere(other, coming, settings)
    shutil.rmtree(lake.ids, ignore_errors=True)
    if other.ids.is_dir():
        shutil.copytree(other.ids, lake.ids)


def ahead(rng: random.Random, lake: Lake, coming: Sequence[bytes], settings: Settings) -> None:
    """The lake is put back from a copy after it had gone on with other files; the index has followed those."""
    copy = lake.path.parent / f"backup {rng.randrange(10**9)}"
    shutil.copytree(lake.path, copy)
    _ingest_elsewhere(lake, rng.sample(list(coming), len(coming)), settings)
    index = lake.path.parent / f"{copy.name} index"
    if lake.ids.is_dir():
        shutil.move(lake.ids, index)
    shutil.rmtree(lake.path)
    copy.rename(lake.path)
    shutil.rmtree(lake.ids, ignore_errors=True)
    if index.is_dir():
        shutil.copytree(index, lake.ids)


def of_another_history(rng: random.Random, lake: Lake, coming: Sequence[bytes], settings: Settings) -> Later:
    """It is what a copy of the lake has that went on otherwise, and comes when this one has gone on as well."""
    copy = replace(lake, path=lake.path.parent / f"copy {rng.randrange(10**9)}")
    shutil.copytree(lake.path, copy.path)
    _ingest_elsewhere(copy, coming[-1:], settings)

    def swapped() -> None:
        shutil.rmtree(lake.ids, ignore_errors=True)
        shutil.copytree(copy.ids, lake.ids)

    return swapped


def _ingest_elsewhere(lake: Lake, contents: Sequence[bytes], settings: Settings) -> None:
    landing = Path(f"{lake.path} other landing")
    landing.mkdir(exist_ok=True)
    land_all(landing, contents, first=1000)
    ingest(None, replace(lake), landing, settings, files_per_batch=2, clock=lambda: CLOCK)
    shutil.rmtree(landing)


FAULTS: dict[str, Fault] = {
    "nothing": nothing,
    "lost": lost,
    "torn": torn,
    "foreign": foreign,
    "ahead": ahead,
    "of another history": of_another_history,
}
