"""One run with the default settings and one small one, shared by all tests that only read."""

from collections.abc import Callable
from pathlib import Path

import pytest
from simulated import Simulated, read

from simulator.game import simulate

Simulate = Callable[..., Simulated]


@pytest.fixture(scope="session")
def a_day(tmp_path_factory: pytest.TempPathFactory) -> Simulated:
    directory = tmp_path_factory.mktemp("day") / "landing"
    return read(directory, simulate(directory))


@pytest.fixture
def run(tmp_path: Path) -> Simulate:
    """Simulates into a directory of its own: `run("name", events=100)`."""

    def in_directory(name: str, **options: object) -> Simulated:
        return read(tmp_path / name, simulate(tmp_path / name, **options))  # type: ignore[arg-type]

    return in_directory
