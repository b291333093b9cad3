"""The batch layer is removable: without its folder, ingestion, stream, control and views work as before."""

import json
import shutil
import subprocess
import sys
from pathlib import Path

from deliveries import heartbeat, land, pop
from short_lived import SHORT_LIVED

import cli.main

PROJECT = Path(cli.main.__file__).parent.parent
KAPPA_ONLY = """
import sys
sys.modules["batch_layer"] = None  # the environment's own installation must not stand in for the removed folder
from cli.main import app
home = sys.argv[1]
some = "--result team_scores --result player_sessions --result league_scores"
for command in ("ingest --landing {0}/landing", f"stream {some}", "legacy", "show team_scores --format jsonl", "status"):
    app([*command.format(home).split(), "--lake", f"{home}/lake"], standalone_mode=False)
"""


def test_without_the_batch_layer_the_kappa_side_stays_green(tmp_path: Path) -> None:
    rest = tmp_path / "project"
    for package in (
        "transformations",
        "pipelines",
        "lakehouse",
        "speed_layer",
        "serving",
        "reconciliation",
        "simulator",
        "cli",
    ):
        shutil.copytree(PROJECT / package, rest / package, ignore=shutil.ignore_patterns("__pycache__"))
    (rest / ".jars").symlink_to(PROJECT / ".jars")
    (tmp_path / "landing").mkdir()
    land(tmp_path / "landing", "1.jsonl", [pop("a", 1), pop("b", 2, bubbles=3), heartbeat("beat", 1000)])
    done = subprocess.run(
        [sys.executable, "-c", KAPPA_ONLY, str(tmp_path)],
        cwd=rest, env={"PYTHONPATH": str(rest), "PATH": "/usr/bin:/bin", "PARITY_SPARK__COMPILER": "quick", **SHORT_LIVED},
        capture_output=True, text=True,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout.splitlines()[0])["bubbles"] == 4
    assert not (rest / "batch_layer").exists()
