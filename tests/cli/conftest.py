"""Commands are run where nothing of the project lies about."""

import os
from pathlib import Path

import pytest


@pytest.fixture(autouse=True)
def nowhere(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Not in the project's directory: its parity.toml is not to be found by chance."""
    monkeypatch.chdir(tmp_path)
    for name in list(os.environ):
        if name.startswith("PARITY_"):
            monkeypatch.delenv(name)
