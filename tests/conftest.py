"""One Spark session for the whole run, and small lakes made of landing lines."""

import os
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from passed_before import leave_out_what_has_passed, note_what_passes
from patches import watched_patches
from pyspark.sql import SparkSession
from seeds import JUDGE_SEED, RESULTS, ROUNDS, SEED, choose_seed

from lakehouse.lake import Lake, create_lake
from lakehouse.session import spark_session
from lakehouse.settings import Settings, Spark, load_settings

LONGEST_FIRST = (
    "test_readme.py",
    "test_layers_agree.py",
    "test_real_airflow.py",
    "test_inside_airflow.py",
    "test_week.py",
    "test_live.py",
    "test_notebooks.py",
    "test_chaos_command.py",
    "test_kills_of_ingestion.py",
    "test_kills.py",
    "test_bounds.py",
    "test_checkpoints.py",
    "test_storage.py",
    "test_instances.py",
    "test_following.py",
    "test_maintenance.py",
    "test_savepoints.py",
    "test_reprocessing.py",
    "test_locks_between_processes.py",
)
"""Files that take minutes start first, so that no worker is left alone with one at the end."""


COMPARED = "rows compared"

# Most tests need a lake and not the engine that filled it. Both write the same log, which is a law, and this one needs no JVM.
# Who tests Spark's asks for it (tests/engines.py); processes of their own have the default, which is Spark's.
os.environ.setdefault("PARITY_INGESTION__ENGINE", "embedded")


def pytest_configure() -> None:
    choose_seed()
    choose_seed(JUDGE_SEED)


def pytest_report_header() -> list[str]:
    return [
        f"laws: {SEED}={choose_seed()} repeats what they draw; {ROUNDS} and {RESULTS} are in tests/seeds.py",
        f"lines: {JUDGE_SEED}={choose_seed(JUDGE_SEED)} repeats what is drawn of them",
    ]


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    """The seed once more, and how many rows each law has compared: one that compares few proves little."""
    compared: Counter[str] = Counter()
    for outcome in ("passed", "failed"):
        for report in terminalreporter.stats.get(outcome, []):
            for name, count in getattr(report, "user_properties", []):
                if name == COMPARED and report.when == "call":
                    compared[report.nodeid] += count
    if compared:
        terminalreporter.section(f"laws, {SEED}={choose_seed()}")
    for test, count in compared.items():
        terminalreporter.write_line(f"{count:8} rows (key and window) compared: {test}")


@pytest.fixture
def judged(
    request: pytest.FixtureRequest, record_property: Callable[[str, object], None]
) -> Iterator[Callable[[int], None]]:
    """To be told how many rows were compared. None at all is a failure: the law was not tried."""
    total, failed = 0, request.session.testsfailed

    def compared(rows: int) -> None:
        nonlocal total
        total += rows
        record_property(COMPARED, rows)

    yield compared
    assert total > 0 or request.session.testsfailed > failed, "nothing was compared"


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    leave_out_what_has_passed(config, items)
    items.sort(
        key=lambda item: LONGEST_FIRST.index(item.path.name) if item.path.name in LONGEST_FIRST else len(LONGEST_FIRST)
    )


def pytest_runtest_logreport(report: pytest.TestReport) -> None:
    note_what_passes(report)


@pytest.fixture(autouse=True)
def _patches_are_used() -> Iterator[None]:
    with watched_patches() as unused:
        yield
    assert not unused, f"patched, and called by nobody, so the test proves nothing: {sorted(unused)}"


@pytest.fixture(scope="session")
def spark(tmp_path_factory: pytest.TempPathFactory) -> Iterator[SparkSession]:
    log_file = tmp_path_factory.mktemp("spark") / "spark.log"
    # One JVM for thousands of queries: their broadcasts wait for a garbage collection.
    options = {"spark.driver.memory": "4g"}
    session = spark_session(Spark(master="local[2]", compiler="quick", options=options), log_file=log_file)
    yield session
    session.stop()


@pytest.fixture
def settings() -> Settings:
    return load_settings()


@pytest.fixture
def lake(tmp_path: Path) -> Lake:
    return create_lake(tmp_path / "lake")


@pytest.fixture
def landing(tmp_path: Path) -> Path:
    directory = tmp_path / "landing"
    directory.mkdir()
    return directory
