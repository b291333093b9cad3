"""One small lake for all tests of what is served, and a server on it. Nobody writes into it: copy it for that."""

from collections.abc import Iterator

import pytest
from made_once import made_once
from pyspark.sql import SparkSession
from served import everything_ran, serving

from lakehouse.lake import Lake, open_lake


@pytest.fixture(scope="session")
def served_lake(spark: SparkSession, tmp_path_factory: pytest.TempPathFactory, worker_id: str) -> Lake:
    shared = made_once(tmp_path_factory, worker_id, "served", lambda directory: everything_ran(spark, directory))
    return open_lake(shared / "lake")


@pytest.fixture(scope="session")
def address(served_lake: Lake) -> Iterator[str]:
    """Where `parity serve` answers for the lake, as a process of its own."""
    with serving(served_lake.path) as listening:
        yield listening
