"""Places where a crash can be asked for: a real SIGKILL of this process and its JVM, at a known moment.

    PARITY_FAILPOINT=stream.appended:team_scores:2 parity stream …

kills the stream of `team_scores` after the sink's commit of micro-batch 2 and before Spark's commit log. The demo and
the tests use it; without the variable nothing happens.
"""

import os
import signal
from typing import Literal, NoReturn

from pyspark.sql import SparkSession

from lakehouse.session import java_process

VARIABLE = "PARITY_FAILPOINT"
Place = Literal[
    "ingest.read",
    "ingest.sidelined",
    "ingest.appended",
    "stream.computed",
    "stream.appended",
    "legacy.appended",
    "recompute.computed",
    "replay.computed",
    "replay.appended",
    "restore.appended",
    "restore.copied",
]


def failpoint(spark: SparkSession, place: Place, what: str, number: int) -> None:
    """Die here if the environment asks for it."""
    if os.environ.get(VARIABLE) == f"{place}:{what}:{number}":
        _die(spark)


def _die(spark: SparkSession) -> NoReturn:
    os.kill(java_process(spark), signal.SIGKILL)
    os.kill(os.getpid(), signal.SIGKILL)
    raise AssertionError("unreachable: SIGKILL cannot be caught")
