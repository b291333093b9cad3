"""Tests that run where Airflow is: its own environment, a home and a database of their own.

`tests/dags/test_inside_airflow.py` starts them, with the settings that Airflow needs before it is imported.
"""

import sys
from pathlib import Path

import pytest

PROJECT = Path(__file__).parents[3]
sys.path[:0] = [str(PROJECT / "dags"), str(PROJECT / "infra" / "airflow" / "plugins"), str(Path(__file__).parents[1])]


@pytest.fixture(scope="session")
def database() -> None:
    from airflow.utils.db import initdb

    initdb()


@pytest.fixture
def lake(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A directory that the pages take for the lake."""
    monkeypatch.setenv("AIRFLOW_VAR_PARITY_LAKE", str(tmp_path))
    return tmp_path
