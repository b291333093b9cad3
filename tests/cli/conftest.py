"""Where the commands are typed: not in the project's directory, whose parity.toml is not to be found by chance."""

import os
from pathlib import Path

import pytest


@pytest.fixture(autouse=True)
def nowhere(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    for name in list(os.environ):
        if name.startswith("PARITY_"):
            monkeypatch.delenv(name)
