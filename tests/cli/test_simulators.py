"""The simulator of a pipeline: one that Python finds, one of its own folder, none, and one that is not there."""

from pathlib import Path

import pytest
from doors import door_pipeline

from cli.simulators import simulated, simulator_of
from lakehouse.errors import ParityError
from lakehouse.pipelines import default_pipeline, pipeline_at

OWN = """

def simulate(landing, *, events, seed=7, senders=200, hours=24.0, files=48):
    landing.mkdir()
    for number in range(files):
        (landing / f"{number}.jsonl").write_text("")
    return events
"""


def with_simulator(folder: Path, named: str) -> Path:
    doors = door_pipeline(folder / "doors")
    story = doors / "pipeline.py"
    story.write_text(story.read_text().replace("PIPELINE = Story(", f"PIPELINE = Story(simulator={named!r}, "))
    assert named in story.read_text()
    return doors


def test_one_of_the_own_folder_is_found_there(tmp_path: Path) -> None:
    doors = with_simulator(tmp_path, ".simulator")
    (doors / "simulator.py").write_text(OWN)
    simulated(pipeline_at(str(doors)), tmp_path / "landing", events=5, files=3)
    assert len(list((tmp_path / "landing").glob("*.jsonl"))) == 3


def test_one_that_python_finds_is_named_as_python_does() -> None:
    assert callable(simulator_of(default_pipeline()).simulate)


@pytest.mark.parametrize("named", [".simulator", "nowhere.simulator"])
def test_one_that_is_not_there_is_refused_with_both_ways_to_name_one(tmp_path: Path, named: str) -> None:
    pipeline = pipeline_at(str(with_simulator(tmp_path, named)))
    with pytest.raises(ParityError, match=r"a module that Python finds, or with a point before it"):
        simulator_of(pipeline)


def test_without_one_there_is_nothing_to_simulate(tmp_path: Path) -> None:
    with pytest.raises(ParityError, match="has no simulator"):
        simulator_of(pipeline_at(str(door_pipeline(tmp_path / "doors"))))
