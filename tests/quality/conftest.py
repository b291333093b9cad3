"""One clean lake for all tests of the quality."""

from collections.abc import Callable, Iterable
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
from corrupted import copied
from made_once import made_once
from pyspark.sql import SparkSession

from lakehouse.lake import Lake, open_lake
from lakehouse.settings import Settings
from quality.outcome import QualityRun

from lakes import clean_lake, declared, small_settings  # isort: skip

Validated = Callable[..., QualityRun]


@pytest.fixture(scope="session")
def clean(spark: SparkSession, tmp_path_factory: pytest.TempPathFactory, worker_id: str) -> Lake:
    shared = made_once(tmp_path_factory, worker_id, "quality", lambda directory: clean_lake(spark, directory))
    return open_lake(shared / "lake")


@pytest.fixture
def copy(clean: Lake, tmp_path: Path) -> Lake:
    return copied(clean, tmp_path)


@pytest.fixture
def validated(spark: SparkSession) -> Validated:
    """Check tables of a lake, as the command does."""
    from quality.validate import validate

    def check(
        lake: Lake,
        tables: Iterable[str] = (),
        *,
        settings: Settings | None = None,
        run: str = "test",
        log_version: int | None = None,
        later: timedelta = timedelta(),
    ) -> QualityRun:
        given = settings or small_settings()
        moment = datetime.now(UTC) + later
        return validate(
            spark, lake, declared(given), given, run=run, moment=moment, log_version=log_version, tables=list(tables)
        )

    return check
