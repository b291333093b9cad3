"""The fault matrix: every test here injects one fault for real, and says what it observed.

With FAULTS_OBSERVED=DIR each observation is kept as a file; `make faults` writes docs/faults.md from those.
"""

import json
import os
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Protocol

import pytest

VARIABLE = "FAULTS_OBSERVED"


class Observe(Protocol):
    def __call__(self, fault: str, behaviour: str, recovery: float | None = None) -> None:
        """Say what happened at a fault, after it was asserted, and after how many seconds all was as without it."""


@pytest.fixture
def observe(request: pytest.FixtureRequest) -> Observe:
    test = f"{request.path.name}::{request.function.__name__}"
    long = request.node.get_closest_marker("chaos") is not None
    observations: list[dict[str, object]] = []

    def noted(fault: str, behaviour: str, recovery: float | None = None) -> None:
        observations.append({"test": test, "fault": fault, "behaviour": behaviour, "recovery": recovery, "long": long})
        if directory := os.environ.get(VARIABLE):
            file = Path(directory) / f"{request.path.stem}.{request.node.name}.json".replace("/", "-")
            file.parent.mkdir(parents=True, exist_ok=True)
            file.write_text(json.dumps(observations, indent=2, ensure_ascii=False) + "\n")

    return noted


@pytest.fixture
def stopwatch() -> Iterator[Callable[[], float]]:
    """Seconds since the last time it was asked."""
    begun = time.monotonic()

    def seconds() -> float:
        nonlocal begun
        begun, since = time.monotonic(), begun
        return begun - since

    yield seconds


@pytest.fixture(autouse=True)
def nowhere(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Not in the project's directory, whose parity.toml is not to be found by chance; no settings from outside."""
    monkeypatch.chdir(tmp_path)
    outside = {name: value for name, value in os.environ.items() if name.startswith("PARITY_")}
    for name in outside:
        del os.environ[name]
    yield
    for name in [name for name in os.environ if name.startswith("PARITY_")]:
        del os.environ[name]
    os.environ.update(outside)
