"""`parity chaos`: a short fixed selection of faults passes, and a Parity that is not exactly-once does not."""

import subprocess
import sys
from pathlib import Path

import pytest
from other_code import changed_copy
from processes import environment

SEED = "7"
SELECTION = ("kill-repair-after-sink", "copies")
TRANSACTIONS = '.option("txnAppId", transaction.app_id).option("txnVersion", transaction.number)'


def chaos(lake: Path, *more: str, env: dict[str, str]) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "cli.main", "chaos", "--lake", str(lake), "--seed", SEED, *more]
    return subprocess.run(command, cwd=lake.parent, env=env, capture_output=True, text=True)


def test_nothing_is_lost_or_doubled_in_a_fixed_selection(tmp_path: Path) -> None:
    faults = [part for name in SELECTION for part in ("--fault", name)]
    done = chaos(tmp_path / "lake", *faults, env=environment())
    assert done.returncode == 0, done.stdout + done.stderr
    first, *_, last = done.stdout.strip().splitlines()
    assert first.startswith(
        f"Seed {SEED}. To repeat it: parity chaos --lake {tmp_path / 'lake'} --seed {SEED} --fault "
    )
    assert last.startswith("2 faults in ") and last.endswith(f"seed {SEED}: nothing was lost and nothing was doubled.")
    for number, name in enumerate(SELECTION, start=1):
        assert f"{number}  {name}\n" in done.stdout
    assert done.stdout.count("no revision twice") == 2 and done.stdout.count("recovered in ") == 2
    assert "a micro-batch with repairs" in done.stdout and "files landed a second time" in done.stdout
    left = subprocess.run(["pgrep", "-f", str(tmp_path / "lake")], capture_output=True, text=True).stdout.split()
    assert not left, "processes are left behind"


def test_transaction_ids_that_are_off_are_found(tmp_path: Path) -> None:
    """The deliberate bug: an append that is retried is not skipped."""
    env = changed_copy(tmp_path / "other", "lakehouse/tables.py", TRANSACTIONS, "")
    done = chaos(
        tmp_path / "lake", "--fault", "kill-stream-after-sink", env={**env, "PARITY_SPARK__MASTER": "local[2]"}
    )
    assert done.returncode == 1, done.stdout + done.stderr
    assert f"Violation in round 1, seed {SEED}: " in done.stderr
    assert "'duplicate_revisions': " in done.stderr
    assert f"The lake is kept as it was found: {tmp_path / 'lake'}" in done.stderr
    assert (tmp_path / "lake" / "tables" / "events").is_dir() and "Traceback" not in done.stderr
    assert "nothing was lost" not in done.stdout


@pytest.mark.parametrize("given", [("--fault", "kill-everything"), ("--fault", "compaction", "--fault", "nothing")])
def test_an_unknown_fault_is_refused_and_nothing_is_cleared(tmp_path: Path, given: tuple[str, ...]) -> None:
    lake = tmp_path / "lake"
    lake.mkdir()
    (lake / "mine").write_text("mine")
    done = chaos(lake, *given, env=environment())
    assert done.returncode == 2
    assert "There is no fault " in done.stderr and "kill-stream-after-sink" in done.stderr
    assert (lake / "mine").read_text() == "mine"
