"""A lake for what is to leave no trace: it reads another lake's tables and notes, and writes into a directory of its own."""

import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path

from lakehouse.lake import Lake, create_lake


@contextmanager
def scratch(lake: Lake) -> Iterator[Lake]:
    """The lake as it is now, to compute other versions in. What is written goes with the directory at the end."""
    with tempfile.TemporaryDirectory(prefix="parity-scratch-") as directory:
        made = create_lake(Path(directory) / "lake", lake.pipeline)
        for name in lake.tables():
            Path(made.table(name)).symlink_to(lake.table(name))
        shutil.copytree(lake.path / "results", made.path / "results", dirs_exist_ok=True)
        yield replace(lake, path=made.path)
