"""What the commands share: where they print, how they fail, and how they come to a lake and a Spark session.

Standard output belongs to the answer, so that a machine can read it; progress and errors go to standard error.
"""

import os
import sys
import traceback
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, NoReturn

from rich.console import Console

from cli import steps
from cli.terminal import apart, spelt
from lakehouse.errors import ParityError, UnknownResult
from lakehouse.lake import Lake

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

    from lakehouse.settings import Settings
    from transformations.result import Result

Step = Callable[[str], AbstractContextManager[object]]

answers = Console()
notes = Console(stderr=True)

SETTINGS_FILE = Path("parity.toml")
COULD_NOT = 2
UNEXPECTED = 3
VERDICT = "Verdict: "


def settings_from(
    config: Path | None,
    lake: Lake | None = None,
    *,
    pipeline: str | None = None,
    tried: Mapping[str, str] | None = None,
) -> "Settings":
    """The settings of the file given, or of `parity.toml` here if there is one, or the defaults; `tried` goes before all.

    For a `lake` they are those of its pipeline, else of the one that is named, here or in the settings.
    """
    from lakehouse.settings import load_settings

    named = {} if pipeline is None else {"pipeline.path": pipeline}
    file = config or (SETTINGS_FILE if SETTINGS_FILE.is_file() else None)
    return load_settings(file, tried={**(tried or {}), **named}, lake=lake)


def for_child(lake: Lake) -> dict[str, str]:
    """The environment of a command on this lake that another one starts: its settings file may name another pipeline."""
    return {**os.environ, "PARITY_PIPELINE__PATH": lake.pipeline.path}


def results_from(settings: "Settings", names: list[str] | None, lake: Lake | None = None) -> "list[Result]":
    """The results of these names, or all; in a lake the live version of each, or the one that is named: NAME@2."""
    from lakehouse.versions import at_live, at_number

    known = settings.pipeline.catalogue(settings.windows_by_result)
    found = []
    for asked in names or known:
        name, _, number = asked.partition("@")
        if name not in known or (number and not number.isdigit()):
            raise UnknownResult(f"There is no result {asked!r}. There are: {', '.join(known)}.")
        if lake is None:
            if number:
                raise UnknownResult(f"{asked!r} names a version. Name the result alone: {name}.")
            found.append(known[name])
        else:
            found.append(at_number(lake, known[name], int(number)) if number else at_live(lake, known[name]))
    return found


def step(what: str, *, look: steps.Look | None = None) -> AbstractContextManager[steps.Told]:
    """A step of a command, told on standard error."""
    return steps.step(notes, what, look=look)


def numbered(of: int) -> steps.Steps:
    """The steps of a command that has so many."""
    return steps.Steps(notes, of)


def session_for(lake: Lake, settings: "Settings", *, carrier: bool = False, step: Step = step) -> "SparkSession":
    """Spark for this lake, its log in the lake's own log file. A `carrier` is for work that Python's workers do."""
    from lakehouse.session import spark_session

    with step("Spark starts"), apart(notes):
        return spark_session(settings.spark, log_file=lake.log_file, carrier=carrier)


def conclude(status: str, about: Sequence[str] = ()) -> None:
    """Say what a comparison or a validation found, as the last line of the progress, with what the finding is about.

    Exit code 1 alone does not say that something was found: Python itself ends with it when a program cannot be loaded.
    A scheduler takes a 1 for a finding only where this line says so (`dags/parity_command.py`).
    """
    named = f" ({', '.join(about)})" if about else ""
    notes.print(f"{VERDICT}{status}{named}", markup=False, highlight=False, soft_wrap=True)


@contextmanager
def told_errors(log_file: Path | None = None) -> Iterator[None]:
    """Turn errors into messages and exit codes: a stack trace goes to the log file, not to the user."""
    try:
        yield
    except ParityError as error:
        _tell(error, log_file)
    except KeyboardInterrupt:
        notes.print("Stopped.")
        sys.exit(130)
    except Exception as error:
        from lakehouse.session import spark_ended
        from lakehouse.storage import storage_refusal

        if refused := storage_refusal(error) or spark_ended():
            _tell(refused, log_file)
        where = log_file or Path("parity-error.log")
        where.parent.mkdir(parents=True, exist_ok=True)
        with where.open("a") as log:
            traceback.print_exc(file=log)
        first = (str(error).strip().splitlines() or [type(error).__name__])[0]
        notes.print(f"[red]✗[/] Unexpected {type(error).__name__}: ", end="")
        notes.print(spelt(first[:500]), markup=False, highlight=False, soft_wrap=True)
        notes.print(f"[dim]The whole of it is in {where}[/]", highlight=False, soft_wrap=True)
        sys.exit(UNEXPECTED)


def _tell(error: ParityError, log_file: Path | None) -> NoReturn:
    notes.print(f"[red]✗[/] {type(error).__name__}: ", end="")
    notes.print(spelt(str(error)), markup=False, highlight=False, soft_wrap=True)
    if log_file is not None and log_file.exists():
        notes.print(f"[dim]Its log: {log_file}[/]", highlight=False, soft_wrap=True)
    sys.exit(COULD_NOT)
