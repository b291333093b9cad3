"""Where commands are typed in tests: not in the project's directory, whose parity.toml is not to be found by chance."""

import os
from collections.abc import Iterator
from pathlib import Path

import pytest

KEPT = "PARITY_INGESTION__ENGINE"
"""The engine of ingestion in tests (tests/conftest.py): it changes no answer."""


def _settings() -> dict[str, str]:
    return {name: value for name, value in os.environ.items() if name.startswith("PARITY_") and name != KEPT}


@pytest.fixture(autouse=True)
def nowhere(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """No settings from outside; and those that a command gives itself are gone with it."""
    monkeypatch.chdir(tmp_path)
    outside = _settings()
    for name in outside:
        del os.environ[name]
    yield
    for name in _settings():
        del os.environ[name]
    os.environ.update(outside)
