"""`parity init`: a pipeline of one's own to begin with, and the commands that bring it to a verdict.

What is written stands in `cli/template`: a kind, a result, a test, the settings and a landing file. All of it is to be changed.
"""

import re
import shutil
import sys
from pathlib import Path
from typing import Annotated

import typer

from cli.console import answers, told_errors
from lakehouse.errors import ParityError

TEMPLATE = Path(__file__).parent / "template"
NAMED = 'name="doors"'
"""How the story of the template is named."""
LEFT_OUT = shutil.ignore_patterns("__pycache__", ".*")


def init(
    directory: Annotated[Path, typer.Argument(help="A directory that is new or empty.", metavar="DIR")],
) -> None:
    """Write a pipeline of your own to begin with: one kind, one result, a test, settings and a file that lands."""
    with told_errors():
        written = write_pipeline(directory)
        answers.print(f"{directory} has a pipeline now:", highlight=False, soft_wrap=True)
        for file in written:
            answers.print(f"  {file}", markup=False, highlight=False, soft_wrap=True)
        answers.print("It runs as it is, to a verdict:", highlight=False)
        for command in commands(directory):
            answers.print(f"  {command}", markup=False, highlight=False, soft_wrap=True)


def write_pipeline(directory: Path) -> list[Path]:
    """The files of a new pipeline; a directory with anything in it is left alone."""
    if directory.exists() and (not directory.is_dir() or any(directory.iterdir())):
        raise ParityError(f"{directory} is not empty, so nothing is written into it. Name a new or empty directory.")
    from lakehouse.words import unusable

    shutil.copytree(TEMPLATE, directory, ignore=LEFT_OUT, dirs_exist_ok=True, copy_function=shutil.copyfile)
    name = re.sub(r"[^a-z0-9]+", "_", directory.resolve().name.lower()).strip("_")
    if not unusable(name):
        story = directory / "pipeline.py"
        story.write_text(story.read_text().replace(NAMED, f'name="{name}"'))
    return sorted(file for file in directory.rglob("*") if file.is_file())


def commands(directory: Path) -> list[str]:
    """What to type next, as `parity` itself was typed."""
    typed = sys.argv[0] if Path(sys.argv[0]).name == "parity" else "parity"
    lake = f"--lake {directory / 'lake'} --config {directory / 'parity.toml'}"
    return [
        f"{typed} ingest {lake} --landing {directory / 'landing'}",
        f"{typed} stream {lake}",
        f"{typed} recompute {lake}",
        f"{typed} reconcile {lake}",
    ]
