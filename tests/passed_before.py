"""A long run of the laws that goes on where it was stopped: what has passed with its seed is not run again.

`make laws` names the file in LAWS_STATE; a test that passes is added to it at once, so nothing is lost by SIGKILL.
"""

import os
from pathlib import Path

import pytest

STATE = "LAWS_STATE"


def _file() -> Path | None:
    named = os.environ.get(STATE)
    return Path(named) if named else None


def leave_out_what_has_passed(config: pytest.Config, items: list[pytest.Item]) -> None:
    file = _file()
    if file is None or not file.exists():
        return
    passed = set(file.read_text().splitlines())
    config.hook.pytest_deselected(items=[item for item in items if item.nodeid in passed])
    items[:] = [item for item in items if item.nodeid not in passed]


def note_what_passes(report: pytest.TestReport) -> None:
    """Called once a report by the process that collects them, which is no worker of a parallel run."""
    file = _file()
    if file is not None and report.when == "call" and report.passed and "PYTEST_XDIST_WORKER" not in os.environ:
        with file.open("a") as notes:
            notes.write(f"{report.nodeid}\n")
