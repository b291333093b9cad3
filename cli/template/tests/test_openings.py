"""The result over a few events: `python -m pytest` in this folder runs it."""

from datetime import UTC, datetime
from pathlib import Path

from lakehouse.pipelines import pipeline_at
from lakehouse.session import spark_session
from lakehouse.settings import Spark

FOLDER = Path(__file__).parents[1]


def test_an_opening_on_the_boundary_belongs_to_the_later_window(tmp_path: Path) -> None:
    spark = spark_session(Spark(master="local[1]", compiler="quick"), log_file=tmp_path / "spark.log")
    events = [("door_opened", "north", datetime(2026, 3, 1, 10, 0, second, tzinfo=UTC)) for second in (3, 59)]
    events.append(("door_opened", "north", datetime(2026, 3, 1, 10, 1, tzinfo=UTC)))
    frame = spark.createDataFrame(events, "kind string, door_id string, event_time timestamp")
    rows = pipeline_at(str(FOLDER)).catalogue()["openings"].of(frame).orderBy("window_start").collect()
    assert [(row["door_id"], row["times"]) for row in rows] == [("north", 2), ("north", 1)]
