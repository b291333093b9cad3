"""Load: what cannot be taken in at once waits on disk

A short run of the fault `load`, as `make chaos` runs it for an hour: ingestion and streams as processes with little memory,
a steady pace, and half-way as many files at once as in all of the run.
"""

import re
import subprocess
import sys
from pathlib import Path

import pytest
from observations import Observe
from processes import environment

SAID = re.compile(r"up to (\d+) landing files waited on disk, .*no revision twice", re.DOTALL)


@pytest.mark.chaos
def test_a_burst_waits_on_disk_and_is_worked_off(tmp_path: Path, observe: Observe) -> None:
    command = ["chaos", "--lake", str(tmp_path / "lake"), "--fault", "load", "--minutes", "1"]
    done = subprocess.run(
        [sys.executable, "-m", "cli.main", *command], env=environment(), capture_output=True, text=True
    )
    assert done.returncode == 0, done.stdout + done.stderr
    found = SAID.search(done.stdout)
    assert found is not None and int(found[1]) > 3, done.stdout
    observe("a minute of load, and as much again at once", _sentence(done.stdout), _recovery(done.stdout))


def _sentence(said: str) -> str:
    at = re.search(r"at [\d.]+ s: (.*)", said)
    assert at is not None
    return f"{at[1].partition(': ')[2]}. Then all was worked off, and all agreed."


def _recovery(said: str) -> float:
    seconds = re.search(r"recovered in ([\d.]+) s", said)
    assert seconds is not None
    return float(seconds[1])
