"""The same arguments give the same landing directory, wherever and whenever they are run."""

import hashlib
import os
import subprocess
import sys
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path

from simulated import Simulated

Run = Callable[..., Simulated]
SMALL = {"events": 3_000, "files": 5}
ROOT = Path(__file__).parents[2]


def fingerprint(directory: Path) -> str:
    """Names, modification times and bytes of all files."""
    digest = hashlib.sha256()
    for path in sorted(directory.iterdir()):
        digest.update(f"{path.name} {path.stat().st_mtime_ns} ".encode())
        digest.update(path.read_bytes())
    return digest.hexdigest()


def test_the_same_seed_gives_the_same_names_times_and_bytes(run: Run) -> None:
    assert fingerprint(run("one", **SMALL).directory) == fingerprint(run("two", **SMALL).directory)


def test_another_seed_gives_other_bytes(run: Run) -> None:
    assert run("one", seed=1, **SMALL).lines != run("two", seed=2, **SMALL).lines


def test_another_process_with_another_hash_seed_and_time_zone_gives_the_same_bytes(run: Run, tmp_path: Path) -> None:
    program = "import sys; from pathlib import Path; from simulator.game import simulate\n"
    program += "simulate(Path(sys.argv[1]), events=3_000, files=5)"
    elsewhere = {"PYTHONHASHSEED": "4711", "TZ": "Pacific/Auckland", "PYTHONPATH": str(ROOT)}
    command = [sys.executable, "-c", program, str(tmp_path / "two")]
    subprocess.run(command, env=os.environ | elsewhere, check=True, timeout=60)
    assert fingerprint(run("one", **SMALL).directory) == fingerprint(tmp_path / "two")


def test_more_files_cut_the_same_lines_elsewhere(run: Run) -> None:
    assert run("few", events=2_000, files=3).lines == run("many", events=2_000, files=70).lines


def test_the_events_happen_from_the_start_for_the_given_hours(run: Run) -> None:
    start = datetime(2024, 2, 29, 22, tzinfo=UTC)
    simulated = run("short", events=2_000, hours=1.5, start=start)
    hours = sorted((event.event_time - start).total_seconds() / 3600 for event in simulated.events.values())
    assert 0 < sum(hour < -0.01 for hour in hours) < 0.005 * len(hours), "few phones are wrong about the time"
    assert -0.01 < hours[len(hours) // 200] < 0.05
    assert 1.4 < hours[-1] < 1.52
