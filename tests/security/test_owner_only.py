"""What Parity makes is its owner's only, whatever the umask of the caller: a real process, and the modes that it leaves.

The log is one without names, so that Spark's log, which is in the lake too, is seen not to have the key.
"""

import stat
import subprocess
import sys
from pathlib import Path

import pytest
from processes import environment

from keys import key_spellings  # isort: skip

KEY = "a-key-that-only-its-owner-has"
COMMANDS = """
import contextlib, os, shutil, sys
from cli.main import run
for command in (
    "simulate --landing landing --events 300 --senders 5 --hours 24",
    "ingest --lake lake --landing landing",
    "stream --lake lake --result player_sessions",
    "recompute --lake lake --result player_sessions",
    "reconcile --lake lake --result player_sessions --report reports/page.html",
    "quality --lake lake --table quarantine",
):
    sys.argv = ["parity", *command.split()]
    try:
        run()
    except SystemExit as ended:
        if ended.code and not command.startswith("quality"):  # few lines have large shares
            sys.exit(f"{command}: {ended.code}")
with contextlib.suppress(shutil.Error):  # what Spark removes meanwhile; all of it, when it ends
    shutil.copytree(os.environ["TMPDIR"], "scratch")
"""
"""One process for all of them: each would wait for a JVM of its own."""


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """What the commands left in a directory whose owner gives everything to everybody."""
    directory, scratch = tmp_path_factory.mktemp("open"), tmp_path_factory.mktemp("scratch")
    more = {"PARITY_INGESTION__PSEUDONYM_KEY": KEY, "TMPDIR": str(scratch), "SPARK_LOCAL_DIRS": str(scratch)}
    done = subprocess.run(
        [sys.executable, "-c", COMMANDS],
        cwd=directory, env=environment(**more), umask=0, capture_output=True, text=True,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    return directory


def open_to_others(directory: Path) -> dict[str, str]:
    """What is below the directory and gives group or others any right, with its mode."""
    modes = {each: stat.S_IMODE(each.lstat().st_mode) for each in directory.rglob("*")}
    return {str(each.relative_to(directory)): oct(mode) for each, mode in modes.items() if mode & 0o077}


def test_every_file_and_directory_is_its_owner_s_only(made: Path) -> None:
    assert open_to_others(made) == {}


def test_everything_was_there_to_be_looked_at(made: Path) -> None:
    names = {str(each.relative_to(made)) for each in made.rglob("*")}
    for part in (
        "landing", "reports/page.html", "lake/parity.json", "lake/logs/spark.log", "lake/quality/docs/index.html",
        "lake/results/player_sessions@1.json", "lake/locks/ingest.lock", "lake/landings/00000000.json",
        "lake/cache/ids/state",
        "lake/checkpoints/ingest/commits/0",
        "lake/tables/kappa_player_sessions@1/_delta_log/00000000000000000001.json",
    ):  # fmt: skip
        assert part in names, part
    assert any(name.startswith("lake/tables/arrivals/part-") for name in names)
    assert any("/state/" in name for name in names)
    assert any(name.startswith("scratch/blockmgr-") for name in names)


def test_spark_s_log_has_neither_the_key_nor_a_player(made: Path) -> None:
    said = (made / "lake" / "logs" / "spark.log").read_text(errors="replace").lower()
    assert not [part for part in key_spellings(KEY) if part in said]
    assert "player-" not in said
