"""`parity init`: what it writes is a pipeline that runs, in a directory that held nothing."""

import shlex
from pathlib import Path

import pytest
from typer.testing import CliRunner

from cli.init import TEMPLATE, commands, write_pipeline
from cli.main import app
from lakehouse.pipelines import pipeline_at


def typed(*command: str) -> str:
    done = CliRunner().invoke(app, command)
    assert done.exit_code == 0, done.output
    return done.output


def test_it_writes_a_pipeline_and_says_what_to_type(tmp_path: Path) -> None:
    said = typed("init", str(tmp_path / "My Doors"))
    made = pipeline_at(str(tmp_path / "My Doors"))
    assert (made.name, list(made.declared)) == ("my_doors", ["openings"])
    for file in (
        "kinds/door_opened.py",
        "results/openings.py",
        "tests/test_openings.py",
        "parity.toml",
        "landing/first.jsonl",
    ):
        assert str(tmp_path / "My Doors" / file) in said
    assert all(command in said for command in commands(tmp_path / "My Doors"))


@pytest.mark.parametrize("name", ["select", "2026", "_"])
def test_a_folder_that_cannot_give_its_name_leaves_the_templates(tmp_path: Path, name: str) -> None:
    write_pipeline(tmp_path / name)
    assert pipeline_at(str(tmp_path / name)).name == "doors"


def test_a_directory_with_something_in_it_is_left_alone(tmp_path: Path) -> None:
    (tmp_path / "thesis.tex").write_text("mine")
    done = CliRunner().invoke(app, ["init", str(tmp_path)])
    assert done.exit_code == 2 and "is not empty, so nothing is written into it" in done.output
    assert [file.name for file in tmp_path.iterdir()] == ["thesis.tex"]
    assert CliRunner().invoke(app, ["init", str(tmp_path / "thesis.tex")]).exit_code == 2


def test_what_it_writes_runs_at_once_to_a_verdict(tmp_path: Path) -> None:
    write_pipeline(tmp_path / "doors")
    *before, last = (shlex.split(command)[1:] for command in commands(tmp_path / "doors"))
    for command in before:
        typed(*command)
    verdict = typed(*last)
    assert "openings@1" in verdict and "agree" in verdict
    shown = typed("show", "openings", "--lake", str(tmp_path / "doors" / "lake"), "--format", "csv")
    assert [line.split(",")[::3] for line in shown.splitlines()[1:]] == [["north", "2"], ["south", "1"], ["north", "1"]]


def test_its_page_is_made_from_its_declarations(tmp_path: Path) -> None:
    write_pipeline(tmp_path / "doors")
    page = typed("results", "--pipeline", str(tmp_path / "doors"), "--format", "markdown")
    assert "Doors that are opened, and how often." in page
    assert (
        "| `openings` | How often each door was opened per window. | tumbling window, size 1 minute | `door_id` |"
        in page
    )
    assert "| `door_opened` | Somebody opened a door. | `door_id` (text), `badge` (text, optional, personal) |" in page
    assert "team_scores" not in page


def test_its_test_is_one() -> None:
    assert [file.name for file in (TEMPLATE / "tests").glob("test_*.py")] == ["test_openings.py"]
