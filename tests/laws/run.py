"""Try the laws on many logs, for hours if one likes. `make laws` runs this.

    python tests/laws/run.py --logs 200

A run that was stopped goes on with its seed where it was. The first log that breaks a law ends it: the log is made small, and
kept in tests/laws/kept, from where every run of the tests tries it again.
"""

import argparse
import os
import secrets
import subprocess
import sys
from pathlib import Path

PROJECT = Path(__file__).parent.parent.parent
HOME = PROJECT / ".laws"
SEED_OF_THE_RUN = HOME / "seed"
LAWS = (
    "tests/laws/test_layers_agree.py",
    "tests/laws/test_one_late_event.py",
    "tests/laws/test_recomputed_from_landing_files.py",
    "tests/laws/test_the_cut_of_a_delivery_is_irrelevant.py",
    "tests/laws/test_both_engines_write_the_same_log.py",
)
SECONDS_TO_SHRINK = 600


def seed_of_the_run() -> str:
    """The one that is asked for, or that of a run that has not ended, or a fresh one."""
    HOME.mkdir(exist_ok=True)
    unfinished = SEED_OF_THE_RUN.read_text().strip() if SEED_OF_THE_RUN.exists() else None
    seed = os.environ.get("LAWS_SEED") or unfinished or str(secrets.randbelow(10**9))
    SEED_OF_THE_RUN.write_text(f"{seed}\n")
    return seed


def say(line: str) -> None:
    sys.stdout.write(f"{line}\n")
    sys.stdout.flush()


def main(logs: int, options: list[str]) -> int:
    seed = seed_of_the_run()
    state = HOME / f"{seed}.passed"
    passed = len(state.read_text().splitlines()) if state.exists() else 0
    if passed:
        say(f"The run with seed {seed} goes on: {passed} tests have passed before.")
    chosen = {"LAWS_SEED": seed, "LAWS_ROUNDS": str(logs), "LAWS_STATE": str(state)}
    shrink = {"LAWS_SHRINK": os.environ.get("LAWS_SHRINK", str(SECONDS_TO_SHRINK))}
    command = [sys.executable, "-m", "pytest", "--maxfail=1", *options, *LAWS]
    code = subprocess.run(command, cwd=PROJECT, env={**os.environ, **chosen, **shrink}).returncode
    if code in (0, 5):  # 5: all of it had passed before
        SEED_OF_THE_RUN.unlink()
        state.unlink(missing_ok=True)
        say(f"Every law held on {logs} logs, drawn from seed {seed}.")
        return 0
    return code


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--logs", type=int, default=50, help="how many logs each law is tried on")
    given, others = parser.parse_known_args()
    sys.exit(main(given.logs, others))
