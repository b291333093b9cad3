"""The API tells a page what the lake is of, so that the page need know no result by its name."""

from pathlib import Path

from doors import door_pipeline
from fastapi.testclient import TestClient

from lakehouse.lake import create_lake
from lakehouse.pipelines import pipeline_at
from lakehouse.settings import load_settings
from serving.api import application
from serving.reader import Reader


def told(lake_path: Path, pipeline: str) -> dict[str, object]:
    lake = create_lake(lake_path, pipeline_at(pipeline))
    with TestClient(application(lake, load_settings(lake=lake)), base_url="http://localhost") as client:
        answer = client.get("/pipeline")
        assert answer.status_code == 200, answer.text
        found: dict[str, object] = answer.json()
        return found


def test_of_the_game(tmp_path: Path) -> None:
    found = told(tmp_path / "lake", "game")
    assert found["name"] == "game"
    assert found["charted"] == {"result": "team_scores", "column": "bubbles", "key": "team_id"}
    assert found["controlled"] == found["live"] == ["team_scores", "level_ups"]


def test_of_somebodys_own(tmp_path: Path) -> None:
    assert told(tmp_path / "lake", str(door_pipeline(tmp_path / "doors"))) == {
        "name": "doors",
        "story": "Doors that are opened.",
        "charted": {"result": "openings", "column": "times", "key": "door_id"},
        "controlled": ["openings"],
        "live": ["openings"],
    }


def test_a_reader_of_a_path_reads_by_the_pipeline_of_the_lake(tmp_path: Path) -> None:
    lake = create_lake(tmp_path / "lake", pipeline_at(str(door_pipeline(tmp_path / "doors"))))
    with Reader.of(lake.path) as reader:
        assert reader.subjects.names() == ["openings"]


def test_a_column_says_how_answers_are_compared_by_it(tmp_path: Path) -> None:
    lake = create_lake(tmp_path / "lake")
    with TestClient(application(lake, load_settings(lake=lake)), base_url="http://localhost") as client:
        results = {each["name"]: each for each in client.get("/results").json()["results"]}
    columns = {
        each["name"]: (each["compared"], round(each["error"], 3)) for each in results["active_players"]["values"]
    }
    assert columns == {"players": (True, 0.0), "estimate": (True, 0.049), "day_estimate": (False, 0.0)}
