"""A stream that is run by other code: the project copied, one aggregation changed, in a process of its own."""

import shutil
import subprocess
import sys
from pathlib import Path

from short_lived import SHORT_LIVED

PROJECT = Path(__file__).parent.parent
PACKAGES = ("transformations", "lakehouse", "speed_layer")
RIGHT, WRONG = 'F.sum("bubbles").alias("bubbles")', '(F.sum("bubbles") + 1).alias("bubbles")'

STREAM = """
import pathlib, sys
from lakehouse.lake import open_lake
from lakehouse.session import spark_session
from lakehouse.settings import Spark, Stream, load_settings
from speed_layer.stream import stream
from transformations.catalogue import catalogue
lake = open_lake(pathlib.Path(sys.argv[1]))
spark = spark_session(Spark(master="local[2]", compiler="quick"), log_file=lake.log_file)
chosen = load_settings().model_copy(update={"stream": Stream(commits_per_batch=1)})
stream(spark, lake, [catalogue()["team_scores"]], chosen)
"""


def stream_team_scores_wrongly(lake: Path, copy: Path) -> None:
    """Stream `team_scores` into the lake by a copy of the project whose scores are one too high."""
    for package in PACKAGES:
        shutil.copytree(PROJECT / package, copy / package, ignore=shutil.ignore_patterns("__pycache__"))
    (copy / ".jars").symlink_to(PROJECT / ".jars")
    module = copy / "transformations" / "results" / "team_scores.py"
    honest = module.read_text()
    module.write_text(honest.replace(RIGHT, WRONG))
    assert module.read_text() != honest
    done = subprocess.run(
        [sys.executable, "-c", STREAM, str(lake)],
        cwd=copy, env={"PYTHONPATH": str(copy), "PATH": "/usr/bin:/bin", **SHORT_LIVED}, capture_output=True, text=True,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
