"""The fault matrix: every test here injects one fault for real, and says what it observed.

With FAULTS_OBSERVED=DIR each observation is kept as a file; `make faults` writes docs/faults.md from those.
"""

import json
import os
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from elsewhere import nowhere as nowhere
from observations import Observe

VARIABLE = "FAULTS_OBSERVED"


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
