"""What a run leaves for people to read, under the name of the run: `LAKE/reports/<run>.html` and what it says as data.

A scheduler names its runs, and its interface finds their pages again by that name. The name becomes a file name, so it
is checked before anything is written under it.
"""

import os
import re
from pathlib import Path

from lakehouse.errors import ParityError
from lakehouse.lake import Lake

_NAME = re.compile(r"[A-Za-z0-9_+@~:-][A-Za-z0-9_.+@~:-]{0,199}")


def run_name(text: str) -> str:
    """The name of a run, if it can be the name of a file."""
    if not _NAME.fullmatch(text):
        raise ParityError(
            f"{text!r} cannot be the name of a run: it may have letters, digits and _ . + @ ~ : - only, at most 200 of them, "
            "and no dot at its start."
        )
    return text


def report_page(lake: Lake, run: str) -> Path:
    """Where the report of a run is kept; the directory is made, for its owner only."""
    directory = lake.path / "reports"
    directory.mkdir(mode=0o700, exist_ok=True)
    return directory / f"{run_name(run)}.html"


def shared_script(directory: Path, name: str, version: str, content: str) -> Path:
    """A script that many pages load: one file beside them, named by its version, so that an old page finds its own."""
    file = directory / f"{name}-{version}.min.js"
    if not file.exists():
        draft = file.with_name(f".{file.name}.{os.getpid()}")
        draft.write_text(content, encoding="utf-8")
        draft.replace(file)
    return file
