"""`parity chaos`: a short fixed selection of faults passes, and a Parity that is not exactly-once does not."""

import subprocess
import sys
from pathlib import Path

import pytest
from other_code import changed_copy
from processes import environment

SEED = "7"
SELECTIONS = {
    ("kill-repair-after-sink", "copies"): ("a micro-batch with repairs", "files landed a second time"),
    ("kill-ingest-committed", "engines-changed", "ids-torn"): (
        "after the commit of the log",
        "went on by the other engine",
        "the index of the log's ids was cut in half",
    ),
}
"""Faults, and what has to be told of them. The streams' are quick enough for `make test`."""
QUICK = next(iter(SELECTIONS))
TRANSACTIONS = "last is not None and last >= transaction.number"


def chaos(lake: Path, *more: str, env: dict[str, str]) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "cli.main", "chaos", "--lake", str(lake), "--seed", SEED, *more]
    return subprocess.run(command, cwd=lake.parent, env=env, capture_output=True, text=True)


@pytest.mark.parametrize(
    "selection", [pytest.param(each, marks=() if each == QUICK else pytest.mark.chaos) for each in SELECTIONS]
)
def test_nothing_is_lost_or_doubled_in_a_fixed_selection(tmp_path: Path, selection: tuple[str, ...]) -> None:
    faults = [part for name in selection for part in ("--fault", name)]
    done = chaos(tmp_path / "lake", *faults, env=environment())
    assert done.returncode == 0, done.stdout + done.stderr
    first, *_, last = done.stdout.strip().splitlines()
    assert first.startswith(
        f"Seed {SEED}. To repeat it: parity chaos --lake {tmp_path / 'lake'} --seed {SEED} --fault "
    )
    assert last.startswith(f"{len(selection)} faults in ") and last.endswith(
        f"seed {SEED}: nothing was lost and nothing was doubled."
    )
    for number, name in enumerate(selection, start=1):
        assert f"{number}  {name}\n" in done.stdout
    assert done.stdout.count("no revision twice") == done.stdout.count("recovered in ") == len(selection)
    assert all(told in " ".join(done.stdout.split()) for told in SELECTIONS[selection]), done.stdout
    left = subprocess.run(["pgrep", "-f", str(tmp_path / "lake")], capture_output=True, text=True).stdout.split()
    assert not left, "processes are left behind"


@pytest.mark.chaos
def test_a_pipeline_without_a_witness_is_proven_by_all_the_rest(tmp_path: Path) -> None:
    faults = ("--fault", "copies", "--fault", "kill-repair-after-sink")
    done = chaos(tmp_path / "lake", "--pipeline", "sensors", *faults, env=environment())
    assert done.returncode == 0, done.stdout + done.stderr
    assert done.stdout.count("no witness was asked") == done.stdout.count("no revision twice") == 2
    assert "--pipeline sensors" in done.stdout.splitlines()[0]


def test_transaction_ids_that_are_off_are_found(tmp_path: Path) -> None:
    """The deliberate bug: an append that is retried is not skipped."""
    env = changed_copy(tmp_path / "other", "lakehouse/appends.py", TRANSACTIONS, "False")
    done = chaos(
        tmp_path / "lake", "--fault", "kill-stream-after-sink", env={**env, "PARITY_SPARK__MASTER": "local[2]"}
    )
    assert done.returncode == 1, done.stdout + done.stderr
    assert f"Violation in round 1, seed {SEED}: " in done.stderr
    assert "'duplicate_revisions': " in done.stderr
    assert f"The lake is kept as it was found: {tmp_path / 'lake'}" in done.stderr
    assert (tmp_path / "lake" / "tables" / "arrivals").is_dir() and "Traceback" not in done.stderr
    assert "nothing was lost" not in done.stdout


BUGS = {
    "it takes in again what is offered again": (
        "kill-ingest-after-sink", "ingestion/ingest.py", "    if batch <= before.batch:\n        return 0\n", "",
        "landed lines have more than one fate",
    ),
    "it knows no id": (
        "copies", "ingestion/index/pending.py", "look_up([*self._index.places, *self._parts], high, low)",
        "look_up([], high, low)", "event ids are in the log more than once",
    ),
    "it skips a file": (
        "copies", "ingestion/ingest.py", "files = as_noted(manifest(lake, batch))",
        "files = as_noted(manifest(lake, batch))[1:]", "landed lines have no fate",
    ),
    "it reads a file twice": (
        "copies", "ingestion/ingest.py", "files = as_noted(manifest(lake, batch))",
        "files = as_noted(manifest(lake, batch)); files = [*files, files[0]]", "landed lines have more than one fate",
    ),
}  # fmt: skip
"""Deliberate bugs of ingestion. The layers agree on what it has made of the files, and totals can balance."""


@pytest.mark.chaos
@pytest.mark.parametrize("bug", BUGS)
def test_an_ingestion_that_loses_or_doubles_is_found(tmp_path: Path, bug: str) -> None:
    fault, module, right, wrong, said = BUGS[bug]
    env = changed_copy(tmp_path / "other", module, right, wrong)
    done = chaos(tmp_path / "lake", "--fault", fault, env={**env, "PARITY_SPARK__MASTER": "local[2]"})
    assert done.returncode == 1, done.stdout + done.stderr
    assert f"Violation in round 1, seed {SEED}: " in done.stderr and said in done.stderr, done.stderr


@pytest.mark.parametrize("given", [("--fault", "kill-everything"), ("--fault", "compaction", "--fault", "nothing")])
def test_an_unknown_fault_is_refused_and_nothing_is_cleared(tmp_path: Path, given: tuple[str, ...]) -> None:
    lake = tmp_path / "lake"
    lake.mkdir()
    (lake / "mine").write_text("mine")
    done = chaos(lake, *given, env=environment())
    assert done.returncode == 2
    assert "There is no fault " in done.stderr and "kill-stream-after-sink" in done.stderr
    assert (lake / "mine").read_text() == "mine"
