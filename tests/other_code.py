"""A Parity of other code: the project copied, one line of it changed, run in processes of its own."""

import os
import shutil
import subprocess
import sys
from pathlib import Path

from short_lived import SHORT_LIVED

PROJECT = Path(__file__).parent.parent
PACKAGES = (
    "transformations", "pipelines", "lakehouse", "ingestion", "speed_layer", "batch_layer", "reconciliation", "serving",
    "quality", "chaos", "cli", "simulator",
)  # fmt: skip
RIGHT, WRONG = 'F.sum("bubbles").alias("bubbles")', '(F.sum("bubbles") + 1).alias("bubbles")'

STREAM = """
import pathlib, sys
from lakehouse.lake import open_lake
from lakehouse.session import spark_session
from lakehouse.settings import Spark, Stream, load_settings
from speed_layer.stream import stream
lake = open_lake(pathlib.Path(sys.argv[1]))
spark = spark_session(Spark(master="local[2]", compiler="quick"), log_file=lake.log_file)
chosen = load_settings().model_copy(update={"stream": Stream(commits_per_batch=1)})
stream(spark, lake, [lake.pipeline.catalogue()["team_scores"]], chosen)
"""


def changed_copy(copy: Path, module: str, right: str, wrong: str) -> dict[str, str]:
    """A copy of the project in which `wrong` stands in the place of `right`; returns the environment to run it with."""
    for package in PACKAGES:
        shutil.copytree(PROJECT / package, copy / package, ignore=shutil.ignore_patterns("__pycache__"))
    (copy / ".jars").symlink_to(PROJECT / ".jars")
    file = copy / module
    honest = file.read_text()
    file.write_text(honest.replace(right, wrong))
    assert file.read_text() != honest
    return {"PYTHONPATH": str(copy), "PATH": os.environ["PATH"], **SHORT_LIVED}


def stream_team_scores_wrongly(lake: Path, copy: Path) -> None:
    """Stream `team_scores` into the lake by a copy of the project whose scores are one too high."""
    environment = changed_copy(copy, "pipelines/game/results/team_scores.py", RIGHT, WRONG)
    done = subprocess.run(
        [sys.executable, "-c", STREAM, str(lake)], cwd=copy, env=environment, capture_output=True, text=True
    )
    assert done.returncode == 0, done.stderr
