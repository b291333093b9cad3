"""`parity` as a process of its own, and how to kill it at a known place."""

import os
import subprocess
import sys
from pathlib import Path

from short_lived import SHORT_LIVED

QUICK = {
    "PARITY_SPARK__COMPILER": "quick",
    "PARITY_SPARK__MASTER": "local[2]",
    "PARITY_STREAM__COMMITS_PER_BATCH": "1",
    "PYTHONPATH": str(Path(__file__).parents[1]),
    **SHORT_LIVED,
}


def environment(**more: str) -> dict[str, str]:
    return {**{name: value for name, value in os.environ.items() if not name.startswith("PARITY_")}, **QUICK, **more}


EMBEDDED = {"PARITY_INGESTION__ENGINE": "embedded"}


def parity(*command: str | Path, failpoint: str | None = None, **more: str) -> subprocess.CompletedProcess[str]:
    """The command, killed at the failpoint if there is one, with more variables in its environment."""
    if failpoint is not None:
        more["PARITY_FAILPOINT"] = failpoint
    return subprocess.run(
        [sys.executable, "-m", "cli.main", *map(str, command)], env=environment(**more), capture_output=True, text=True
    )
