"""A small pipeline of somebody's own: doors that are opened."""

from pathlib import Path

STORY = """
from transformations.pipeline import Charted, Story

PIPELINE = Story(
    name="doors",
    story="Doors that are opened.",
    controlled=("openings",),
    charted=Charted("openings", "times"),
)
"""
KIND = """
from transformations.kind import Field, Kind

KIND = Kind("door_opened", "Somebody opened a door.", (Field("door_id", "text"), Field("badge", "text", personal=True)))
"""
RESULT = """
from datetime import timedelta

from pyspark.sql import functions as F
from pyspark.sql.types import LongType

from transformations.result import Result, Total, Value
from transformations.windows import Tumbling


def counts(openings, window, alongside):
    return openings.groupBy(*alongside, "door_id", "window").agg(F.count(F.lit(1)).alias("times"))


def openings(*, size=timedelta(minutes=1)):
    return Result(
        name="openings",
        meaning="How often a door was opened per window.",
        kinds=("door_opened",),
        key=("door_id",),
        values=(Value("times", LongType(), "number of openings", least=0, total=Total("door_opened")),),
        window=Tumbling(size),
        compute=counts,
    )
"""


def door_pipeline(folder: Path) -> Path:
    """The folder, with the pipeline in it."""
    for file, text in {"pipeline.py": STORY, "kinds/door_opened.py": KIND, "results/openings.py": RESULT}.items():
        (folder / file).parent.mkdir(parents=True, exist_ok=True)
        (folder / file).write_text(text)
    return folder
