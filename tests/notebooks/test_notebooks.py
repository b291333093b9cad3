"""Every notebook runs from top to bottom in a kernel of its own, over a small lake, with its assertions."""

import re
import subprocess

import jupytext
import pytest
from game import catalogue
from nbclient import NotebookClient
from nbformat import NotebookNode
from pyspark.sql import SparkSession
from short_lived import SHORT_LIVED

from batch_layer.recompute import recompute
from ingestion.ingest import ingest
from lakehouse.lake import Lake, create_lake
from lakehouse.session import PROJECT
from lakehouse.settings import load_settings
from reconciliation.history import keep
from reconciliation.reconcile import reconcile
from simulator.game import simulate
from speed_layer.legacy import legacy
from speed_layer.stream import stream

FOLDER = PROJECT / "notebooks"
SHARED = FOLDER / "slides.py"
NOTEBOOKS = sorted(file.stem for file in FOLDER.glob("*.py") if file != SHARED)
FIGURE = "application/vnd.plotly.v1+json"
SMALL = {"EVENTS_A_DAY": "1000", "MICRO_BATCHES_A_DAY": "2", "DAYS": "2", "PARITY_SPARK__COMPILER": "quick"}


@pytest.fixture(scope="module")
def lake(spark: SparkSession, tmp_path_factory: pytest.TempPathFactory) -> Lake:
    """The demo in small: a day of the game in two commits, one result in every layer, both reconciliations."""
    directory = tmp_path_factory.mktemp("notebooks")
    lake, landing = create_lake(directory / "lake"), directory / "landing"
    settings = load_settings(tried={"ingestion.files_per_batch": "2", "stream.commits_per_batch": "1"})
    results = [catalogue(settings.windows_by_result)["team_scores"]]
    simulate(landing, events=2000, senders=40, files=4)
    ingest(spark, lake, landing, settings)
    stream(spark, lake, results, settings)
    recompute(spark, lake, results[0], settings)
    legacy(spark, lake, settings, answers=results)
    for candidate in ("kappa", "legacy"):
        keep(spark, lake, reconcile(spark, lake, results, settings, candidate=candidate), settings)
    return lake


def executed(name: str) -> NotebookNode:
    """The notebook after its last cell; a cell that raises fails the test with its code and its traceback."""
    notebook = jupytext.read(FOLDER / f"{name}.py")
    place = {"metadata": {"path": str(FOLDER)}}
    return NotebookClient(notebook, timeout=300, kernel_name="python3", resources=place).execute()


def outputs(notebook: NotebookNode) -> list[NotebookNode]:
    return [output for cell in notebook.cells if cell.cell_type == "code" for output in cell.outputs]


@pytest.mark.parametrize("name", NOTEBOOKS)
def test_a_notebook_runs_with_its_assertions_and_shows_charts(
    name: str, lake: Lake, monkeypatch: pytest.MonkeyPatch
) -> None:
    for variable, value in {**SMALL, **SHORT_LIVED, "LAKE": str(lake.path)}.items():
        monkeypatch.setenv(variable, value)

    shown = outputs(executed(name))

    figures = [output.data[FIGURE] for output in shown if FIGURE in output.get("data", {})]
    assert len(figures) >= 3
    for figure in figures:
        assert figure["layout"]["title"]["text"]
        assert all(trace.get("x") is not None for trace in figure["data"])
    assert [output for output in shown if output.output_type == "stream"] == [], "a notebook speaks in sentences"


def test_there_are_the_four_notebooks_of_the_documentation() -> None:
    told = re.findall(r"^## (.+)$", (PROJECT / "docs" / "notebooks.md").read_text(), re.MULTILINE)
    titles = [jupytext.read(FOLDER / f"{name}.py").cells[0].source.splitlines()[0] for name in NOTEBOOKS]
    assert sorted(f"# {title}" for title in told if not title.startswith("How")) == sorted(titles)


@pytest.mark.parametrize("name", NOTEBOOKS)
def test_a_notebook_is_a_script_that_is_paired_with_a_generated_one(name: str) -> None:
    notebook = jupytext.read(FOLDER / f"{name}.py")
    assert notebook.metadata["jupytext"]["formats"] == "ipynb,py:percent"
    assert {cell.cell_type for cell in notebook.cells} == {"markdown", "code"}


def test_no_generated_notebook_is_in_git() -> None:
    asked = ["git", "-C", str(PROJECT), "ls-files", "*.ipynb"]
    assert subprocess.run(asked, check=True, capture_output=True, text=True).stdout == ""


@pytest.mark.parametrize("name", NOTEBOOKS)
def test_a_notebook_reads_through_the_reader_and_not_through_files_of_tables(name: str) -> None:
    text = (FOLDER / f"{name}.py").read_text()
    assert "Reader.of(" in text
    assert not re.search(r"read_parquet|read_table|DeltaTable|\.parquet|/tables/|lake\.table\(", text)
