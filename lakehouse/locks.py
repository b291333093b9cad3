"""One writer at a time: locks that the operating system frees when their holder dies, however it dies.

On a local disk Delta's commit is a check and a rename, exclusive within one JVM only: two processes can lose a commit.
The lock is held by the JVM and not by Python, because the JVM commits: after a SIGKILL of Python the JVM may live on
for a moment and finish its commit, and until then nobody else may begin.
"""

import threading
import time
from collections import defaultdict
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import timedelta
from pathlib import Path
from typing import Any

from pyspark.sql import SparkSession

from lakehouse.errors import AlreadyRunning

GRACE = timedelta(seconds=3)

# The operating system's lock belongs to the process: threads of one process need their own.
_threads: dict[Path, threading.Lock] = defaultdict(threading.Lock)


@contextmanager
def exclusive(spark: SparkSession, file: Path, *, wait: bool) -> Iterator[None]:
    """Hold the lock on `file`. Without `wait`, a lock that somebody else holds is an error after a short grace."""
    file = file.resolve()
    refusal = AlreadyRunning(
        f"Another process is at work here: it holds {file.name} in {file.parent}. "
        "Wait for it or stop it; nothing was changed."
    )
    if not _threads[file].acquire(blocking=wait):
        raise refusal
    try:
        channel = _channel(spark, file)
        try:
            if wait:
                channel.lock()
            elif not _soon_locked(channel):
                raise refusal
            yield
        finally:
            channel.close()  # closing frees the lock
    finally:
        _threads[file].release()


def _soon_locked(channel: Any) -> bool:
    """Whether the lock could be had within the grace: a JVM that was killed just now is not gone at once."""
    deadline = time.monotonic() + GRACE.total_seconds()
    while channel.tryLock() is None:
        if time.monotonic() > deadline:
            return False
        time.sleep(0.1)
    return True


def _channel(spark: SparkSession, file: Path) -> Any:
    file.parent.mkdir(parents=True, exist_ok=True)
    return spark._jvm.java.io.RandomAccessFile(str(file), "rw").getChannel()  # type: ignore[union-attr]
