"""One small lake for all tests of what is served, and a server on it. Nobody writes into it: copy it for that."""

from collections.abc import Iterator

import pytest
from pyspark.sql import SparkSession
from served import everything_ran, serving

from lakehouse.lake import Lake


@pytest.fixture(scope="session")
def served_lake(spark: SparkSession, tmp_path_factory: pytest.TempPathFactory) -> Lake:
    return everything_ran(spark, tmp_path_factory.mktemp("served"))


@pytest.fixture(scope="session")
def address(served_lake: Lake) -> Iterator[str]:
    """Where `parity serve` answers for the lake, as a process of its own."""
    with serving(served_lake.path) as listening:
        yield listening
